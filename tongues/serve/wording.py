"""Tokens to text as it becomes certain: whole characters, and no beginning of a stop string."""

import codecs
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Wording", "Words"]


@dataclass(frozen=True, slots=True)
class Words:
    """What can be told now."""

    text: str
    offsets: tuple[int, ...]  # a token told each: where in the whole text it begins, in characters


class Wording:
    """The text of one answer.

    A token is told with the last of the characters that it is part of. What stands before a stop
    string does not depend on how the text falls into tokens: the string that is whole first ends
    the text.

    Parameters
    ----------
    stops: strings that end the text and are no part of it; none is empty.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stopped = False  # by a stop string: nothing more will be told
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # not told, since a stop string may begin with it
        self._told = 0  # characters
        self._waiting: deque[tuple[int, int]] = deque()  # tokens: from and to which character

    def push(self, piece: bytes, *, given: bool = False) -> Words:
        """Take the bytes of the next token. given: it is the prompt's, which no string stops."""
        if self.stopped:
            return Words("", ())
        begin, seen = self._told + len(self._held), len(self._held)
        begun = self._decoder.getstate()[0]  # bytes of a character of which more is to come
        if begun and not _goes_on(begun, piece[:1]):
            begin += 1
        self._held += self._decoder.decode(piece)
        rest = 1 if self._decoder.getstate()[0] else 0
        self._waiting.append((begin, self._told + len(self._held) + rest))
        if given:
            return self._tell(len(self._held))
        place = self._stop_after(seen)
        return self._tell(self._certain() if place is None else place)

    def finish(self) -> Words:
        """All that was held back: no token comes any more."""
        if self.stopped:
            return Words("", ())
        seen = len(self._held)
        self._held += self._decoder.decode(b"", final=True)
        place = self._stop_after(seen)
        return self._tell(len(self._held) if place is None else place)

    def _stop_after(self, seen: int) -> int | None:
        """Where the stop string begins that is whole first; what was `seen` has none."""
        found = []
        for stop in self._stops:
            place = self._held.find(stop, max(0, seen + 1 - len(stop)))
            if place >= 0:
                found.append((place + len(stop), place))
        self.stopped = bool(found)
        return min(found)[1] if found else None

    def _certain(self) -> int:
        """The characters held that no stop string can begin with."""
        for place in range(len(self._held) if self._stops else 0):
            rest = self._held[place:]
            if any(stop.startswith(rest) for stop in self._stops):
                return place
        return len(self._held)

    def _tell(self, count: int) -> Words:
        text, self._held = self._held[:count], self._held[count:]
        self._told += count
        offsets = []
        while self._waiting:
            begin, end = self._waiting[0]
            if end > self._told and not (self.stopped and begin < self._told):
                break
            offsets.append(begin)
            self._waiting.popleft()
        return Words(text, tuple(offsets))


def _goes_on(begun: bytes, byte: bytes) -> bool:
    """Whether a character that has begun with these bytes can go on with this one."""
    try:
        codecs.utf_8_decode(begun + byte, "strict", False)
    except UnicodeDecodeError:
        return False
    return True
