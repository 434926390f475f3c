"""Distances between languages: from anybody's matrix, from features, and the nearest of them."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.partition.partition import Distances
from tongues.recipe import Ancestry

__all__ = ["cosine_distances", "donors", "family_distances", "named", "read_distances"]

_EQUAL = 1e-6  # the two halves of a matrix may differ by so much of a distance


def donors(distances: Distances, known: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """The nearest of the known languages for every new one; of equally near ones the first.

    A UserError where all of several known languages are equally far: the distances say nothing.
    """
    if not known:
        raise UserError("there is no language to be a donor", hint="name the known languages")
    chosen = {}
    for lang in new:
        far = {distances[lang][other] for other in known}
        if len(known) > 1 and len(far) == 1:
            what = f"all languages are equally far from `{lang}`, at {far.pop():.3g}"
            raise UserError(what, hint="name its donor, or choose by loss")
        chosen[lang] = min(known, key=lambda other: distances[lang][other])
    return chosen


def family_distances(languages: Mapping[str, Ancestry]) -> Distances:
    """1 - the share that was kept on the way from one to the other; 1 without a common mother."""
    kept = {lang: _kept(lang, languages) for lang in languages}
    return {
        lang: {other: _apart(kept[lang], kept[other]) for other in languages} for lang in languages
    }


def _kept(lang: str, languages: Mapping[str, Ancestry]) -> dict[str, float]:
    """What a language shares with itself and with each of its mothers."""
    found, share = {}, 1.0
    at: str | None = lang
    while at is not None:
        found[at] = share
        share *= 1.0 - languages[at].distance
        at = languages[at].mother
    return found


def _apart(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """By way of the nearest mother that both have."""
    common = [one[lang] * other[lang] for lang in one if lang in other]
    return 1.0 - max(common, default=0.0)


def named(languages: Sequence[str], matrix: np.ndarray) -> Distances:
    """A square matrix as distances by name; the two halves become exactly equal."""
    even = (matrix + matrix.T) / 2
    np.fill_diagonal(even, 0.0)
    return {
        lang: dict(zip(languages, row, strict=True))
        for lang, row in zip(languages, even.tolist(), strict=True)
    }


def cosine_distances(
    languages: Sequence[str], features: np.ndarray
) -> tuple[Distances, tuple[str, ...]]:
    """Distances 1 - cosine between rows of features, NaN where one is not known, and notes.

    A product skips features that either language lacks; a norm is of the language's own known
    ones. Languages without a known feature are at distance 1 from all, which a note tells.
    """
    known = ~np.isnan(features)
    filled = np.where(known, features, 0.0)
    norms = np.sqrt((filled * filled).sum(axis=1))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    cosine = (filled * scale[:, None]) @ (filled * scale[:, None]).T
    return named(languages, np.clip(1 - cosine, 0.0, 2.0)), _what_is_missing(languages, known)


def read_distances(path: Path, languages: Sequence[str]) -> tuple[Distances, tuple[str, ...]]:
    """Distances between the languages from a matrix or a table of features, and notes.

    A `.csv` or `.tsv` file has names in its first row and first column; a `.json` file maps each
    language to a mapping. Where the columns are the languages themselves it is a matrix of
    distances, of which one half is enough; else a table of features, with empty cells (JSON:
    null) where one is not known.
    """
    rows = _read(path)
    for lang in languages:
        if lang not in rows:
            raise UserError(f"has no row for `{lang}`", where=str(path), hint=nearest(lang, rows))
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    beyond = [column for column in columns if column not in rows]
    if not beyond:
        return _matrix(path, rows, languages), ()
    if len(beyond) < len(columns):
        what = f"some columns are languages, but `{beyond[0]}` has no row"
        raise UserError(what, where=str(path), hint="give a square matrix, or features alone")
    missing = float("nan")
    features = np.array(
        [[rows[lang].get(column, missing) for column in columns] for lang in languages]
    )
    return cosine_distances(languages, features)


_Rows = dict[str, dict[str, float]]


def _matrix(path: Path, rows: _Rows, languages: Sequence[str]) -> Distances:
    for lang, cells in rows.items():
        for other, value in cells.items():
            mirrored = rows[other].get(lang, value)
            if value < 0:
                what = f"the distance of `{lang}` and `{other}` is negative"
                raise UserError(what, where=str(path), hint="give distances, not similarities")
            if abs(value - mirrored) > _EQUAL * max(value, mirrored):
                what = f"`{lang}` and `{other}` have two distances, {value:g} and {mirrored:g}"
                raise UserError(what, where=str(path), hint="make the matrix symmetric")
        if cells.get(lang, 0.0) != 0:
            what = f"the distance of `{lang}` from itself is {cells[lang]:g}"
            raise UserError(what, where=str(path), hint="give distances, not similarities")
    matrix = np.zeros((len(languages), len(languages)))
    for i, lang in enumerate(languages):
        for j, other in enumerate(languages[:i]):
            value = rows[lang].get(other, rows[other].get(lang))
            if value is None:
                what = f"there is no distance of `{lang}` and `{other}`"
                raise UserError(what, where=str(path), hint="fill its cell")
            matrix[i, j] = matrix[j, i] = value
    return named(languages, matrix)


def _what_is_missing(languages: Sequence[str], known: np.ndarray) -> tuple[str, ...]:
    count = known.sum(axis=1)
    notes = []
    nothing = [lang for lang, n in zip(languages, count, strict=True) if n == 0]
    if nothing:
        listed = ", ".join(f"`{lang}`" for lang in nothing)
        notes.append(f"no feature is known of {listed}: placed at distance 1 from every language")
    for lang, n in zip(languages, count, strict=True):
        if 0 < n < known.shape[1] / 2:
            notes.append(f"`{lang}`: {n} of {known.shape[1]} features are known")
    apart = [
        f"`{languages[i]}` and `{languages[j]}`"
        for i, j in zip(*np.nonzero(known.astype(np.int32) @ known.T == 0), strict=True)
        if i < j and count[i] and count[j]
    ]
    if apart:
        notes.append(f"no feature is known of both {'; '.join(apart)}: placed at distance 1")
    return tuple(notes)


def _read(path: Path) -> _Rows:
    """The cells with a number, by row and column."""
    if path.suffix.lower() not in _READERS:
        hint = f"take one of {', '.join(_READERS)}"
        raise UserError("is no kind of file for distances or features", where=str(path), hint=hint)
    try:
        rows = _READERS[path.suffix.lower()](path)
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"cannot be read ({error})", where=str(path)) from None
    if not rows:
        raise UserError("holds no languages", where=str(path))
    return rows


def _separated(path: Path, delimiter: str) -> _Rows:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file, delimiter=delimiter))
    lines = [(number, cells) for number, cells in enumerate(lines, 1) if any(cells)]
    if not lines:
        return {}
    head = _once(path, lines[0][1][1:], "column")
    _once(path, [cells[0] for _, cells in lines[1:]], "row")
    for number, cells in lines[1:]:
        if len(cells) != len(head) + 1:
            what = f"has {len(cells)} cells where the first row has {len(head) + 1}"
            raise UserError(what, where=f"{path}:{number}")
    return {
        cells[0].strip(): _numbers(f"{path}:{number}", zip(head, cells[1:], strict=True))
        for number, cells in lines[1:]
    }


def _mappings(path: Path) -> _Rows:
    def pairs_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        _once(path, [name for name, _ in pairs], "name")
        return dict(pairs)

    data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=pairs_once)
    if not isinstance(data, dict) or not all(isinstance(row, dict) for row in data.values()):
        raise UserError("is no mapping from languages to mappings", where=str(path))
    return {lang: _numbers(f"{path}: {lang}", row.items()) for lang, row in data.items()}


def _once(path: Path, names: Sequence[str], what: str) -> list[str]:
    stripped = [name.strip() for name in names]
    for i, name in enumerate(stripped):
        if not name or name in stripped[:i]:
            said = f"names `{name}` twice" if name else f"has a {what} without a name"
            raise UserError(said, where=str(path))
    return stripped


def _numbers(where: str, cells: Iterable[tuple[str, object]]) -> dict[str, float]:
    """The cells that hold something, as finite numbers."""
    numbers = {}
    for column, cell in cells:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        try:
            value = float(str(cell))
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            what = f"`{cell}` in column `{column}` is no number"
            raise UserError(what, where=where, hint="leave the cell empty where it is not known")
        numbers[column] = value
    return numbers


_READERS: Mapping[str, Callable[[Path], _Rows]] = {
    ".csv": lambda path: _separated(path, ","),
    ".tsv": lambda path: _separated(path, "\t"),
    ".json": _mappings,
}
