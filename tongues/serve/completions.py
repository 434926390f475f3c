"""Texts and conversations continued: from OpenAI's bodies to requests, and the answers' JSON."""

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.ensemble.model import Model, Prompt
from tongues.experts.ensemble.request import Token
from tongues.experts.ensemble.routing import Routing, parse_routing
from tongues.experts.ensemble.sampling import Sampling
from tongues.experts.ensemble.text import Part
from tongues.serve.bodies import Body, ChatBody, CompletionBody, Message
from tongues.serve.chat import conversation_prompt
from tongues.serve.limits import Limits
from tongues.serve.problems import Problem, of_user
from tongues.serve.streaming import Answer, Completion, Finish

__all__ = ["ChatAnswer", "CompletionAnswer", "complete", "converse", "find_served"]

_USUAL = 16  # tokens, as at OpenAI
_LEAST = -9999.0  # what OpenAI writes for a token that is all but impossible


def find_served(models: Mapping[str, Model], name: str) -> Model:
    """The served model of that name."""
    if name not in models:
        plain, at, way = name.rpartition("@")
        hint = nearest(name[:200], models)
        if at and plain in models:
            hint = f"ask `{plain}` with `routing`: `{way[:100]}`"
        message = f"the model `{name[:200]}` is not served here; {hint}"
        raise Problem(404, message, code="model_not_found", param="model")
    return models[name]


def complete(body: CompletionBody, model: Model, limits: Limits) -> Answer:
    """The answer to be generated for `/v1/completions`; a Problem where it cannot be."""
    if body.best_of is not None and body.best_of != (body.n or 1):
        message = "`best_of` is as `n`: no texts are written only to be thrown away"
        raise Problem(400, message, code="unsupported_parameter", param="best_of")
    given = body.prompt
    listed = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
    prompts = [
        _read_text(model, each or "")
        if each is None or isinstance(each, str)
        else model.prompt(np.array(each, dtype=np.int64))
        for each in listed
    ]
    counts = [
        _room(model, prompt, _USUAL, "prompt") if body.max_tokens is None else body.max_tokens
        for prompt in prompts
    ]
    texts = _completions(
        body,
        model,
        prompts,
        [min(count, limits.tokens) for count in counts],
        limits,
        param="prompt",
        alternatives=body.logprobs or 0,
        echo=bool(body.echo),
        score_prompt=bool(body.echo and (body.logprobs is not None or body.weights)),
    )
    return CompletionAnswer(body, texts)


def converse(body: ChatBody, model: Model, limits: Limits) -> Answer:
    """The answer to be generated for `/v1/chat/completions`; a Problem where it cannot be."""
    if body.top_logprobs and not body.logprobs:
        message = "`top_logprobs` are told where `logprobs` is true"
        raise Problem(400, message, code="invalid_value", param="top_logprobs")
    try:
        prompt = conversation_prompt(model, [_plain(message) for message in body.messages])
    except UserError as error:
        raise of_user(error, "messages") from None
    counts = {body.max_completion_tokens, body.max_tokens} - {None}
    if len(counts) == 2:
        message = "`max_tokens` is the older name of `max_completion_tokens`; leave one out"
        raise Problem(400, message, code="invalid_value", param="max_tokens")
    count = counts.pop() if counts else None
    count = min(count or _room(model, prompt, limits.tokens, "messages"), limits.tokens)
    texts = _completions(
        body,
        model,
        [prompt],
        [count],
        limits,
        param="messages",
        alternatives=body.top_logprobs or 0,
    )
    return ChatAnswer(body, texts)


class CompletionAnswer(Answer):
    """As `/v1/completions` has it."""

    prefix, whole, chunk = "cmpl", "text_completion", "text_completion"
    body: CompletionBody

    def choice(
        self, index: int, part: Part, finish: Finish | None, *, streamed: bool, first: bool
    ) -> dict[str, Any]:
        """A text, or what is new of it."""
        return {
            "index": index,
            "text": part.text,
            "logprobs": None if self.body.logprobs is None else self._log_probs(part.tokens),
            "finish_reason": finish,
            **_about(self.body, part),
        }

    def _log_probs(self, tokens: Sequence[Token]) -> dict[str, Any]:
        """Each token's log-probability, and those of the likeliest in its place."""
        model = self.texts[0].model
        names = [_token_name(model, token.id) for token in tokens]
        own = [_log_prob(token.log_prob) for token in tokens]
        tops = []
        for token, name, value in zip(tokens, names, own, strict=True):
            if value is None:
                tops.append(None)
                continue
            top: dict[str, float | None] = {}
            for other, log_prob in token.alternatives:
                top.setdefault(_token_name(model, other), _log_prob(log_prob))
            top.setdefault(name, value)
            tops.append(top)
        return {
            "tokens": names,
            "token_logprobs": own,
            "top_logprobs": tops,
            "text_offset": [token.offset for token in tokens],
        }


class ChatAnswer(Answer):
    """As `/v1/chat/completions` has it."""

    prefix, whole, chunk = "chatcmpl", "chat.completion", "chat.completion.chunk"
    body: ChatBody

    def choice(
        self, index: int, part: Part, finish: Finish | None, *, streamed: bool, first: bool
    ) -> dict[str, Any]:
        """An answer, or what is new of it."""
        message = {"role": "assistant", "content": part.text}
        if not streamed:
            content: dict[str, Any] = {"message": {**message, "refusal": None}}
        else:
            content = {"delta": message if first else {"content": part.text}}
        tokens = self._log_probs(part.tokens) if self.body.logprobs else None
        return {
            "index": index,
            **content,
            "logprobs": None if tokens is None else {"content": tokens, "refusal": None},
            "finish_reason": finish,
            **_about(self.body, part),
        }

    def _log_probs(self, tokens: Sequence[Token]) -> list[dict[str, Any]]:
        """Each token with its log-probability, and the likeliest in its place."""
        return [
            {
                **self._token(token.id, token.log_prob),
                "top_logprobs": [self._token(*other) for other in token.alternatives],
            }
            for token in tokens
        ]

    def _token(self, token: int, value: float) -> dict[str, Any]:
        model = self.texts[0].model
        return {
            "token": _token_name(model, token),
            "logprob": _log_prob(value),
            "bytes": list(model.bytes_of(token)),
        }


def _completions(
    body: Body,
    model: Model,
    prompts: Sequence[Prompt],
    counts: Sequence[int],
    limits: Limits,
    *,
    param: str,
    alternatives: int,
    echo: bool = False,
    score_prompt: bool = False,
) -> list[Completion]:
    """The texts to generate: `n` for each prompt, prompt by prompt.

    counts: tokens behind each prompt. param: the field that the prompts came in.
    """
    for prompt, count in zip(prompts, counts, strict=True):
        _check_tokens(model, prompt.tokens, param)
        size = prompt.size + count
        if model.context is not None and size > model.context:
            message = (
                f"{prompt.size} tokens and {count} to write are {size}; "
                f"`{model.name}` sees {model.context}"
            )
            raise Problem(400, message, code="context_length_exceeded", param=param)
    copies = body.n or 1
    if copies * len(prompts) > limits.texts:
        message = f"{copies * len(prompts)} texts in one request; {limits.texts} at most"
        raise Problem(400, message, code="too_many_texts", param="n")
    sampling, routing = _sampling(body, model), _routing(body, model)
    given = body.stop or ()
    stops = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    met, texts = Counter[bytes](), []
    for prompt, count in zip(prompts, counts, strict=True):
        same = prompt.tokens.tobytes()
        for _ in range(copies):
            request = model.request(
                prompt,
                count,
                routing,
                sampling=sampling,
                language=body.language,
                alternatives=alternatives,
                score_prompt=score_prompt,
                find_language=bool(body.weights),
                copy=met[same],
            )
            texts.append(Completion(model, request, prompt, stops, echo=echo))
            met[same] += 1
    return texts


def _read_text(model: Model, text: str) -> Prompt:
    """A prompt of text; a Problem where it is too long to be read at all."""
    if model.context is not None:
        size, most = len(text.encode()), model.context * model.longest_token
        if size > most:
            message = f"{size:,} bytes are no {model.context} tokens, which `{model.name}` sees"
            raise Problem(400, message, code="context_length_exceeded", param="prompt")
    return model.read(text)


def _room(model: Model, prompt: Prompt, most: int, param: str) -> int:
    """Tokens that may be generated behind a prompt, of `most`; a Problem where there is none."""
    if model.context is None:
        return most
    left = model.context - prompt.size
    if left < 1:
        message = (
            f"{prompt.size} tokens leave no room to write; `{model.name}` sees {model.context}"
        )
        raise Problem(400, message, code="context_length_exceeded", param=param)
    return min(most, left)


def _check_tokens(model: Model, tokens: np.ndarray, param: str) -> None:
    known = len(model.token_bytes)
    if len(tokens) and tokens.max() >= known:
        message = f"`{model.name}` knows token ids up to {known - 1}, not {tokens.max()}"
        raise Problem(400, message, code="invalid_value", param=param)


def _sampling(body: Body, model: Model) -> Sampling:
    bias = {int(token): value for token, value in (body.logit_bias or {}).items() if value}
    if bias:
        _check_tokens(model, np.array(list(bias)), "logit_bias")
    return Sampling(
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=1 if body.top_p == 0 else body.top_k,
        top_p=body.top_p or None,
        seed=secrets.randbits(63) if body.seed is None else body.seed,
        presence=body.presence_penalty or 0.0,
        frequency=body.frequency_penalty or 0.0,
        bias=bias,
    )


def _routing(body: Body, model: Model) -> Routing | None:
    """The one that is named; where only a language is, `language`; None: the model's own."""
    if body.routing is None:
        return parse_routing("language") if body.language and len(model.experts) > 1 else None
    try:
        return parse_routing(body.routing)
    except UserError as error:
        raise of_user(error, "routing") from None


def _plain(message: Message) -> dict[str, str]:
    """A message as templates read it."""
    content = message.content
    text = content if isinstance(content, str) else "".join(part.text for part in content or ())
    return {"role": "system" if message.role == "developer" else message.role, "content": text}


def _about(body: Body, part: Part) -> dict[str, Any]:
    """The experts' weights for each token of a part, where they are wanted."""
    if not body.weights:
        return {}
    tokens = part.tokens
    return {
        "tongues": {
            "weights": [[round(w, 4) for w in token.weights.tolist()] for token in tokens],
            "nats": [_log_prob(token.log_prob, sign=-1) for token in tokens],
            "language": tokens[-1].language if tokens else None,
            "given": sum(token.given for token in tokens),
        }
    }


def _log_prob(value: float, sign: int = 1) -> float | None:
    """A log-probability that JSON can hold; None where there is none."""
    return None if math.isnan(value) else sign * max(_LEAST, value)


def _token_name(model: Model, token: int) -> str:
    r"""A token as OpenAI writes it: its text, its name, or `bytes:\xe2\x80` of no whole text."""
    piece = model.bytes_of(token)
    try:
        return piece.decode("utf-8") or model.token_name(token)
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
