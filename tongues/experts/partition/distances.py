"""Distances between languages: from a matrix, from features, and the nearest languages."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.partition.partition import Distances
from tongues.recipe import Ancestry

_EQUAL = 1e-6  # the two halves of a matrix may differ by so much of a distance
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


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
            raise UserError(what, hint="name its donor")
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


def read_distances(path: Path, languages: Sequence[str]) -> Distances:
    """Distances between the languages from a square matrix, of which one half is enough.

    A `.csv` or `.tsv` file has the names of languages in its first row and first column.
    """
    where, hint = str(path), "give distances, not similarities"
    values, names = _read(path)
    for (one, other), value in values.items():
        mirrored, what = values.get((other, one), value), ""
        if value < 0:
            what = f"the distance of `{one}` and `{other}` is negative"
        elif one == other and value:
            what = f"the distance of `{one}` from itself is {value:g}"
        elif abs(value - mirrored) > _EQUAL * max(value, mirrored):
            what = f"`{one}` and `{other}` have two distances, {value:g} and {mirrored:g}"
            hint = "make the matrix symmetric"
        if what:
            raise UserError(what, where=where, hint=hint)
    matrix = np.zeros((len(languages), len(languages)))
    for i, one in enumerate(languages):
        if one not in names:
            raise UserError(f"has no row for `{one}`", where=where, hint=nearest(one, names))
        for j, other in enumerate(languages[:i]):
            value = values.get((one, other), values.get((other, one)))
            if value is None:
                what = f"there is no distance of `{one}` and `{other}`"
                raise UserError(what, where=where, hint="fill its cell")
            matrix[i, j] = matrix[j, i] = value
    return named(languages, matrix)


def _read(path: Path) -> tuple[dict[tuple[str, str], float], list[str]]:
    where, kind = str(path), path.suffix.lower()
    if kind not in _SEPARATORS:
        hint = f"take one of {', '.join(_SEPARATORS)}"
        raise UserError("cannot be read as distances", where=where, hint=hint)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(enumerate(csv.reader(file, delimiter=_SEPARATORS[kind]), 1))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"cannot be read ({error})", where=where) from None
    lines = [(number, [cell.strip() for cell in row]) for number, row in lines if any(row)]
    if not lines[1:]:
        raise UserError("holds no languages", where=where)
    (_, (_, *columns)), *rows = lines
    names = [row[0] for _, row in rows]
    for kind, own in (("row", names), ("column", columns)):
        name, count = Counter(own).most_common(1)[0] if own else ("", 1)
        if count > 1 or not all(own):
            what = f"names `{name}` twice" if name and count > 1 else f"has a {kind} without a name"
            raise UserError(what, where=where)
    values: dict[tuple[str, str], float] = {}
    for number, (name, *cells) in rows:
        if len(cells) != len(columns):
            what = f"has {len(cells) + 1} cells where the first row has {len(columns) + 1}"
            raise UserError(what, where=f"{path}:{number}")
        for column, cell in zip(columns, cells, strict=True):
            try:
                value = float(cell or 0)
            except ValueError:
                value = nan
            if not isfinite(value):
                what = f"`{cell}` in column `{column}` is not a number"
                hint = "leave the cell empty where it is not known"
                raise UserError(what, where=f"{path}:{number}", hint=hint)
            if cell:
                values[name, column] = value
    if beyond := next((column for column in columns if column not in names), ""):
        hint = "give a square matrix of distances"
        raise UserError(f"column `{beyond}` has no row", where=where, hint=hint)
    return values, names
