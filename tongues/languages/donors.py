"""Donors: the languages whose model, expert or text helps most to learn another.

Transfer scores of ATLAS (arXiv 2510.22037) are the measure: what half of a text in the donor is
worth to a model of the target. 1: as much as text of the target; 0: only what it dilutes; below:
it interferes. 290 pairs are read off its figure. Others are forecast by a line in how near the
donor is: by family, script and the amount of its text. ATLAS's differences between donors are left
out: they put Hebrew first for languages that have nothing to do with it (benchmarks/donors.py).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.languages.catalogue import find_language, languages, packaged_rows, unpack
from tongues.languages.language import Language

# How near a donor is: its kinship, and this for the same script and for each decade of its text.
_SCRIPT, _TEXT = 0.5, 0.05
# Transfer score by nearness: level, slope, and the standard deviation for targets left out of the
# fit, benchmarks/donors.txt.
LINE, SPREAD = (-0.42, 0.31), 0.133
_ROUNDING = 0.05  # of a score that was read off a figure
_PLENTY = 1e8  # bytes of text from which a language is offered as a donor
# Dead or planned languages, and Narom, whose text in FineWeb-2 is mostly of others.
_NEVER = {"eo", "gmh", "grc", "hbo", "la", "nrm", "sa"}
_ALIKE = 0.85  # n-grams shared: Danish and Norwegian 0.88, Czech and Slovak 0.80
_Z = 2.26  # of Student's t: ten targets


@dataclass(frozen=True, slots=True)
class Donor:
    """A language to start from, with its transfer score; measured: by ATLAS, else a forecast.

    kinship: of the families, 0 to 1.
    """

    language: Language
    score: Estimate
    measured: bool
    kinship: float


def rank_donors(
    target: Language, candidates: Sequence[Language] | None = None, count: int | None = None
) -> tuple[Donor, ...]:
    """Donors for a target, the best first; never the target itself in another script.

    Without candidates: all living languages with 100 MB of text, in their usual script.
    """
    if candidates is None:
        every = languages(min_text=_PLENTY)
        candidates = [of for of in every if of.tag not in _NEVER and "-" not in of.tag]
    scores, donors = measured_transfer(), []
    others = [other for other in candidates if other.code != target.code]
    for donor in sorted(others, key=lambda other: -nearness(target, other)):
        measured = scores.get((target.tag, donor.tag))
        value, half = LINE[0] + LINE[1] * nearness(target, donor), _Z * SPREAD
        how = "line in family, script and amount of text"
        if measured is not None:
            value, half, how = measured, _ROUNDING, "ATLAS, read off a figure at one decimal"
        score = Estimate(value, value - half, value + half, "transfer score", method=how)
        donors.append(Donor(donor, score, measured is not None, target.kinship(donor)))
    donors.sort(key=lambda donor: -donor.score.value)  # of equal ones, the nearest is first
    return tuple(donors[:count])


def nearness(target: Language, donor: Language) -> float:
    """Kinship, a half for the same script, and a twentieth for each decade of the donor's text."""
    text = _TEXT * math.log10(max(donor.text_bytes, 1))
    return target.kinship(donor) + _SCRIPT * (target.script == donor.script) + text


def best_donor(target: str, candidates: Sequence[str], where: str = "") -> str:
    """The candidate with the highest transfer score; tags or names, as `find_language` has them.

    A UserError about `where` for a language that the catalogue does not have, or no candidate.
    """
    by_tag = {find_language(name, where).tag: name for name in candidates}
    ranked = rank_donors(find_language(target, where), [find_language(tag) for tag in by_tag])
    if not ranked:
        what = f"there is no other language that could be a donor of `{target}`"
        raise UserError(what, where=where, hint="name its donor, or choose by `loss`")
    return by_tag[ranked[0].language.tag]


@cache
def measured_transfer() -> Mapping[tuple[str, str], float]:
    """ATLAS's scores by the tags of target and donor."""
    rows = packaged_rows("transfer.csv")
    tags = {name: find_language(name).tag for name in rows[0] if name != "target"}
    tags |= {row["target"]: find_language(row["target"]).tag for row in rows}
    return {
        (tags[row["target"]], tags[donor]): float(value)
        for row in rows
        for donor, value in row.items()
        if donor != "target" and value
    }


def confusable_languages(language: Language) -> tuple[Language, ...]:
    """Relatives that share at least 85 % of the n-grams of bytes: identification may mix them up.

    Only of languages that py3langid knows, the most alike first.
    """
    names, *triangle = unpack("overlap.tsv.gz")
    if language.tag not in names:
        return ()
    place = names.index(language.tag)
    shares = [*triangle[place][:place], "", *(row[place] for row in triangle[place + 1 :])]
    alike = [(int(share) / 1000, tag) for share, tag in zip(shares, names, strict=True) if share]
    near = [find_language(tag) for share, tag in sorted(alike, reverse=True) if share >= _ALIKE]
    return tuple(other for other in near if language.kinship(other) > 0)
