"""A document, and the normal form of its text."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

_PLANES = 0x20000  # code points; beyond them no character has a combining class
_LONG = 100  # marks in a row, more than any writing needs


@dataclass(frozen=True, slots=True)
class Document:
    """A text in one language.

    group: documents of one group are all trained on or all held out: translations of the same
    content, chapters of one book. source: where the text came from.
    """

    id: str
    lang: str
    text: str
    group: str
    source: str


def hash64(text: str) -> int:
    """A 64-bit number that puts texts, or groups by their names, in an arbitrary, fixed order."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def normalised(text: str) -> str:
    """The text in Unicode's composed form (NFC), with plain line ends.

    Whatever the text holds, the time grows with its length and no faster.
    """
    marks = _marks()
    stretches = range(0, len(text) - _LONG + 1, _LONG)
    if any(marks.issuperset(text[start : start + _LONG]) for start in stretches):
        text = _long_runs().sub(_in_order, text)
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")


def _in_order(run: re.Match[str]) -> str:
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])
    return "".join(sorted(marks, key=unicodedata.combining))


@cache
def _long_runs() -> re.Pattern[str]:
    return re.compile(f"[{''.join(sorted(_marks()))}]{{{_LONG},}}")


@cache
def _marks() -> frozenset[str]:
    return frozenset(
        mark
        for mark in map(chr, range(_PLANES))
        if unicodedata.combining(unicodedata.normalize("NFD", mark)[0])
    )
