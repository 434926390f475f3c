"""What is known of a pilot's losses before any of its runs: by the prior for losses of languages.

Of runs from scratch alone, on a language that the catalogue has. The prior is of bits per byte
of any text of the language: how hard this text is, the first run shows; how losses fall with text
and size is what the prior is worth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.errors import UserError
from tongues.languages import Language, LossPrior, OwnRun, find_language, forecast_runs
from tongues.study.pilot.blocks import KnownLosses, Point
from tongues.study.pilot.candidates import Candidate, PilotBudget
from tongues.study.pilot.selection import with_parents

__all__ = ["CountedText", "known_losses", "losses_of"]

_PLACES = 4  # among the small runs
_ROLES = {"target": "scratch", "source": "source"}  # of each block, the runs from scratch


@dataclass(frozen=True, slots=True)
class CountedText:
    """A language's text: bytes behind a token, and how many tokens there are."""

    bytes_per_token: float
    tokens: float = math.inf


def losses_of(
    language: Language, points: Sequence[Point], text: CountedText, prior: LossPrior | None = None
) -> KnownLosses:
    """The losses at points, nats per token, by the prior; text is repeated where it ends."""
    runs = []
    for point in points:
        tokens = min(point.D, text.tokens)
        size = tokens * text.bytes_per_token
        runs.append(OwnRun(size, math.nan, point.N, point.D / tokens))
    middle, covariance = forecast_runs(language, runs, prior)
    nats = math.log(math.log(2.0) * text.bytes_per_token)
    return KnownLosses(language.name, tuple(points), middle + nats, covariance)


def known_losses(
    languages: Mapping[str, str],
    options: Sequence[Candidate],
    guess: Mapping[str, Point],
    means: PilotBudget,
) -> dict[str, KnownLosses]:
    """By block, where the catalogue has the language.

    languages: of the blocks. guess: the real run, by role.
    """
    known = {}
    for block, role in _ROLES.items():
        lang = languages[block]
        try:
            language = find_language(lang)
        except UserError:
            continue
        small = {
            (p.N, p.D): p for one in with_parents(options) for p in one.points if p.role == role
        }
        ordered = sorted(small.values(), key=lambda point: point.flops)
        at = np.linspace(0, len(ordered) - 1, min(_PLACES, len(ordered))).round().astype(int)
        points = [*(ordered[i] for i in at), guess[role]]
        text = CountedText(means.bytes_per_token[lang], means.available.get(lang, math.inf))
        known[block] = losses_of(language, points, text)
    return known
