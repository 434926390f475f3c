"""The texts of one request while they are written: from the engine's thread to who waits."""

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from tongues.errors import UserError
from tongues.serve.asks import Ask, End, Full, Piece, Ticket
from tongues.serve.engine import Engine
from tongues.serve.problems import Problem, busy, of_user
from tongues.serve.served import Served
from tongues.serve.wording import Wording, Words

__all__ = ["Answers", "Deadline", "Passage", "Placed", "Wanted"]

Finish = Literal["stop", "length"]
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A token that is told, and where."""

    piece: Piece
    offset: int  # where it begins in the whole text, in characters


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """What can be told of a text since the passage before."""

    text: str
    tokens: tuple[Placed, ...]
    finish: Finish | None = None  # the last passage: why


class Wanted:
    """A text that was asked for, as it comes from the engine.

    echo: whether the prompt is a part of it; the first token of a text that has begun is told too,
    but has no probability. spaced: whether the prompt's first space is none of its text.
    """

    def __init__(
        self,
        served: Served,
        ask: Ask,
        stops: Sequence[str] = (),
        *,
        echo: bool = False,
        spaced: bool = False,
    ) -> None:
        self.ask, self.served = ask, served
        self.read, self.written = len(ask.tokens), 0  # tokens
        self.finish: Finish | None = None
        self._wording = Wording(stops)
        self._waiting: deque[Piece | None] = deque()
        self._spaced = spaced
        self._begun = Words("", ())
        if echo and not ask.scored:
            self._waiting.append(None)
            self._begun = self._given(*ask.tokens.tolist())
        elif echo and ask.begun:
            first, weights = int(ask.tokens[0]), np.zeros(len(served.experts))
            self._waiting.append(Piece(first, math.nan, (), weights, None, prompt=True))
            self._begun = self._given(first)

    def take(self, news: Sequence[Piece | End]) -> Passage | None:
        """What can be told now; None: nothing. A Problem where the text failed."""
        words = [self._begun]
        self._begun = Words("", ())
        for item in news:
            if self.finish:
                break
            if isinstance(item, End):
                words.append(self._wording.finish())
                self.finish = "stop" if self._wording.stopped else _reason(item)
            else:
                self._waiting.append(item)
                self.written += not item.prompt
                if item.prompt:
                    words.append(self._given(item.token))
                    continue
                ends = item.token in self.served.stops
                piece = b"" if ends else self.served.bytes_of(item.token)
                words.append(self._wording.push(piece))
                if self._wording.stopped:
                    self.finish = "stop"
        text = "".join(each.text for each in words)
        tokens = []
        for each in words:
            for offset in each.offsets:
                piece = self._waiting.popleft()
                if piece is not None:
                    tokens.append(Placed(piece, offset))
        return Passage(text, tuple(tokens), self.finish) if text or tokens or self.finish else None

    def _given(self, *tokens: int) -> Words:
        """Tokens of the prompt."""
        piece = b"".join(map(self.served.bytes_of, tokens))
        if self._spaced and piece:
            piece, self._spaced = piece.removeprefix(b" "), False
        return self._wording.push(piece, given=True)


class Deadline:
    """When a request must be answered: so many seconds from now on. Made in the event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    async def keep(self, work: Awaitable[T]) -> T:
        """What is worked for; a Problem where it comes too late."""
        try:
            async with asyncio.timeout_at(self._end):
                return await work
        except TimeoutError:
            message = f"the answer took longer than {self._seconds:g} seconds; ask for less"
            headers = {"x-should-retry": "false"}
            raise Problem(408, message, code="timeout", headers=headers) from None


class Answers:
    """All texts of a request. Made, read and closed in the event loop."""

    def __init__(self, engine: Engine, texts: Sequence[Wanted], deadline: Deadline) -> None:
        self.texts = list(texts)
        self._engine = engine
        self._tickets: dict[int, Ticket] = {}  # of those that are being written
        self._news: deque[tuple[int, Sequence[Piece | End]]] = deque()
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._come = asyncio.Event()
        self._called = False
        try:
            for index, text in enumerate(self.texts):
                self._submit(index, text.ask)
        except BaseException as error:
            self.close()
            if isinstance(error, Full):
                raise busy(str(error)) from None
            if isinstance(error, UserError):
                param = error.where if error.where in ("routing", "language") else None
                raise of_user(error, param) from None
            raise

    async def parts(self) -> AsyncIterator[list[tuple[int, Passage]]]:
        """What can be told, as it comes: parts of texts by their number, until all have ended."""
        left = len(self.texts)
        while left:
            await self._deadline.keep(self._come.wait())
            self._come.clear()
            self._called = False
            found = []
            for index, news in self._drain().items():
                text = self.texts[index]
                if text.finish:
                    continue
                part = text.take(news)
                if part is not None:
                    found.append((index, part))
                if text.finish:
                    left -= 1
                    self._cancel(index)
            if found:
                yield found

    def close(self) -> None:
        """Write no further what has not ended."""
        for index in list(self._tickets):
            self._cancel(index)

    def _submit(self, index: int, ask: Ask) -> None:
        if ask.most == 0 and not (ask.scored and len(ask.tokens) > ask.begun):
            self._tell(index, [End("length")])
            return
        self._tickets[index] = self._engine.submit(ask, lambda news: self._tell(index, news))

    def _cancel(self, index: int) -> None:
        ticket = self._tickets.pop(index, None)
        if ticket is not None:
            self._engine.cancel(ticket)

    def _tell(self, index: int, news: Sequence[Piece | End]) -> None:
        """Called from the engine's thread."""
        self._news.append((index, news))
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._come.set)

    def _drain(self) -> dict[int, list[Piece | End]]:
        """All news, by text."""
        found: dict[int, list[Piece | End]] = {}
        while self._news:
            index, news = self._news.popleft()
            found.setdefault(index, []).extend(news)
        return found


def _reason(end: End) -> Finish:
    if end.reason == "failed":
        _log.error("a text failed: %s", end.problem)
        raise Problem(500, "the model failed to write this text", code="model_failed")
    if end.reason == "cancelled":
        raise Problem(503, "the server is stopping", code="server_stopping")
    return end.reason
