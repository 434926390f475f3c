"""Conversations, as OpenAI's `/v1/chat/completions`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tongues.errors import UserError
from tongues.serve.answers import Passage, Placed, Wanted
from tongues.serve.asking import asks_of, room, stops_of
from tongues.serve.bodies import ChatBody, Message
from tongues.serve.limits import Limits
from tongues.serve.problems import Problem, of_user
from tongues.serve.served import Served
from tongues.serve.telling import Reply, aside, log_prob, token_name

__all__ = ["converse"]


def converse(body: ChatBody, served: Served, limits: Limits) -> Reply:
    """What is to be written and told; a Problem where it cannot be."""
    if body.top_logprobs and not body.logprobs:
        message = "`top_logprobs` are told where `logprobs` is true"
        raise Problem(400, message, code="invalid_value", param="top_logprobs")
    try:
        prompt = served.converse([_plain(message) for message in body.messages])
    except UserError as error:
        raise of_user(error, "messages") from None
    said = {body.max_completion_tokens, body.max_tokens} - {None}
    if len(said) == 2:
        message = "`max_tokens` is the older name of `max_completion_tokens`; leave one out"
        raise Problem(400, message, code="invalid_value", param="max_tokens")
    most = said.pop() if said else None
    most = min(most or room(served, prompt, limits.tokens, "messages"), limits.tokens)
    asks = asks_of(
        body,
        served,
        [prompt],
        [most],
        limits,
        param="messages",
        alternatives=body.top_logprobs or 0,
    )
    stops = stops_of(body)
    return Reply(body, _Chat(body), [Wanted(served, ask, stops) for ask in asks])


@dataclass(slots=True)
class _Chat:
    body: ChatBody
    prefix: str = "chatcmpl"
    whole: str = "chat.completion"
    chunk: str = "chat.completion.chunk"

    def choice(self, index: int, text: Wanted, part: Passage) -> dict[str, Any]:
        """A whole text."""
        message = {"role": "assistant", "content": part.text, "refusal": None}
        return {"index": index, "message": message, **self._beside(text, part)}

    def piece(self, index: int, text: Wanted, part: Passage, *, first: bool) -> dict[str, Any]:
        """What is new of a text."""
        delta = {"role": "assistant", "content": part.text} if first else {"content": part.text}
        return {"index": index, "delta": delta, **self._beside(text, part)}

    def _beside(self, text: Wanted, part: Passage) -> dict[str, Any]:
        tokens = _log_probs(text, part.tokens) if self.body.logprobs else None
        return {
            "logprobs": None if tokens is None else {"content": tokens, "refusal": None},
            "finish_reason": part.finish,
            **aside(self.body, part),
        }


def _plain(message: Message) -> dict[str, str]:
    """A message as templates read it."""
    content = message.content
    text = content if isinstance(content, str) else "".join(part.text for part in content or ())
    return {"role": "system" if message.role == "developer" else message.role, "content": text}


def _log_probs(text: Wanted, tokens: Sequence[Placed]) -> list[dict[str, Any]]:
    """Each token with its log-probability, and the likeliest beside it."""
    return [
        {
            **_token(text, told.piece.token, told.piece.log_prob),
            "top_logprobs": [_token(text, *other) for other in told.piece.alternatives],
        }
        for told in tokens
    ]


def _token(text: Wanted, token: int, value: float) -> dict[str, Any]:
    return {
        "token": token_name(text, token),
        "logprob": log_prob(value),
        "bytes": list(text.served.bytes_of(token)),
    }
