"""Units: words, or what comes close to them, in any script and without a tokenizer.

In scripts that separate words by spaces, a unit is a run of letters, marks and digits; in the
others it is one character with its marks. Upper and lower case are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np

from tongues.text.signals.characters import CODE_POINTS, characters, code_points

UNSPACED = (  # line breaking (Unicode annex 14) needs a dictionary there, or breaks anywhere
    *("Ahom", "Bali", "Bopo", "Hani", "Hira", "Java", "Kana", "Khmr", "Kits", "Lana"),
    *("Laoo", "Mymr", "Nshu", "Talu", "Tang", "Tavt", "Thai", "Yiii"),
)
_APART, _WORD, _ALONE, _ATTACHED = range(4)  # the relation of a character to the one before it
_BLOCK = 2**18  # characters hashed at a time, so that they stay in the cache
_SHIFT = np.uint64(0xD6E8FEB86659FD93)  # odd, for the order of units in a row
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse


@dataclass(frozen=True, slots=True)
class Units:
    """The units of many texts: their hashes, and where those of each text begin (and end)."""

    hashes: np.ndarray  # uint64
    begins: np.ndarray  # int64, one more than texts

    @property
    def counts(self) -> np.ndarray:
        """The number of units of each text; at least one."""
        return np.diff(self.begins)


def scramble(numbers: np.ndarray) -> np.ndarray:
    """A pseudorandom uint64 for each uint64, one to one (the finalizer of splitmix64)."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def units(texts: Sequence[str]) -> Units:
    """Cut texts into units; a text without any is one unit."""
    ends = np.cumsum([0, *map(len, texts)])
    hashes, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    first = 0
    while first < len(texts):  # about a block at a time; a long text is a block of its own
        last = int(np.searchsorted(ends, ends[first] + _BLOCK, side="right")) - 1
        last = max(last, first + 1)
        block = _cut(texts[first:last])
        hashes.append(block.hashes)
        counts.append(block.counts)
        first = last
    return Units(np.concatenate(hashes), np.cumsum(np.concatenate([[0], *counts]), dtype=np.int64))


def runs_of_units(units: Units, length: int) -> tuple[np.ndarray, np.ndarray]:
    """A uint64 for each `length` units in a row of each text, and where those of each begin."""
    hashes = units.hashes
    counts = np.maximum(units.counts - length + 1, 0)
    begins = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=begins[1:])
    total = max(len(hashes) - length + 1, 0)
    runs = hashes[:total].copy()
    for k in range(1, length):
        runs *= _SHIFT
        runs += hashes[k : k + total]
    inside = np.repeat(units.begins[:-1] - begins[:-1], counts) + np.arange(begins[-1])
    return scramble(runs[inside]), begins


def whole_texts(units: Units, length: int) -> np.ndarray:
    """The uint64 that `runs_of_units` gives each text of just `length` units."""
    runs, begins = runs_of_units(units, length)
    return runs[begins[:-1][units.counts == length]]


def _cut(texts: Sequence[str]) -> Units:
    values, roles, follows = _tables()
    codes, begins = code_points(texts)
    role = roles[codes]
    before = np.zeros_like(role)
    before[1:] = role[:-1]
    before[begins[:-1][np.diff(begins) > 0]] = _APART
    starts = np.flatnonzero(follows[before * 4 + role])
    powers, inverses = _block_powers() if len(codes) <= _BLOCK else _powers(len(codes))
    terms = values[codes] * powers[: len(codes)]
    hashes = np.zeros(0, dtype=np.uint64)
    if len(starts):
        # what is between units adds nothing, so that a unit may reach to the next one
        hashes = scramble(np.add.reduceat(terms, starts) * inverses[starts])
    bounds = np.searchsorted(starts, begins)
    bare = np.flatnonzero(np.diff(bounds) == 0)
    if len(bare):
        encoded = (texts[int(i)].encode("utf-8", "surrogatepass") for i in bare)
        digests = b"".join(blake2b(data, digest_size=8).digest() for data in encoded)
        hashes = np.insert(hashes, bounds[bare], np.frombuffer(digests, "<u8"))
        bounds += np.searchsorted(bare, np.arange(len(bounds)))
    return Units(hashes, bounds)


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each code point its value in hashes and its role; which roles begin a unit after which.

    The last is indexed by 4 times the role before, plus the role.
    """
    table = characters()
    inside = np.isin(table.kinds, ("letter", "mark", "digit"))
    unspaced = np.isin(table.scripts, UNSPACED)
    role = np.where(inside, np.where(unspaced, _ALONE, _WORD), _APART)
    role[unspaced & (table.kinds == "mark")] = _ATTACHED
    roles = role.astype(np.uint8)[table.classes]
    lower = np.arange(CODE_POINTS, dtype=np.uint64)
    for code in np.flatnonzero(table.classes[:0x20000] > 0):
        lower[code] = ord(chr(code).lower()[0])  # no case beyond: ideographs
    values = scramble(lower + np.uint64(1))
    values[roles == _APART] = 0
    follows = np.zeros((4, 4), dtype=bool)
    follows[:, _ALONE] = True
    follows[[_APART, _ALONE, _ATTACHED], _WORD] = True
    follows[[_APART, _WORD], _ATTACHED] = True
    return values, roles, follows.ravel()


def _powers(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the base, for that many characters, and what undoes them."""
    bases = (_BASE, pow(_BASE, -1, 2**64))
    powers, inverses = (np.multiply.accumulate(np.full(count, b, np.uint64)) for b in bases)
    return powers, inverses


_block_powers = cache(lambda: _powers(_BLOCK))
