"""Answers as they are sent: whole, or as server-sent events while they are written."""

import json
import math
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from tongues.serve.answers import Answers, Passage, Wanted
from tongues.serve.bodies import Body
from tongues.serve.problems import Problem, problem_body

__all__ = ["Form", "Reply", "aside", "log_prob", "token_name"]

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_LEAST = -9999.0  # what OpenAI writes for a token that is all but impossible


class Form(Protocol):
    """How one kind of request is answered."""

    prefix: str  # of ids
    whole: str  # what an answer is called
    chunk: str  # what a piece of it is called

    def choice(self, index: int, text: Wanted, part: Passage) -> dict[str, Any]:
        """A whole text."""
        ...

    def piece(self, index: int, text: Wanted, part: Passage, *, first: bool) -> dict[str, Any]:
        """What is new of a text."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """What is told to one request."""

    body: Body
    form: Form
    texts: Sequence[Wanted]

    async def whole(self, answers: Answers) -> bytes:
        """All texts, when all have ended."""
        parts: list[list[Passage]] = [[] for _ in self.texts]
        async for news in answers.parts():
            for index, part in news:
                parts[index].append(part)
        choices = [
            self.form.choice(index, self.texts[index], _joined(own))
            for index, own in enumerate(parts)
        ]
        head = self._head(self.form.whole)
        return _dumps(head | {"choices": choices, "usage": self._usage()}).encode()

    async def events(self, answers: Answers) -> AsyncIterator[bytes]:
        """What is new after every step.

        A Problem before the first event is raised; on the way it is told as an event.
        """
        options = self.body.stream_options
        counted = bool(options and options.include_usage)
        head = _dumps(self._head(self.form.chunk))[:-1]
        begin = f'data: {head},"choices":['
        end = '],"usage":null}\n\n' if counted else "]}\n\n"
        begun: set[int] = set()
        try:
            async for news in answers.parts():
                lines = []
                for index, part in news:
                    first = index not in begun
                    begun.add(index)
                    choice = self.form.piece(index, self.texts[index], part, first=first)
                    lines += (begin, _dumps(choice), end)
                yield "".join(lines).encode()
        except Problem as problem:
            if not begun:
                raise
            yield f"data: {_dumps(problem_body(problem))}\n\n".encode()
        else:
            if counted:
                yield f'{begin}],"usage":{_dumps(self._usage())}}}\n\n'.encode()
        yield b"data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        served, ask = self.texts[0].served, self.texts[0].ask
        return {
            "id": f"{self.form.prefix}-{secrets.token_hex(12)}",
            "object": kind,
            "created": int(time.time()),
            "model": served.name,
            "tongues": {
                "routing": str(ask.routing or served.routing),
                "experts": list(served.experts),
            },
        }

    def _usage(self) -> dict[str, int]:
        copies = self.body.n or 1
        read = sum(text.read for text in self.texts[::copies])
        written = sum(text.written for text in self.texts)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }


def aside(body: Body, part: Passage) -> dict[str, Any]:
    """What each expert counted for each token of a part, where it is asked for."""
    if not body.weights:
        return {}
    pieces = [told.piece for told in part.tokens]
    return {
        "tongues": {
            "weights": [[round(w, 4) for w in piece.weights.tolist()] for piece in pieces],
            "nats": [log_prob(piece.log_prob, sign=-1) for piece in pieces],
            "language": pieces[-1].language if pieces else None,
            "given": sum(piece.prompt for piece in pieces),
        }
    }


def log_prob(value: float, sign: int = 1) -> float | None:
    """A log-probability that JSON can hold; None where there is none."""
    return None if math.isnan(value) else sign * max(_LEAST, value)


def token_name(text: Wanted, token: int) -> str:
    r"""A token as OpenAI writes it: its text, its name, or `bytes:\xe2\x80` of no whole text."""
    piece = text.served.bytes_of(token)
    try:
        return piece.decode("utf-8") or text.served.token_name(token)
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def _joined(parts: Sequence[Passage]) -> Passage:
    tokens = tuple(chain.from_iterable(part.tokens for part in parts))
    return Passage("".join(part.text for part in parts), tokens, parts[-1].finish)
