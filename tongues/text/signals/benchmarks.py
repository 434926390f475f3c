"""Which documents hold text of benchmarks, which must not be trained on."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.files import path_text
from tongues.text.document import normalised
from tongues.text.reading.streams import Broken, blocks, lines
from tongues.text.signals.units import Units, runs_of_units, units, whole_texts

__all__ = ["LENGTH", "SHORTEST", "Benchmarks", "load_benchmarks"]

LENGTH = 8  # units in a row that are looked for
SHORTEST = 5  # units of a string that is looked for as a whole when it is no longer than that
_SIEVE_BITS = np.uint64(20)
_SIEVE_SHIFT = np.uint64(64) - _SIEVE_BITS
_HINT = "name .jsonl or .txt files, plain, .gz or .zst, in `text.benchmarks`"


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """What is looked for: every `LENGTH` units in a row of benchmarks, and their short strings.

    In a short question, such as those of XCOPA, hardly a string is longer; strings of fewer than
    `SHORTEST` units stand in too much innocent text.
    """

    items: int
    coverable: int  # items with a string of SHORTEST units; the others cannot be looked for
    runs: np.ndarray  # uint64, sorted, each once
    sieve: np.ndarray  # bool: whether a run of these first bits may be there

    def hits(self, units: Units) -> np.ndarray:
        """How many places of each text are text of a benchmark (uint32)."""
        total = np.zeros(len(units.counts), dtype=np.uint32)
        for length in range(SHORTEST, LENGTH + 1) if len(self.runs) else ():
            runs, begins = runs_of_units(units, length)
            places = np.flatnonzero(self.sieve[runs >> _SIEVE_SHIFT])
            found = np.searchsorted(self.runs[:-1], runs[places])
            places = places[self.runs[found] == runs[places]]
            total += np.diff(np.searchsorted(places, begins)).astype(np.uint32)
        return total


def load_benchmarks(paths: Sequence[Path]) -> Benchmarks:
    """Read what must be looked for from `.jsonl` and `.txt` files, plain, `.gz` or `.zst`.

    A line is an item: all strings in its JSON, whatever their keys, or the line of a `.txt`.
    """
    items = coverable = 0
    found = [np.zeros(0, dtype=np.uint64)]
    for path in paths:
        items_of_file = [strings for strings in _items(path) if strings]
        cut = units([text for strings in items_of_file for text in strings])
        found += [whole_texts(cut, length) for length in range(SHORTEST, LENGTH)]
        found.append(runs_of_units(cut, LENGTH)[0])
        items += len(items_of_file)
        of_item = np.repeat(np.arange(len(items_of_file)), list(map(len, items_of_file)))
        coverable += len(np.unique(of_item[cut.counts >= SHORTEST]))
    runs = np.unique(np.concatenate(found))
    sieve = np.zeros(1 << int(_SIEVE_BITS), dtype=bool)
    sieve[runs >> _SIEVE_SHIFT] = True
    return Benchmarks(items, coverable, runs, sieve)


def _items(path: Path) -> Iterator[list[str]]:
    where = path_text(path)
    kind = path.name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    if kind not in ("jsonl", "txt"):
        raise UserError("is no kind of file to read benchmarks from", where=where, hint=_HINT)
    try:
        for line in lines(blocks(path)):
            if line.too_long:
                raise Broken("too long", line.place, f"line {line.number}")
            if not line.blank:
                found = _of_line(line.data, kind == "jsonl", f"{where}:{line.number}")
                yield [normalised(text) for text in found]
    except Broken as error:
        what = f"cannot be read ({': '.join(filter(None, (error.reason, error.sample)))})"
        raise UserError(what, where=where, hint=_HINT) from None


def _of_line(data: bytes, is_json: bool, where: str) -> list[str]:
    try:
        line = data.decode("utf-8-sig")
        return list(_strings(json.loads(line) if is_json else line))
    except (ValueError, RecursionError) as error:
        what = f"is not {'JSON' if is_json else 'UTF-8'} ({error})"
        hint = "a benchmark must be read whole: mend or leave out the line"
        raise UserError(what, where=where, hint=hint) from None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
