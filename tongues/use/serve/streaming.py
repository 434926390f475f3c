"""The texts of a request while they are generated, and the answer: whole or as events."""

import asyncio
import contextlib
import json
import logging
import math
import secrets
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Sequence
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tongues.core.errors import UserError
from tongues.experts.ensemble.model import Model, Prompt
from tongues.experts.ensemble.request import Request, TextBuilder, TextPiece, Token
from tongues.use.serve.bodies import Body
from tongues.use.serve.engine import End, Engine, Full, TextJob
from tongues.use.serve.refusal import Refusal, of_user

Finish = Literal["stop", "length"]
T = TypeVar("T")
_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_log = logging.getLogger(__name__)


class Completion:
    """One text of an answer, from the tokens that the engine reports.

    echo: whether the prompt is a part of it; the first token of a text that has begun is reported
    too, but has no probability.
    """

    def __init__(
        self,
        model: Model,
        request: Request,
        prompt: Prompt,
        stops: Sequence[str] = (),
        *,
        echo: bool = False,
    ) -> None:
        self.model, self.request = model, request
        self.read, self.written = len(prompt.tokens), 0  # tokens
        self.finish: Finish | None = None
        self._builder = TextBuilder(stops)
        self._spaced = echo and prompt.spaced  # the prompt's first space is none of its text
        self._begun = TextPiece()
        if echo and not request.score_prompt:
            self._begun = self._of_prompt(prompt.tokens.tolist())
        elif echo and prompt.begun:
            first, none = int(prompt.tokens[0]), np.zeros(len(model.experts))
            self._begun = self._of_prompt([first], Token(first, math.nan, none, given=True))

    def take(self, news: Sequence[Token | End]) -> TextPiece | None:
        """What is certain now; None: nothing. A Refusal where the text failed."""
        parts, self._begun = [self._begun], TextPiece()
        for item in news:
            if self.finish:
                break
            if isinstance(item, End):
                parts.append(self._builder.finish())
                self.finish = "stop" if self._builder.stopped else _reason(item)
            elif item.given:
                parts.append(self._of_prompt([item.id], item))
            else:
                self.written += 1
                data = b"" if item.id in self.model.stops else self.model.bytes_of(item.id)
                parts.append(self._builder.push(data, item))
                if self._builder.stopped:
                    self.finish = "stop"
        part = _join(parts)
        return part if part.text or part.tokens or self.finish else None

    def _of_prompt(self, tokens: Sequence[int], token: Token | None = None) -> TextPiece:
        data = b"".join(map(self.model.bytes_of, tokens))
        if self._spaced and data:
            data, self._spaced = data.removeprefix(b" "), False
        return self._builder.push(data, token)


def _join(parts: Sequence[TextPiece]) -> TextPiece:
    tokens = tuple(chain.from_iterable(part.tokens for part in parts))
    return TextPiece("".join(part.text for part in parts), tokens)


def _reason(end: End) -> Finish:
    if end.reason == "failed":
        _log.error("a text failed: %s", end.why)
        raise Refusal("model_failed")
    if end.reason == "cancelled":
        raise Refusal("server_stopping")
    return end.reason


class Deadline:
    """When a request must be answered, `seconds` from now. Made in the event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    async def keep(self, work: Awaitable[T]) -> T:
        """The work's result; a Refusal where it comes too late."""
        try:
            async with asyncio.timeout_at(self._end):
                return await work
        except TimeoutError:
            raise Refusal("late_answer", seconds=self._seconds) from None


class Generating:
    """All texts of a request in the engine. Made, read and closed in the event loop."""

    def __init__(self, engine: Engine, texts: Sequence[Completion], deadline: Deadline) -> None:
        self.texts = list(texts)
        self._engine, self._deadline = engine, deadline
        self._jobs: dict[int, TextJob] = {}  # of those that are being generated
        self._news: deque[tuple[int, Sequence[Token | End]]] = deque()
        self._loop, self._come = asyncio.get_running_loop(), asyncio.Event()
        self._called = False
        try:
            for index, text in enumerate(self.texts):
                request, hear = text.request, partial(self._hear, index)
                if request.max_tokens or (request.score_prompt and len(request.prompt)):
                    self._jobs[index] = engine.submit(text.model.name, request, hear)
                else:
                    hear([End("length")])
        except BaseException as error:
            self.close()
            if isinstance(error, Full):
                raise Refusal("server_busy", why=str(error)) from None
            if isinstance(error, UserError):
                param = error.where if error.where in ("routing", "language") else None
                raise of_user(error, param) from None
            raise

    async def parts(self) -> AsyncIterator[list[tuple[int, TextPiece]]]:
        """Parts of texts by their number, as they become certain, until all have ended."""
        left = len(self.texts)
        while left:
            await self._deadline.keep(self._come.wait())
            self._come.clear()
            self._called = False
            news: dict[int, list[Token | End]] = {}
            while self._news:
                index, some = self._news.popleft()
                news.setdefault(index, []).extend(some)
            parts: list[tuple[int, TextPiece]] = []
            for index, some in news.items():
                text = self.texts[index]
                if text.finish:
                    continue
                if (part := text.take(some)) is not None:
                    parts.append((index, part))
                if text.finish:
                    left -= 1
                    self._cancel(index)
            if parts:
                yield parts

    def close(self) -> None:
        """End what has not ended."""
        for index in list(self._jobs):
            self._cancel(index)

    def _cancel(self, index: int) -> None:
        if job := self._jobs.pop(index, None):
            self._engine.cancel(job)

    def _hear(self, index: int, news: Sequence[Token | End]) -> None:
        self._news.append((index, news))
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._come.set)


class AnswerForm(ABC):
    """The form of the answer to one request.

    prefix: of its id. object_type, chunk_type: `object` of an answer, and of an event of a stream.
    """

    prefix: ClassVar[str]
    object_type: ClassVar[str]
    chunk_type: ClassVar[str]

    def __init__(self, body: Body, texts: Sequence[Completion]) -> None:
        self.body, self.texts = body, texts

    @abstractmethod
    def choice(self, part: TextPiece, *, streamed: bool, first: bool) -> dict[str, Any]:
        """A text, or what is new of it. first: of a stream, whether its first part."""

    def _choice(self, index: int, part: TextPiece, **how: bool) -> dict[str, Any]:
        choice = {"index": index, **self.choice(part, **how)}
        choice["finish_reason"] = self.texts[index].finish
        if self.body.weights:  # the experts' for each token of the part
            tokens = part.tokens
            choice["tongues"] = {
                "weights": [[round(w, 4) for w in token.weights.tolist()] for token in tokens],
                "nats": [self.log_prob(token.log_prob, sign=-1) for token in tokens],
                "language": tokens[-1].language if tokens else None,
                "echoed": sum(token.given for token in tokens),
            }
        return choice

    @staticmethod
    def log_prob(value: float, sign: int = 1) -> float | None:
        """A log-probability that JSON can hold, at least -9999 as at OpenAI; None: none."""
        return None if math.isnan(value) else sign * max(-9999.0, value)

    async def all_at_once(self, generating: Generating) -> bytes:
        """All texts, when all have ended."""
        parts: list[list[TextPiece]] = [[] for _ in self.texts]
        async for news in generating.parts():
            for index, part in news:
                parts[index].append(part)
        choices = [
            self._choice(index, _join(own), streamed=False, first=True)
            for index, own in enumerate(parts)
        ]
        return _dumps(
            {**self._head(self.object_type), "choices": choices, "usage": self._usage()}
        ).encode()

    async def events(self, generating: Generating) -> AsyncIterator[bytes]:
        """What is new after every step.

        A Refusal before the first event is raised; later it is an event.
        """
        options = self.body.stream_options
        counted = bool(options and options.include_usage)
        begin = f'data: {_dumps(self._head(self.chunk_type))[:-1]},"choices":['
        end = '],"usage":null}\n\n' if counted else "]}\n\n"
        begun: set[int] = set()
        try:
            async for news in generating.parts():
                lines = []
                for index, part in news:
                    choice = self._choice(index, part, streamed=True, first=index not in begun)
                    begun.add(index)
                    lines += (begin, _dumps(choice), end)
                yield "".join(lines).encode()
        except Refusal as refusal:
            if not begun:
                raise
            yield f"data: {refusal.body}\n\n".encode()
        else:
            if counted:
                yield f'{begin}],"usage":{_dumps(self._usage())}}}\n\n'.encode()
        yield b"data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        model, routing = self.texts[0].model, str(self.texts[0].request.routing)
        return {
            "id": f"{self.prefix}-{secrets.token_hex(12)}",
            "object": kind,
            "created": int(time.time()),
            "model": model.name,
            "tongues": {"routing": routing, "experts": list(model.experts)},
        }

    def _usage(self) -> dict[str, int]:
        read = sum(text.read for text in self.texts[:: self.body.n or 1])
        written = sum(text.written for text in self.texts)
        total = read + written
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": total}
