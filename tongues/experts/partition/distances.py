"""Distances between languages, of a family or by grammar, and the nearest languages.

Grammar is the syntax features of lang2vec, where it is installed. Its data is under CC BY-SA 4.0
and is not part of this package; only its arrays are read.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import langcodes
import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.files import read_json
from tongues.experts.partition.partition import Distances, Partition
from tongues.experts.partition.tree import by_tree
from tongues.experts.words import WORDS
from tongues.recipe import Ancestry

_SYNTAX = "S_"  # begins the names of the features that the published clusters of X-ELM come from
_PRIVATE = "q[a-t][a-z]"  # codes that no standard gives to a language


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


def cosine_distances(languages: Sequence[str], features: np.ndarray) -> Distances:
    """Distances 1 - cosine between rows of features, NaN where one is not known.

    A product is of features known of both languages; a norm is of all known of one.
    """
    filled = np.nan_to_num(features)
    norms = np.sqrt((filled * filled).sum(axis=1))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    cosine = (filled * scale[:, None]) @ (filled * scale[:, None]).T
    return named(languages, np.clip(1 - cosine, 0.0, 2.0))


def by_typology(languages: Sequence[str], k: int) -> Partition:
    """The partition of the languages into k clusters by their balanced tree of grammar."""
    distances, notes = typology_distances(languages)
    return by_tree("typology", distances, k, notes=notes)


def typology_distances(languages: Sequence[str]) -> tuple[Distances, tuple[str, ...]]:
    """Distances between languages by their features, and what a reader should know of them.

    languages: tags such as `sw` or `zh-Hant`. A language that the data does not have is refused.
    They are 1 - cosine of the averaged syntax features, under macro-language codes. Where fewer
    than half are known of a language, lang2vec's predictions fill its gaps, and a note says so.
    """
    codes, features, predicted = _syntax_features(lang2vec_folder())
    rows = [_row(lang, codes, features) for lang in languages]
    own, guessed = features[rows], predicted[rows]
    known, width = (~np.isnan(own)).sum(axis=1), features.shape[1]
    few = (known < width / 2)[:, None] & np.isnan(own)
    distances = cosine_distances(languages, np.where(few, guessed, own))
    data = f"lang2vec {version('lang2vec')}, its features `{_SYNTAX}…`"
    about = WORDS["typology"].format(data=data, least=known.min(), most=known.max(), width=width)
    notes = [
        WORDS["few_known"].format(language=lang, count=count, width=width)
        for lang, count in zip(languages, known.tolist(), strict=True)
        if count < width / 2
    ]
    return distances, (about, *notes)


def _row(lang: str, codes: dict[str, int], features: np.ndarray) -> int:
    """Where a language is in the data: under its macro-language's code, else its own."""
    try:
        own, usual = langcodes.Language.get(lang, normalize=False), langcodes.Language.get(lang)
        tags = (usual.prefer_macrolanguage(), usual, own)
        rows = [codes[name] for tag in tags if (name := tag.to_alpha3()) in codes]
    except (ValueError, LookupError):
        rows = []
    if rows:
        return next((row for row in rows if not np.isnan(features[row]).all()), rows[0])
    # the nearest tag of two letters for a short one, or code of the data for a longer one
    near = nearest(lang, read_json(lang2vec_folder() / "letter_codes.json"))
    if len(lang) > 2 and not near.startswith("did you mean"):
        near = nearest(lang, codes)
    if re.fullmatch(_PRIVATE, lang) or not near.startswith("did you mean"):
        near = "list the clusters in a file (`by: file`)"
    raise UserError(f"lang2vec has no language `{lang}`", where="typology", hint=near)


@cache
def _syntax_features(folder: Path) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Rows by ISO code; features from 0 to 1, NaN where unknown; and what lang2vec predicts."""

    def read(file: str) -> tuple[list[str], np.ndarray]:
        with np.load(folder / file) as data:
            values = data["data"][:, np.char.startswith(data["feats"], _SYNTAX), 0]
            return data["langs"].tolist(), np.where(values < 0, np.nan, values)

    langs, values = read("feature_averages.npz")
    _, predicted = read("feature_predictions.npz")
    return {code: row for row, code in enumerate(langs)}, values, predicted


@cache
def lang2vec_folder() -> Path:
    """The folder of lang2vec's data; the package cannot be imported with a new setuptools."""
    with suppress(PackageNotFoundError):
        folder = Path(str(distribution("lang2vec").locate_file("lang2vec/data")))
        if folder.is_dir():
            return folder
    hint = "`pip install 'tongues[typology]'`, or list the clusters in a file (`by: file`)"
    raise UserError("the data on languages is not installed", where="typology", hint=hint)
