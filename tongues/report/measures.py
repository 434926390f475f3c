"""What claims are measured by: growth of what CPT saves, and losses at equal compute.

Where the base had a loss before its first step, all is saved there by definition, which measures
nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import log10
from statistics import fmean

import numpy as np

from tongues.estimate import Estimate
from tongues.laws import Saving
from tongues.laws.observed import RunCurves, curve_of_ends
from tongues.laws.targets import SETTLED
from tongues.report.findings import Outcome, Pair
from tongues.report.statistics import Unit, over_sizes, slope

__all__ = ["EARLY", "early_loss", "has_no_power", "nearness", "next_sizes", "replay_gaps"]
__all__ += ["saved_by_size", "transfer_powers"]

_FEWEST = 3  # points of a curve for a power
EARLY = 0.1  # share of a run's tokens at which it is measured whether its base languages got worse
_ABOUT_EARLY = 0.05, 0.25  # the evaluation nearest to that must lie between these


def saved_by_size(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """The log of scratch's compute and the share saved, a point a size."""
    sizes: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        if pair.saved is not None:
            point = log10(pair.points[-1].compute_scratch), pair.saved
            sizes.setdefault(pair.cpt.shape, []).append(point)
    return [(fmean(x for x, _ in own), fmean(y for _, y in own)) for own in sizes.values()]


def transfer_powers(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float]]:
    """The power of the tokens from scratch by which transferred data grow, past the warm-up.

    Without the losses that the base had already, where it is 1 by definition; a pair that has no
    others keeps them.
    """
    for pair in pairs:
        if not has_no_power(pair):
            past = [p for p in _past_warm_up(pair) if pair.saturated or not p.whole]
            points = [(log10(p.tokens_scratch), log10(p.transferred)) for p in past]
            power = slope(points) if len(points) >= _FEWEST else None
            if power:
                yield pair.cpt.unit, power.value


def has_no_power(pair: Pair) -> bool:
    """Whether nothing was transferred somewhere past the warm-up."""
    return any(point.transferred <= 0 for point in _past_warm_up(pair))


def _past_warm_up(pair: Pair) -> list[Saving]:
    return [p for p in pair.points if p.tokens_scratch >= SETTLED * pair.scratch.tokens]


def next_sizes(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float, bool]]:
    """By how much the next larger size transfers more, for ten times the parameters.

    Shares are taken halfway through the smaller, where neither has its learning rate down yet; a
    larger one that is still in its warm-up is left out. The last value says whether both transfer
    all there is.
    """
    sized = [pair for pair in pairs if pair.points]
    for small, large in pairwise(sorted({pair.cpt.params for pair in sized})):
        for pair in sized:
            tokens = 0.5 * pair.scratch.tokens
            for other in sized if pair.cpt.params == small else ():
                same = (other.cpt.params, other.cpt.seed) == (large, pair.cpt.seed)
                if same and tokens >= SETTLED * other.scratch.tokens:
                    less, more = _share_at(pair, tokens), _share_at(other, tokens)
                    yield pair.cpt.unit, (more - less) / log10(large / small), less == more == 1.0


def _share_at(pair: Pair, tokens: float) -> float:
    seen = [point.tokens_scratch for point in pair.points]
    return float(np.interp(tokens, seen, [point.share for point in pair.points]))


def nearness(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str, Estimate, bool]]:
    """A target, the next further off, by how much more CPT saved on it, and whether all on both.

    The nearer is the one on which the base had the lower loss before its first step.
    """
    known = {t.target: [p.apart for p in t.pairs if p.apart is not None] for t in outcomes}
    measured = [t for t in outcomes if known[t.target]]
    for near, far in pairwise(sorted(measured, key=lambda t: fmean(known[t.target]))):
        both = [(a, b) for a in near.pairs for b in far.pairs if a.cpt.like(b.cpt)]
        differences = [
            (a.cpt.unit, a.saved - b.saved)
            for a, b in both
            if a.saved is not None and b.saved is not None
        ]
        if mean := over_sizes(differences):
            yield near.target, far.target, mean, any(a.saturated and b.saturated for a, b in both)


def replay_gaps(runs: Iterable[RunCurves]) -> list[tuple[RunCurves, float]]:
    """By how much, in log, runs with replay end above those without, at equal compute on it.

    Of final losses alone, where no loss is one of mid-schedule: runs without replay of several
    lengths give a loss after as many tokens of the target.
    """
    continued = [run for run in runs if run.strategy == "cpt" and run.lang in run.seen]
    gaps: list[tuple[RunCurves, float]] = []
    for run in continued:
        place = run.target, run.unit, run.base_tokens
        plain = [r for r in continued if (r.target, r.unit, r.base_tokens) == place]
        ends = curve_of_ends(r for r in plain if not r.replay) if run.replay else None
        tokens = run.seen[run.lang][-1:]
        if ends and ends.tokens[0] <= tokens[0] <= ends.tokens[-1]:
            without = np.interp(np.log(tokens), np.log(ends.tokens), np.log(ends.loss))
            gaps.append((run, float(np.log(run.learned.loss[-1]) - without[0])))
    return gaps


def early_loss(run: RunCurves, lang: str) -> float | None:
    """The loss at a place fixed beforehand: a maximum of the curve would be one of noise too."""
    curve = run.curves[lang]
    share = curve.tokens / curve.tokens[-1]
    near = int(np.argmin(np.abs(np.log(np.maximum(share, 1e-9) / EARLY))))
    first, last = _ABOUT_EARLY
    return float(curve.loss[near]) if first <= share[near] <= last else None
