"""Texts continued, as OpenAI's `/v1/completions`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.serve.answers import Passage, Placed, Wanted
from tongues.serve.asking import asks_of, read_text, room, stops_of
from tongues.serve.bodies import CompletionBody
from tongues.serve.limits import Limits
from tongues.serve.problems import Problem
from tongues.serve.served import Prompt, Served
from tongues.serve.telling import Reply, aside, log_prob, token_name

__all__ = ["complete"]

_USUAL = 16  # tokens, as at OpenAI


def complete(body: CompletionBody, served: Served, limits: Limits) -> Reply:
    """What is to be written and told; a Problem where it cannot be."""
    if body.best_of is not None and body.best_of != (body.n or 1):
        message = "`best_of` is as `n`: no texts are written only to be thrown away"
        raise Problem(400, message, code="unsupported_parameter", param="best_of")
    prompts = _prompts(body, served)
    most = [
        room(served, prompt, _USUAL, "prompt") if body.max_tokens is None else body.max_tokens
        for prompt in prompts
    ]
    asks = asks_of(
        body,
        served,
        prompts,
        [min(tokens, limits.tokens) for tokens in most],
        limits,
        param="prompt",
        alternatives=body.logprobs or 0,
        scored=bool(body.echo and (body.logprobs is not None or body.weights)),
    )
    stops, echo, copies = stops_of(body), bool(body.echo), body.n or 1
    texts = [
        Wanted(served, ask, stops, echo=echo, spaced=prompts[place // copies].spaced)
        for place, ask in enumerate(asks)
    ]
    return Reply(body, _Completion(body), texts)


@dataclass(slots=True)
class _Completion:
    body: CompletionBody
    prefix: str = "cmpl"
    whole: str = "text_completion"
    chunk: str = "text_completion"

    def choice(self, index: int, text: Wanted, part: Passage) -> dict[str, Any]:
        """A whole text."""
        return {
            "index": index,
            "text": part.text,
            "logprobs": None if self.body.logprobs is None else _log_probs(text, part.tokens),
            "finish_reason": part.finish,
            **aside(self.body, part),
        }

    def piece(self, index: int, text: Wanted, part: Passage, *, first: bool) -> dict[str, Any]:
        """What is new of a text."""
        return self.choice(index, text, part)


def _prompts(body: CompletionBody, served: Served) -> list[Prompt]:
    said = body.prompt
    listed = said if isinstance(said, list) and not isinstance(said[0], int) else [said]
    return [
        read_text(served, each or "", "prompt")
        if each is None or isinstance(each, str)
        else served.prompt(np.array(each, dtype=np.int64))
        for each in listed
    ]


def _log_probs(text: Wanted, tokens: Sequence[Placed]) -> dict[str, Any]:
    """Each token's log-probability, and those of the likeliest beside it."""
    names = [token_name(text, told.piece.token) for told in tokens]
    own = [log_prob(told.piece.log_prob) for told in tokens]
    tops = []
    for told, name, value in zip(tokens, names, own, strict=True):
        if value is None:
            tops.append(None)
            continue
        top: dict[str, float | None] = {}
        for token, other in told.piece.alternatives:
            top.setdefault(token_name(text, token), log_prob(other))
        top.setdefault(name, value)
        tops.append(top)
    return {
        "tokens": names,
        "token_logprobs": own,
        "top_logprobs": tops,
        "text_offset": [told.offset for told in tokens],
    }
