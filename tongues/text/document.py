"""A document, and the normal form of its text."""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

from tongues.core.files import fingerprint

_PLANES = 0x20000  # code points; beyond them no character has a combining class
_LONG = 100  # marks in a row, more than any writing needs
_STEP = 0x9E3779B97F4A7C15  # the golden ratio: multiples of it spread evenly
CUT = 16  # times the size of a part, from which a document is cut into parts
_CUT_PARAGRAPH = 4  # the same of paragraphs: the parts of small files are small


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


def parts_of(document: Document, size: int) -> list[Document]:
    """A long document in parts of once to twice `size` bytes, each a group; another as it is.

    They end at blank lines, lines or spaces. With a group of its own a document stays whole, as
    it does where `size` is 0. Groups of paragraphs are numbered by their place in the file.
    """
    text, group, number = document.text, document.group, 0
    length = len(text) if text.isascii() else len(text.encode())
    whole, _, first = group.rpartition("#")
    paragraph = whole == document.source and first.isdecimal()
    short = not size or length <= (_CUT_PARAGRAPH if paragraph else CUT) * size
    if short or not (paragraph or group in (document.source, fingerprint(text))):
        return [document]
    if paragraph:
        group, number = whole, int(first)
    step, start, parts = max(size * len(text) // length, 1), 0, list[Document]()
    while start < len(text):
        begin, end = start + step, start + 2 * step
        found = (text.rfind(mark, begin, end) for mark in ("\n\n", "\n", " "))
        end = next((place for place in found if place > 0), end) if end < len(text) else len(text)
        after = start // step if paragraph else len(parts)
        names = {"id": f"{document.id}#{len(parts)}", "group": f"{group}#{number + after}"}
        parts.append(replace(document, text=text[start:end].strip("\n"), **names))
        start = end
    return [part for part in parts if part.text.strip()]


def hash64(text: str) -> int:
    """A 64-bit number that puts texts, or groups by their names, in an arbitrary, fixed order."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def group_hash(name: str) -> int:
    """The `hash64` of a group; parts of a file or document, as of `parts_of`, take even steps.

    So of the parts of one, any share of all numbers has its share of them.
    """
    whole, _, number = name.rpartition("#")
    if not (whole and number.isdecimal()):
        return hash64(name)
    return (hash64(whole) + int(number) * _STEP) % 2**64


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
