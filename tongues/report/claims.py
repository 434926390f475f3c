"""What others found of continuing, put to the test on these runs.

Each finding becomes a number with a 95 % interval for every target, and for every share of replay
where it is about that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import log10
from statistics import fmean

import numpy as np

from tongues.laws import Curve, Saving
from tongues.laws.observed import Run
from tongues.laws.targets import SETTLED
from tongues.report.findings import Findings, Pair, Transfer
from tongues.report.meeting import meetings, meetings_of_ends
from tongues.report.statistics import Estimate, Unit, over_sizes, slope
from tongues.report.verdicts import Cells, Claim, Judge, Part, above, below, parts, within

__all__ = ["claims"]

_STEADY = 0.05  # share saved, for ten times the compute, that is hardly a change
_LINEAR = 0.1  # around a power of 1
_NOTHING = 0.05  # of gamma
_ALIKE = 0.02  # of a loss
_FEWEST = 3  # points of a curve that tell a power
_EARLY = 0.1  # share of a run's tokens at which its source's loss is asked whether it rose
_ABOUT_EARLY = 0.05, 0.25  # the evaluation nearest to that must lie between these
_UNEQUAL = "runs and twins end after different numbers of tokens, each with its rate down"
_MID_SCHEDULE = "at equal compute on the target, learning rates are down to different degrees"


def claims(findings: Findings) -> list[Claim]:
    """Every finding that these runs can be asked about."""
    return [claim for claim in (*_of_learning(findings), *_of_replay(findings)) if claim.parts]


def _of_learning(findings: Findings) -> Iterator[Claim]:
    plain = [t for t in findings.transfers if not t.replay]

    def each(found: Callable[[Transfer], Estimate | None], judge: Judge) -> tuple[Part, ...]:
        """Without verdict where one of a pair is mid-schedule when the other ends."""
        return tuple(
            part
            for t in plain
            for part in parts(
                {(t.target, None): found(t)}, judge, "" if t.equally_long else _UNEQUAL
            )
        )

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
        parts({(t.target, None): t.by_ends for t in plain}, above),
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
        f"their power of scratch's tokens, 1 within {_LINEAR:g}{_without(plain)}",
        "",
        each(lambda t: over_sizes(_growth(t.pairs)), within(_LINEAR, of=1.0)),
    )
    yield Claim(
        "larger-transfers-more",
        "Larger models transfer more.",
        "change of the share transferred for ten times the parameters, at equal tokens",
        "points",
        each(lambda t: over_sizes(_larger(t.pairs)), above),
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
    for name, finding, which, met, reason in (
        (
            "targets-meet",
            "At equal compute on the target its loss is the same, whatever the replay.",
            "through training",
            meetings(findings.usual),
            _MID_SCHEDULE,
        ),
        (
            "targets-meet-by-ends",
            "The same between final losses alone.",
            "in runs of several lengths",
            meetings_of_ends(findings.usual),
            "",
        ),
    ):
        yield Claim(
            name,
            finding,
            f"loss beside that with the least replay, {which}, alike within {_ALIKE * 100:g} %",
            "%",
            parts(_cells((one.run, one.apart) for one in met), within(_ALIKE), reason),
        )
    curves = [
        (run, run.curves[run.source])
        for f in findings.forgetting
        for run in f.runs
        if run.source and f.replay
    ]
    start = [(run, float(curve.loss[0])) for run, curve in curves]
    early = [(run, loss) for run, curve in curves if (loss := _early(curve)) is not None]
    end = [(run, float(curve.loss[-1])) for run, curve in curves]
    at = f"{_EARLY * 100:g} % into the run"
    for name, finding, measure, after, before, judge in (
        (
            "source-rises",
            "Replayed, the source's loss first rises.",
            f"loss {at} less that at the start",
            early,
            start,
            above,
        ),
        ("source-falls", "Then it falls.", f"end less {at}", end, early, below),
        (
            "source-ends-below",
            "In the end it lies below its start.",
            "end less start",
            end,
            start,
            below,
        ),
    ):
        known = dict(before)
        cells = _cells((run, loss - known[run]) for run, loss in after if run in known)
        yield Claim(name, finding, measure, "nats per token", parts(cells, judge))
    yield Claim(
        "more-keeps-more",
        "The more replay, the less is forgotten.",
        "final loss on the source less that with the next smaller share",
        "nats per token",
        parts(_cells(_steps(findings)), below),
    )


def _cells(values: Iterable[tuple[Run, float]]) -> Cells:
    """One estimate for each target and share of replay, each from its own runs alone."""
    found: dict[tuple[str, float | None], list[tuple[Unit, float]]] = {}
    for run, value in values:
        found.setdefault((run.target, run.replay), []).append((run.unit, value))
    places = sorted(found, key=lambda place: (place[0], place[1] or 0.0))
    return {place: over_sizes(found[place]) for place in places}


def _early(curve: Curve) -> float | None:
    """The loss at a place fixed beforehand: a peak sought in the curve is one of noise too."""
    share = curve.tokens / curve.tokens[-1]
    near = int(np.argmin(np.abs(np.log(np.maximum(share, 1e-9) / _EARLY))))
    first, last = _ABOUT_EARLY
    return float(curve.loss[near]) if first <= share[near] <= last else None


def _by_compute(pairs: Sequence[Pair]) -> Iterator[tuple[float, float]]:
    """One point a size: seeds and lengths of a size are not independent of each other."""
    sizes: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        if pair.saved is not None:
            point = log10(pair.points[-1].compute_scratch), pair.saved
            sizes.setdefault(pair.cpt.shape, []).append(point)
    for points in sizes.values():
        yield fmean(x for x, _ in points), fmean(y for _, y in points)


def _past_warm_up(pair: Pair) -> list[Saving]:
    return [p for p in pair.points if p.tokens_scratch >= SETTLED * pair.scratch.tokens]


def _has_none(pair: Pair) -> bool:
    """Whether nothing was transferred somewhere past the warm-up, so that there is no power."""
    return any(point.transferred <= 0 for point in _past_warm_up(pair))


def _without(transfers: Sequence[Transfer]) -> str:
    """How many pairs have no power, which without them looks better than it is."""
    pairs = [pair for transfer in transfers for pair in transfer.pairs]
    count = sum(map(_has_none, pairs))
    return f"; {count} of {len(pairs)} pairs left out, with none at times" if count else ""


def _growth(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float]]:
    """The power of the tokens from scratch by which transferred data grow, past the warm-up."""
    for pair in pairs:
        if _has_none(pair):
            continue
        points = [(log10(p.tokens_scratch), log10(p.transferred)) for p in _past_warm_up(pair)]
        power = slope(points) if len(points) >= _FEWEST else None
        if power:
            yield pair.cpt.unit, power.mean


def _larger(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float]]:
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
                    yield one.cpt.unit, gain / log10(large / small)


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
