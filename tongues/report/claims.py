"""What others found of continuing, put to the test on these runs.

Each finding becomes a number with a 95 % interval for every target, and for every share of replay
where it is about that.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import log10

import numpy as np

from tongues.laws.observed import Run
from tongues.laws.targets import SETTLED
from tongues.report.findings import Findings, Pair, Transfer
from tongues.report.meeting import meetings, meetings_of_ends
from tongues.report.statistics import Estimate, by_unit, estimate, estimates, slope
from tongues.report.verdicts import Cells, Claim, Judge, Part, above, below, parts, within

__all__ = ["claims"]

_STEADY = 0.05  # share saved, for ten times the compute, that is hardly a change
_LINEAR = 0.1  # around a power of 1
_NOTHING = 0.05  # of gamma
_ALIKE = 0.02  # of a loss
_FEWEST = 3  # points of a curve that tell a power


def claims(findings: Findings) -> list[Claim]:
    """Every finding that these runs can be asked about."""
    return [claim for claim in (*_of_learning(findings), *_of_replay(findings)) if claim.parts]


def _of_learning(findings: Findings) -> Iterator[Claim]:
    plain = [t for t in findings.transfers if not t.replay]

    def each(found: Callable[[Transfer], Estimate | None], judge: Judge) -> tuple[Part, ...]:
        return parts({(t.target, None): found(t) for t in plain}, judge)

    yield Claim(
        "below-scratch",
        "At equal compute CPT ends below training from scratch.",
        "scratch's loss less CPT's after as many tokens",
        "nats per token",
        each(lambda t: t.ahead, above),
    )
    yield Claim(
        "saves",
        "CPT comes to the same loss with less compute.",
        "share of scratch's compute saved, through training",
        "%",
        each(lambda t: t.saved, above),
    )
    yield Claim(
        "saves-by-ends",
        "The same between final losses alone.",
        "share saved between runs of several lengths",
        "%",
        each(lambda t: t.by_ends, above),
    )
    yield Claim(
        "saving-lasts",
        "The share saved hardly changes with compute.",
        f"change for ten times the compute, alike within {_STEADY * 100:g}",
        "points",
        each(lambda t: slope(list(_by_compute(t.pairs))), within(_STEADY)),
    )
    yield Claim(
        "transferred-grows",
        "Effectively transferred data grow in proportion to the tokens.",
        f"their power of scratch's tokens, 1 within {_LINEAR:g}",
        "",
        each(lambda t: estimate(by_unit(_growth(t.pairs))), within(_LINEAR, of=1.0)),
    )
    yield Claim(
        "larger-transfers-more",
        "Larger models transfer more.",
        "change of the share transferred for ten times the parameters, at equal tokens",
        "points",
        each(lambda t: estimate(by_unit(_larger(t.pairs))), above),
    )
    yield Claim(
        "gamma-cpt",
        "On CPT, size and tokens act together: γ is above 0.",
        "γ of CPT's law, which stands on the one from scratch",
        "",
        parts(_gammas(findings, "cpt", "cpt"), above),
    )
    yield Claim(
        "gamma-scratch",
        "From scratch they do not: γ is about 0.",
        f"γ of the extended law, alike within {_NOTHING:g}",
        "",
        parts(_gammas(findings, "scratch", "extended"), within(_NOTHING)),
    )
    yield Claim(
        "nearer-gains",
        "The nearer a target, the more is saved.",
        "share saved less that of the target named",
        "points",
        tuple(
            Part(n.near, None, n.difference, above(n.difference), n.far) for n in findings.nearer
        ),
    )
    yield Claim(
        "forgets",
        "Without replay the source is forgotten.",
        "final loss on the source less the one at the start",
        "nats per token",
        parts({(f.target, None): f.rise for f in findings.forgetting if not f.replay}, above),
    )


def _of_replay(findings: Findings) -> Iterator[Claim]:
    for name, finding, which, met in (
        (
            "targets-meet",
            "At equal compute on the target its loss is the same, whatever the replay.",
            "through training",
            meetings(findings.usual),
        ),
        (
            "targets-meet-by-ends",
            "The same between final losses alone.",
            "in runs of several lengths",
            meetings_of_ends(findings.usual),
        ),
    ):
        yield Claim(
            name,
            finding,
            f"loss beside that with the least replay, {which}, alike within {_ALIKE * 100:g} %",
            "%",
            parts(_cells((one.run, one.apart) for one in met), within(_ALIKE)),
        )
    curves = [
        (run, run.curves[run.source].loss)
        for f in findings.forgetting
        for run in f.runs
        if run.source and f.replay
    ]
    shown: list[tuple[str, str, str, Callable[[np.ndarray], float], Judge]] = [
        (
            "source-rises",
            "Replayed, the source's loss first rises.",
            "peak less start",
            lambda loss: loss.max() - loss[0],
            above,
        ),
        (
            "source-falls",
            "Then it falls.",
            "end less peak",
            lambda loss: loss[-1] - loss.max(),
            below,
        ),
        (
            "source-ends-below",
            "In the end it lies below its start.",
            "end less start",
            lambda loss: loss[-1] - loss[0],
            below,
        ),
    ]
    for name, finding, measure, change, judge in shown:
        cells = _cells((run, float(change(loss))) for run, loss in curves)
        yield Claim(name, finding, measure, "nats per token", parts(cells, judge))
    yield Claim(
        "more-keeps-more",
        "The more replay, the less is forgotten.",
        "final loss on the source less that with the next smaller share",
        "nats per token",
        parts(_cells(_steps(findings)), below),
    )


def _cells(values: Iterable[tuple[Run, float]]) -> dict[tuple[str, float | None], Estimate]:
    """One estimate for each target and share of replay; at every share the same spread."""
    found: dict[str, dict[float, list[tuple[Hashable, float]]]] = {}
    for run, value in values:
        found.setdefault(run.target, {}).setdefault(run.replay, []).append((run.unit, value))
    return {
        (target, replay): of_share
        for target, cells in found.items()
        for replay, of_share in estimates({r: by_unit(cells[r]) for r in sorted(cells)}).items()
    }


def _by_compute(pairs: Sequence[Pair]) -> Iterator[tuple[float, float]]:
    for pair in pairs:
        if pair.saved is not None:
            yield log10(pair.points[-1].compute_scratch), pair.saved


def _growth(pairs: Sequence[Pair]) -> Iterator[tuple[Hashable, float]]:
    """The power of the tokens from scratch by which transferred data grow, past the warm-up."""
    for pair in pairs:
        points = [
            (log10(point.tokens_scratch), log10(point.transferred))
            for point in pair.points
            if point.tokens_scratch >= SETTLED * pair.scratch.tokens and point.transferred > 0
        ]
        power = slope(points) if len(points) >= _FEWEST else None
        if power:
            yield pair.cpt.unit, power.mean


def _larger(pairs: Sequence[Pair]) -> Iterator[tuple[Hashable, float]]:
    """Each size beside the next smaller one: shares transferred, halfway through the smaller.

    There neither has its learning rate down yet; sizes of which the larger is still in its warm-up
    are left out.
    """
    sized = [pair for pair in pairs if pair.points]
    sizes = sorted({pair.cpt.params for pair in sized})
    for small, large in pairwise(sizes):
        for one in (pair for pair in sized if pair.cpt.params == small):
            others = [p for p in sized if (p.cpt.params, p.cpt.seed) == (large, one.cpt.seed)]
            tokens = 0.5 * one.scratch.tokens
            for other in others:
                if tokens >= SETTLED * other.scratch.tokens:
                    gain = _share_at(other, tokens) - _share_at(one, tokens)
                    yield (small, one.cpt.seed), gain / log10(large / small)


def _share_at(pair: Pair, tokens: float) -> float:
    """The share transferred when scratch had seen so many tokens."""
    seen = [point.tokens_scratch for point in pair.points]
    return float(np.interp(tokens, seen, [point.share for point in pair.points]))


def _gammas(findings: Findings, strategy: str, law: str) -> Cells:
    return {
        (target, None): Estimate(*entry.gamma, entry.n_runs)
        for target, compared in findings.compared.items()
        for entry in compared.entries
        if (entry.strategy, entry.law) == (strategy, law) and entry.gamma
    }


def _steps(findings: Findings) -> Iterator[tuple[Run, float]]:
    """How each run's source ends beside the run with the next smaller share of replay."""
    runs = [run for f in findings.forgetting for run in f.runs]
    for run in runs:
        less = [
            other
            for other in runs
            if other.target == run.target and other.replay < run.replay and other.like(run)
        ]
        if less and run.source:
            last = max(less, key=lambda other: other.replay).curves[run.source].loss[-1]
            yield run, float(run.curves[run.source].loss[-1] - last)
