"""Typology: distances between languages by their grammar, as the features of lang2vec give it."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import langcodes
import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.files import read_json
from tongues.experts import words
from tongues.experts.partition.distances import cosine_distances
from tongues.experts.partition.partition import Distances, Partition
from tongues.experts.partition.tree import by_tree
from tongues.languages.grammar import SYNTAX, lang2vec_folder, syntax_features

_PRIVATE = "q[a-t][a-z]"  # codes that no standard gives to a language


def by_typology(languages: Sequence[str], k: int) -> Partition:
    """The partition of the languages into k clusters by their balanced tree of grammar."""
    distances, notes = typology_distances(languages)
    return by_tree("typology", distances, k, notes=notes)


def typology_distances(languages: Sequence[str]) -> tuple[Distances, tuple[str, ...]]:
    """Distances between languages by their features, and what a reader should know of them.

    languages: tags such as `sw` or `zh-Hant`. A language that the data does not have is refused;
    one of which few or no features are known stays, and a note says so.
    They are 1 - cosine of the averaged syntax features, under macro-language codes.
    """
    codes, features = syntax_features(_folder())
    rows = [_row(lang, codes, features) for lang in languages]
    distances, notes = cosine_distances(languages, features[rows])
    known = (~np.isnan(features[rows])).sum(axis=1)
    data = f"lang2vec {version('lang2vec')}, its features `{SYNTAX}…`"
    about = words.TYPOLOGY.format(
        data=data, least=known.min(), most=known.max(), width=features.shape[1]
    )
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
    near = nearest(lang, read_json(_folder() / "letter_codes.json"))
    if len(lang) > 2 and not near.startswith("did you mean"):
        near = nearest(lang, codes)
    if re.fullmatch(_PRIVATE, lang) or not near.startswith("did you mean"):
        near = "list the clusters in a file (`by: file`)"
    raise UserError(f"lang2vec has no language `{lang}`", where="typology", hint=near)


def _folder() -> Path:
    folder = lang2vec_folder()
    if folder is None:
        hint = "`pip install 'tongues[typology]'`, or list the clusters in a file (`by: file`)"
        raise UserError("the data on languages is not installed", where="typology", hint=hint)
    return folder
