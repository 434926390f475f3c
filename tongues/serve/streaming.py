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
from itertools import chain
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.model import Model, Prompt
from tongues.experts.ensemble.request import Request, Token
from tongues.experts.ensemble.text import Part, TextBuilder
from tongues.serve.bodies import Body
from tongues.serve.engine import End, Engine, Full, Job
from tongues.serve.problems import Problem, busy, of_user, problem_body

__all__ = ["Answer", "Completion", "Deadline", "Finish", "Generating"]

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
        self._begun = Part()
        if echo and not request.score_prompt:
            self._begun = self._given(prompt.tokens.tolist())
        elif echo and prompt.begun:
            first, none = int(prompt.tokens[0]), np.zeros(len(model.experts))
            self._begun = self._given([first], Token(first, math.nan, none, given=True))

    def take(self, news: Sequence[Token | End]) -> Part | None:
        """What is certain now; None: nothing. A Problem where the text failed."""
        parts = [self._begun]
        self._begun = Part()
        for item in news:
            if self.finish:
                break
            if isinstance(item, End):
                parts.append(self._builder.finish())
                self.finish = "stop" if self._builder.stopped else _reason(item)
            elif item.given:
                parts.append(self._given([item.id], item))
            else:
                self.written += 1
                ends = item.id in self.model.stops
                parts.append(
                    self._builder.push(b"" if ends else self.model.bytes_of(item.id), item)
                )
                if self._builder.stopped:
                    self.finish = "stop"
        part = _join(parts)
        return part if part.text or part.tokens or self.finish else None

    def _given(self, tokens: Sequence[int], token: Token | None = None) -> Part:
        """Tokens of the prompt."""
        piece = b"".join(map(self.model.bytes_of, tokens))
        if self._spaced and piece:
            piece, self._spaced = piece.removeprefix(b" "), False
        return self._builder.push(piece, token)


def _join(parts: Sequence[Part]) -> Part:
    """Parts that follow each other as one."""
    tokens = tuple(chain.from_iterable(part.tokens for part in parts))
    return Part("".join(part.text for part in parts), tokens)


class Deadline:
    """When a request must be answered: so many seconds from now on. Made in the event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    async def keep(self, work: Awaitable[T]) -> T:
        """The work's result; a Problem where it comes too late."""
        try:
            async with asyncio.timeout_at(self._end):
                return await work
        except TimeoutError:
            message = f"the answer took longer than {self._seconds:g} seconds; ask for less"
            headers = {"x-should-retry": "false"}
            raise Problem(408, message, code="timeout", headers=headers) from None


class Generating:
    """All texts of a request in the engine. Made, read and closed in the event loop."""

    def __init__(self, engine: Engine, texts: Sequence[Completion], deadline: Deadline) -> None:
        self.texts = list(texts)
        self._engine = engine
        self._jobs: dict[int, Job] = {}  # of those that are being generated
        self._news: deque[tuple[int, Sequence[Token | End]]] = deque()
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._come = asyncio.Event()
        self._called = False
        try:
            for index, text in enumerate(self.texts):
                self._submit(index, text)
        except BaseException as error:
            self.close()
            if isinstance(error, Full):
                raise busy(str(error)) from None
            if isinstance(error, UserError):
                param = error.where if error.where in ("routing", "language") else None
                raise of_user(error, param) from None
            raise

    async def parts(self) -> AsyncIterator[list[tuple[int, Part]]]:
        """Parts of texts by their number, as they become certain, until all have ended."""
        left = len(self.texts)
        while left:
            await self._deadline.keep(self._come.wait())
            self._come.clear()
            self._called = False
            parts = []
            for index, news in self._drain().items():
                text = self.texts[index]
                if text.finish:
                    continue
                part = text.take(news)
                if part is not None:
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

    def _submit(self, index: int, text: Completion) -> None:
        request = text.request
        if request.max_tokens == 0 and not (request.score_prompt and len(request.prompt)):
            self._hear(index, [End("length")])
            return
        self._jobs[index] = self._engine.submit(
            text.model.name, request, lambda news: self._hear(index, news)
        )

    def _cancel(self, index: int) -> None:
        job = self._jobs.pop(index, None)
        if job is not None:
            self._engine.cancel(job)

    def _hear(self, index: int, news: Sequence[Token | End]) -> None:
        """Called from the engine's thread."""
        self._news.append((index, news))
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._come.set)

    def _drain(self) -> dict[int, list[Token | End]]:
        """All news, by text."""
        news: dict[int, list[Token | End]] = {}
        while self._news:
            index, some = self._news.popleft()
            news.setdefault(index, []).extend(some)
        return news


class Answer(ABC):
    """The answer to one request; a subclass for each form.

    prefix: of its id. whole, chunk: what an answer, and an event of a stream, is called.
    """

    prefix: ClassVar[str]
    whole: ClassVar[str]
    chunk: ClassVar[str]

    def __init__(self, body: Body, texts: Sequence[Completion]) -> None:
        self.body, self.texts = body, texts

    @abstractmethod
    def choice(
        self, index: int, part: Part, finish: Finish | None, *, streamed: bool, first: bool
    ) -> dict[str, Any]:
        """A text, or what is new of it. first: of a stream, whether its first part."""

    async def all_at_once(self, generating: Generating) -> bytes:
        """All texts, when all have ended."""
        parts: list[list[Part]] = [[] for _ in self.texts]
        async for news in generating.parts():
            for index, part in news:
                parts[index].append(part)
        choices = [
            self.choice(index, _join(own), self.texts[index].finish, streamed=False, first=True)
            for index, own in enumerate(parts)
        ]
        return _dumps(
            self._head(self.whole) | {"choices": choices, "usage": self._usage()}
        ).encode()

    async def events(self, generating: Generating) -> AsyncIterator[bytes]:
        """What is new after every step.

        A Problem before the first event is raised; later it is an event.
        """
        options = self.body.stream_options
        counted = bool(options and options.include_usage)
        head = _dumps(self._head(self.chunk))[:-1]
        begin = f'data: {head},"choices":['
        end = '],"usage":null}\n\n' if counted else "]}\n\n"
        begun: set[int] = set()
        try:
            async for news in generating.parts():
                lines = []
                for index, part in news:
                    first, finish = index not in begun, self.texts[index].finish
                    begun.add(index)
                    choice = self.choice(index, part, finish, streamed=True, first=first)
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
        model, request = self.texts[0].model, self.texts[0].request
        return {
            "id": f"{self.prefix}-{secrets.token_hex(12)}",
            "object": kind,
            "created": int(time.time()),
            "model": model.name,
            "tongues": {"routing": str(request.routing), "experts": list(model.experts)},
        }

    def _usage(self) -> dict[str, int]:
        read = sum(text.read for text in self.texts[:: self.body.n or 1])
        written = sum(text.written for text in self.texts)
        total = read + written
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": total}


def _reason(end: End) -> Finish:
    if end.reason == "failed":
        _log.error("a text failed: %s", end.problem)
        raise Problem(500, "the model failed to write this text", code="model_failed")
    if end.reason == "cancelled":
        raise Problem(503, "the server is stopping", code="server_stopping")
    return end.reason
