"""Documents with text of benchmarks, which must not be trained on."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import path_text
from tongues.text.document import normalised
from tongues.text.reading.origin import Broken
from tongues.text.reading.streams import blocks, content_kind, lines
from tongues.text.signals.units import Units, runs_of_units, units, whole_texts

LENGTH = 8  # units of an n-gram: the fewest in Brown et al. (2005.14165, appendix C)
SHORTEST = 5  # units of a shorter string that is searched for as a whole
_SHORT, _PAIRED = 100, 6  # characters, and strings of an item, that are joined; chosen
_SIEVE_BITS = np.uint64(20)
_SIEVE_SHIFT = np.uint64(64) - _SIEVE_BITS  # to the first bits of a hash
_HINT = "name .jsonl or .txt files, plain, .gz or .zst, in `text.benchmarks`"


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """The text to search for: all n-grams of `LENGTH` units of benchmarks, and shorter strings.

    Most strings of short questions, such as XCOPA's, are shorter than `LENGTH`: two or three of an
    item are also searched for as one text. What has fewer than `SHORTEST` units is left out: it is
    in too much other text.
    """

    runs: np.ndarray  # uint64, sorted, unique
    sieve: np.ndarray  # bool, by first bits: whether there may be such a run
    items: int = 0
    too_short: int = 0  # of the items: none of their strings is searched for alone

    def hits(self, units: Units) -> np.ndarray:
        """The number of matches in each text (uint32)."""
        total = np.zeros(len(units.counts), dtype=np.uint32)
        for length in range(SHORTEST, LENGTH + 1) if len(self.runs) else ():
            runs, begins = runs_of_units(units, length)
            places = np.flatnonzero(self.sieve[runs >> _SIEVE_SHIFT])
            candidates = np.searchsorted(self.runs[:-1], runs[places])
            places = places[self.runs[candidates] == runs[places]]
            total += np.diff(np.searchsorted(places, begins)).astype(np.uint32)
        return total


def load_benchmarks(paths: Sequence[Path]) -> Benchmarks:
    """Read benchmarks from `.jsonl` and `.txt` files, plain, `.gz` or `.zst`.

    A line is an item: all strings in its JSON, whatever their keys, or the line of a `.txt`.
    """
    hashes, items, too_short = [np.zeros(0, dtype=np.uint64)], 0, 0
    for path in paths:
        texts, pairs, owners = list[str](), list[str](), list[int]()
        for number, strings in enumerate(_items(path), items):
            short = [text for text in strings if len(text) < _SHORT]
            joined = [*combinations(short[:_PAIRED], 2), *combinations(short[:_PAIRED], 3)]
            pairs += map(" ".join, joined)
            texts += strings
            owners += [number] * len(strings)
        cut = units([*texts, *pairs])
        every = np.array(owners, np.int64)
        found = np.unique(every[cut.counts[: len(texts)] >= SHORTEST])
        items += len(np.unique(every))
        too_short += len(np.unique(every)) - len(found)
        hashes += [whole_texts(cut, length) for length in range(SHORTEST, LENGTH)]
        hashes.append(runs_of_units(cut, LENGTH)[0])
    runs = np.unique(np.concatenate(hashes))
    sieve = np.zeros(1 << int(_SIEVE_BITS), dtype=bool)
    sieve[runs >> _SIEVE_SHIFT] = True
    return Benchmarks(runs, sieve, items, too_short)


def _items(path: Path) -> Iterator[list[str]]:
    """The strings of each line, in their normal form."""
    where, kind = path_text(path), content_kind(path.name)
    if kind not in ("jsonl", "txt"):
        raise UserError("is not a file of benchmarks", where=where, hint=_HINT)
    try:
        for line in lines(blocks(path)):
            if line.too_long:
                raise Broken("too long", line.place, f"line {line.number}")
            try:
                text = line.data.decode("utf-8-sig")
                value = json.loads(text) if kind == "jsonl" and not line.blank else text
                yield [normalised(each) for each in _strings(value)]
            except (ValueError, RecursionError) as error:
                what = f"is not {'JSON' if kind == 'jsonl' else 'UTF-8'} ({error})"
                hint = "correct or remove the line: a benchmark must be complete"
                raise UserError(what, where=f"{where}:{line.number}", hint=hint) from None
    except Broken as error:
        what = f"cannot be read ({': '.join(filter(None, (error.reason, error.sample)))})"
        raise UserError(what, where=where, hint=_HINT) from None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if value.strip() else []
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
