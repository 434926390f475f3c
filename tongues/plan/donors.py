"""Which languages help most to learn that of a plan, and which of them a base has."""

from collections.abc import Sequence

from tongues.languages.catalogue import find_language
from tongues.languages.donors import Donor, rank_donors
from tongues.pages import fixed, signed
from tongues.plan.bases import BaseCheckpoint

_SHOWN = 3


def donor_sentences(language: str, bases: Sequence[BaseCheckpoint]) -> list[str]:
    """The best donors of all languages, and the best among the languages of each base."""
    target = find_language(language)
    first = rank_donors(target, count=_SHOWN)
    what = f"donors: by transfer scores, forecast to ±0.3, {target.name} "
    if gains := [donor for donor in first if donor.score.value > 0]:
        lines = [f"{what}gains most from a model or text of {_listed(gains)}."]
    else:
        lines = [f"{what}gains from no other language; it loses least from {_listed(first)}."]
    for base in bases:
        known = [find_language(tag) for tag in base.languages]
        if known and target.tag not in [of.tag for of in known]:
            best = _listed(rank_donors(target, known, count=1))
            lines.append(f"donors: the best of the languages that `{base.name}` names is {best}.")
    return lines


def _listed(donors: Sequence[Donor]) -> str:
    return ", ".join(
        f"{donor.language.name} (`{donor.language.tag}`, "
        f"{signed(donor.score.value, fixed(2))}{', measured' * donor.measured})"
        for donor in donors
    )
