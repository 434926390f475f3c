"""Distances between languages: from anybody's matrix, from features, and the nearest of them."""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.partition.partition import Distances
from tongues.recipe import Ancestry

__all__ = ["cosine_distances", "family_distances", "named", "nearest_donors", "read_distances"]

_EQUAL = 1e-6  # the two halves of a matrix may differ by so much of a distance
_SEPARATORS = {".csv": ",", ".tsv": "\t"}

_Cells = list[tuple[str, Any]]  # columns and what is in them
_Rows = dict[str, dict[str, float]]


def nearest_donors(
    distances: Distances, known: Sequence[str], new: Sequence[str]
) -> dict[str, str]:
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
        chosen[lang] = min(known, key=distances[lang].__getitem__)
    return chosen


def family_distances(languages: Mapping[str, Ancestry]) -> Distances:
    """1 - the share that was kept on the way from one to the other; 1 without a common parent."""
    shared: dict[str, dict[str, float]] = {}  # of each language, with itself and its ancestors
    for lang in languages:
        shared[lang], share, at = {}, 1.0, lang
        while at is not None:
            shared[lang][at] = share
            share *= 1.0 - languages[at].divergence
            at = languages[at].parent

    def apart(one: Mapping[str, float], other: Mapping[str, float]) -> float:
        return 1.0 - max((one[lang] * other[lang] for lang in one if lang in other), default=0.0)

    return {a: {b: apart(shared[a], shared[b]) for b in languages} for a in languages}


def named(languages: Sequence[str], matrix: np.ndarray) -> Distances:
    """A square matrix as distances by name; the two halves become exactly equal."""
    even = (matrix + matrix.T) / 2
    np.fill_diagonal(even, 0.0)
    rows = zip(languages, even.tolist(), strict=True)
    return {lang: dict(zip(languages, row, strict=True)) for lang, row in rows}


def cosine_distances(
    languages: Sequence[str], features: np.ndarray
) -> tuple[Distances, tuple[str, ...]]:
    """Distances 1 - cosine between rows of features, NaN where one is not known, and notes.

    A product is of features known of both languages; a norm is of all known of one.
    Languages without a known feature are at distance 1 from all; a note names them.
    """
    known = ~np.isnan(features)
    filled = np.where(known, features, 0.0)
    norms = np.sqrt((filled * filled).sum(axis=1))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    cosine = (filled * scale[:, None]) @ (filled * scale[:, None]).T
    distances = named(languages, np.clip(1 - cosine, 0.0, 2.0))
    counts = dict(zip(languages, known.sum(axis=1).tolist(), strict=True))
    width, notes = features.shape[1], []
    if unknown := ", ".join(f"`{lang}`" for lang in languages if not counts[lang]):
        notes.append(f"no feature is known of {unknown}: placed at distance 1 from every language")
    notes += [
        f"`{lang}`: {count} of {width} features are known"
        for lang, count in counts.items()
        if 0 < count < width / 2
    ]
    both = known.astype(np.int32) @ known.T
    apart = [
        f"`{languages[i]}` and `{languages[j]}`"
        for i, j in np.argwhere(np.triu(both == 0, 1)).tolist()
        if counts[languages[i]] and counts[languages[j]]
    ]
    if apart:
        notes.append(f"no feature is known of both {'; '.join(apart)}: placed at distance 1")
    return distances, tuple(notes)


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
    features = [[rows[lang].get(column, nan) for column in columns] for lang in languages]
    return cosine_distances(languages, np.array(features))


def _matrix(path: Path, rows: _Rows, languages: Sequence[str]) -> Distances:
    what, hint = "", "give distances, not similarities"
    for lang, cells in rows.items():
        for other, value in cells.items():
            mirrored = rows[other].get(lang, value)
            if value < 0:
                what = f"the distance of `{lang}` and `{other}` is negative"
            elif lang == other and value:
                what = f"the distance of `{lang}` from itself is {value:g}"
            elif abs(value - mirrored) > _EQUAL * max(value, mirrored):
                what = f"`{lang}` and `{other}` have two distances, {value:g} and {mirrored:g}"
                hint = "make the matrix symmetric"
            if what:
                raise UserError(what, where=str(path), hint=hint)
    matrix = np.zeros((len(languages), len(languages)))
    for i, lang in enumerate(languages):
        for j, other in enumerate(languages[:i]):
            value = rows[lang].get(other, rows[other].get(lang))
            if value is None:
                what = f"there is no distance of `{lang}` and `{other}`"
                raise UserError(what, where=str(path), hint="fill its cell")
            matrix[i, j] = matrix[j, i] = value
    return named(languages, matrix)


def _read(path: Path) -> _Rows:
    kind = path.suffix.lower()
    if kind != ".json" and kind not in _SEPARATORS:
        hint = f"take one of {', '.join((*_SEPARATORS, '.json'))}"
        raise UserError("cannot be read as distances or features", where=str(path), hint=hint)
    try:
        rows = _mappings(path) if kind == ".json" else _separated(path, _SEPARATORS[kind])
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"cannot be read ({error})", where=str(path)) from None
    if not rows:
        raise UserError("holds no languages", where=str(path))
    for kind, names in (
        ("row", [lang for _, lang, _ in rows]),
        *(("column", [column for column, _ in cells]) for _, _, cells in rows),
    ):
        name, count = Counter(map(str.strip, names)).most_common(1)[0] if names else ("-", 1)
        if count > 1 or not all(map(str.strip, names)):
            what = f"names `{name}` twice" if name and count > 1 else f"has a {kind} without a name"
            raise UserError(what, where=str(path))
    return {lang.strip(): _numbers(where, cells) for where, lang, cells in rows}


def _separated(path: Path, delimiter: str) -> list[tuple[str, str, _Cells]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(enumerate(csv.reader(file, delimiter=delimiter), 1))
    (_, head), *rest = [line for line in lines if any(line[1])] or [(0, [])]
    for number, cells in rest:
        if len(cells) != len(head):
            what = f"has {len(cells)} cells where the first row has {len(head)}"
            raise UserError(what, where=f"{path}:{number}")
    return [(f"{path}:{i}", row[0], list(zip(head[1:], row[1:], strict=True))) for i, row in rest]


def _mappings(path: Path) -> list[tuple[str, str, _Cells]]:
    data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=tuple)
    if not isinstance(data, tuple) or not all(isinstance(cells, tuple) for _, cells in data):
        raise UserError("is not a mapping from languages to mappings", where=str(path))
    return [(f"{path}: {lang}", lang, list(cells)) for lang, cells in data]


def _numbers(where: str, cells: _Cells) -> dict[str, float]:
    numbers = {}
    for column, cell in cells:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        try:
            value = float(str(cell))
        except ValueError:
            value = nan
        if not isfinite(value):
            what = f"`{cell}` in column `{column}` is not a number"
            raise UserError(what, where=where, hint="leave the cell empty where it is not known")
        numbers[column.strip()] = value
    return numbers
