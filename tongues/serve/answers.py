"""The texts of one request while they are written: from the engine's thread to who waits."""

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tongues.errors import UserError
from tongues.serve.asks import Ask, End, Full, Piece, Ticket
from tongues.serve.engine import Engine
from tongues.serve.problems import Problem, of_user
from tongues.serve.served import Served
from tongues.serve.wording import Wording, Words

__all__ = ["Answers", "Part", "Text", "Told"]

Finish = Literal["stop", "length"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A token that is told."""

    piece: Piece
    offset: int  # where it begins in the whole text, in characters


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What can be told of a text since the part before."""

    text: str
    tokens: tuple[Told, ...]
    finish: Finish | None = None  # the last part: why


class Text:
    """A text as it comes from the engine.

    echo: whether the prompt is a part of it. led: whether the prompt came with the token before
    every text, which is told too, but was not to be predicted.
    """

    def __init__(
        self,
        served: Served,
        ask: Ask,
        stops: Sequence[str] = (),
        *,
        echo: bool = False,
        led: bool = False,
    ) -> None:
        self.ask, self.served = ask, served
        self.read, self.written = len(ask.tokens) + led, 0  # tokens
        self.finish: Finish | None = None
        self._wording = Wording(stops)
        self._waiting: deque[Piece | None] = deque()
        self._begun = Words("", ())
        if echo and not ask.scored:
            self._waiting.append(None)
            whole = b"".join(map(served.bytes_of, ask.tokens.tolist()))
            self._begun = self._wording.push(whole, given=True)
        elif echo and led:
            weights = np.zeros(len(served.experts))
            self._waiting.append(Piece(served.first, math.nan, (), weights, None, prompt=True))
            self._begun = self._wording.push(b"", given=True)

    def take(self, news: Sequence[Piece | End]) -> Part | None:
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
                ends = item.token in self.served.stops and not item.prompt
                piece = b"" if ends else self.served.bytes_of(item.token)
                words.append(self._wording.push(piece, given=item.prompt))
                if self._wording.stopped:
                    self.finish = "stop"
        text = "".join(each.text for each in words)
        tokens = []
        for each in words:
            for offset in each.offsets:
                piece = self._waiting.popleft()
                if piece is not None:
                    tokens.append(Told(piece, offset))
        return Part(text, tuple(tokens), self.finish) if text or tokens or self.finish else None


class Answers:
    """All texts of a request. Made, read and closed in the event loop.

    seconds: that all of it may take.
    """

    def __init__(self, engine: Engine, texts: Sequence[Text], seconds: float) -> None:
        self.texts = list(texts)
        self._engine = engine
        self._tickets: dict[int, Ticket] = {}  # of those that are being written
        self._news: deque[tuple[int, Sequence[Piece | End]]] = deque()
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds
        self._seconds = seconds
        self._come = asyncio.Event()
        self._called = False
        try:
            for index, text in enumerate(self.texts):
                self._submit(index, text.ask)
        except BaseException as error:
            self.close()
            if isinstance(error, Full):
                message = f"too much is asked at once: {error}; try again in a moment"
                headers = {"retry-after": "1"}
                raise Problem(429, message, code="server_busy", headers=headers) from None
            if isinstance(error, UserError):
                param = error.where if error.where in ("routing", "language") else None
                raise of_user(error, param) from None
            raise

    async def parts(self) -> AsyncIterator[list[tuple[int, Part]]]:
        """What can be told, as it comes: parts of texts by their number, until all have ended."""
        left = len(self.texts)
        while left:
            try:
                async with asyncio.timeout_at(self._deadline):
                    await self._come.wait()
            except TimeoutError:
                message = f"the answer took longer than {self._seconds:g} seconds; ask for less"
                headers = {"x-should-retry": "false"}
                raise Problem(408, message, code="timeout", headers=headers) from None
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
        if ask.most == 0 and not (ask.scored and len(ask.tokens)):
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
