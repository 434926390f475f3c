"""Tokens to text as it becomes certain: whole characters, and no beginning of a stop string."""

import codecs
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tongues.experts.ensemble.request import Token

__all__ = ["Part", "TextBuilder"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A stretch of a text, and the tokens that are complete with it, with their offsets."""

    text: str = ""
    tokens: tuple[Token, ...] = ()


class TextBuilder:
    """The text of one answer.

    A token is reported with the last of the characters that it is part of. What is before a stop
    string does not depend on how the text falls into tokens: the string that is complete first ends
    the text.

    Parameters
    ----------
    stops: strings that end the text and are no part of it; none is empty.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stopped = False  # by a stop string: nothing more will come
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # held back, since a stop string may begin with it
        self._sent = 0  # characters
        self._waiting: deque[tuple[int, int, Token | None]] = deque()  # from and to which character

    def push(self, piece: bytes, token: Token | None = None) -> Part:
        """Take the bytes of the next token. A prompt's is never part of a stop string.

        token: None for text that is not reported as a token.
        """
        if self.stopped:
            return Part()
        begin, seen = self._sent + len(self._held), len(self._held)
        begun = self._decoder.getstate()[0]  # bytes of a character of which more is to come
        if begun and not _continues(begun, piece[:1]):
            begin += 1
        self._held += self._decoder.decode(piece)
        rest = 1 if self._decoder.getstate()[0] else 0
        self._waiting.append((begin, self._sent + len(self._held) + rest, token))
        if token is None or token.given:
            return self._take(len(self._held))
        place = self._stop_after(seen)
        return self._take(self._certain() if place is None else place)

    def finish(self) -> Part:
        """All that was held back: no token comes any more."""
        if self.stopped:
            return Part()
        seen = len(self._held)
        self._held += self._decoder.decode(b"", final=True)
        place = self._stop_after(seen)
        return self._take(len(self._held) if place is None else place)

    def _stop_after(self, seen: int) -> int | None:
        """Where the stop string begins that is complete first; what was `seen` has none."""
        ends = []
        for stop in self._stops:
            place = self._held.find(stop, max(0, seen + 1 - len(stop)))
            if place >= 0:
                ends.append((place + len(stop), place))
        self.stopped = bool(ends)
        return min(ends)[1] if ends else None

    def _certain(self) -> int:
        """The characters held that no stop string can begin with."""
        for place in range(len(self._held) if self._stops else 0):
            rest = self._held[place:]
            if any(stop.startswith(rest) for stop in self._stops):
                return place
        return len(self._held)

    def _take(self, count: int) -> Part:
        text, self._held = self._held[:count], self._held[count:]
        self._sent += count
        tokens = []
        while self._waiting:
            begin, end, token = self._waiting[0]
            if end > self._sent and not (self.stopped and begin < self._sent):
                break
            if token is not None:
                tokens.append(replace(token, offset=begin))
            self._waiting.popleft()
        return Part(text, tuple(tokens))


def _continues(begun: bytes, byte: bytes) -> bool:
    """Whether a character that has begun with these bytes can go on with this one."""
    try:
        codecs.utf_8_decode(begun + byte, "strict", False)
    except UnicodeDecodeError:
        return False
    return True
