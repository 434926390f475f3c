"""What others found of continuing, put to the test on these runs.

Each finding becomes a number with a 95 % interval for every target, and for every share of replay
where it is about that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tongues.estimate import Estimate
from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.report.findings import Findings, Nearer, Transfer
from tongues.report.growth import by_compute, growth, has_none, larger, larger_saturated
from tongues.report.meeting import meetings, meetings_of_ends
from tongues.report.statistics import Unit, over_sizes, slope
from tongues.report.verdicts import Cells, Claim, Judge, Part, above, below, parts, within

__all__ = ["claims"]

_STEADY = 5.0  # points of the share saved, for ten times the compute, that are hardly a change
_LINEAR = 0.1  # around a power of 1
_NOTHING = 0.05  # of gamma
_ALIKE = 2.0  # per cent of a loss
_EARLY = 0.1  # share of a run's tokens at which its source's loss is asked whether it rose
_ABOUT_EARLY = 0.05, 0.25  # the evaluation nearest to that must lie between these
_UNEQUAL = "runs and twins end after different numbers of tokens, each with its rate down"
_BOTH = "sizes are compared where both source models had that loss before their first step"
_NEITHER = "on both targets the source model had that loss before its first step"
_MID_SCHEDULE = "at equal compute on the target, learning rates are down to different degrees"


def claims(findings: Findings) -> list[Claim]:
    """Every finding that these runs can be asked about."""
    return [claim for claim in (*_of_learning(findings), *_of_replay(findings)) if claim.parts]


def _of_learning(findings: Findings) -> Iterator[Claim]:
    plain = [t for t in findings.transfers if not t.replay]

    def each(
        found: Callable[[Transfer], Estimate | None], judge: Judge, *reasons: Callable[..., str]
    ) -> tuple[Part, ...]:
        """Without verdict where one of the reasons, asked about a transfer, says why."""
        return tuple(
            part
            for t in plain
            for part in parts(
                {(t.target, None): found(t)}, judge, next(filter(None, (r(t) for r in reasons)), "")
            )
        )

    yield Claim(
        "below-scratch",
        "At equal compute CPT ends below training from scratch.",
        "scratch's loss less CPT's after as many tokens",
        "nats per token",
        each(lambda t: t.ahead, above, _unequal),
    )
    yield Claim(
        "saves",
        "CPT comes to the same loss with less compute.",
        "share of scratch's compute saved, through training",
        "%",
        each(lambda t: _hundredfold(t.saved), above, _unequal, _all_saturated),
    )
    yield Claim(
        "saves-by-ends",
        "The same between final losses alone.",
        "share saved between runs of several lengths",
        "%",
        each(lambda t: _hundredfold(t.by_ends), above, _all_saturated),
    )
    yield Claim(
        "saving-lasts",
        "The share saved hardly changes with compute.",
        f"change for ten times the compute, alike within {_STEADY:g}",
        "points",
        each(
            lambda t: _hundredfold(slope(list(by_compute(t.pairs)))),
            within(_STEADY),
            _unequal,
            _saturated,
        ),
    )
    yield Claim(
        "transferred-grows",
        "Effectively transferred data grow in proportion to the tokens.",
        f"their power of scratch's tokens, 1 within {_LINEAR:g}{_without(plain)}",
        "",
        each(lambda t: over_sizes(growth(t.pairs)), within(_LINEAR, of=1.0), _unequal, _saturated),
    )
    yield Claim(
        "larger-transfers-more",
        "Larger models transfer more.",
        "change of the share transferred for ten times the parameters, at equal tokens",
        "points",
        each(
            lambda t: _hundredfold(over_sizes(larger(t.pairs))),
            above,
            _unequal,
            _saturated,
            _sizes_saturated,
        ),
    )
    yield Claim(
        "gamma-cpt",
        "On CPT, size and tokens act together: γ is above 0.",
        "γ of CPT's law, which stands on the one from scratch",
        "",
        tuple(_gammas(findings, "cpt", "cpt", above)),
    )
    yield Claim(
        "gamma-scratch",
        "From scratch they do not: γ is about 0.",
        f"γ of the extended law, alike within {_NOTHING:g}",
        "",
        tuple(_gammas(findings, "scratch", "extended", within(_NOTHING))),
    )
    yield Claim(
        "nearer-gains",
        "The nearer a target, the more is saved.",
        "share saved less that of the target named",
        "points",
        tuple(map(_nearer, findings.nearer)),
    )
    yield Claim(
        "forgets",
        "Without replay the source is forgotten.",
        "final loss on the source less the one at the start",
        "nats per token",
        parts({(f.target, None): f.rise for f in findings.forgetting if not f.replay}, above),
    )


def _hundredfold(share: Estimate | None) -> Estimate | None:
    """A share in per cent."""
    return share.times(100.0) if share else None


def _unequal(transfer: Transfer) -> str:
    """One of a pair is mid-schedule when the other ends."""
    return "" if transfer.equally_long else _UNEQUAL


def _saturated(transfer: Transfer) -> str:
    """What saves all cannot save more."""
    if not transfer.saturated:
        return ""
    return (
        f"in {transfer.saturated} of {len(transfer.pairs)} pairs the source model had that loss "
        "before its first step, so that all is saved"
    )


def _all_saturated(transfer: Transfer) -> str:
    return "" if transfer.measured else _saturated(transfer)


def _sizes_saturated(transfer: Transfer) -> str:
    return _BOTH if larger_saturated(transfer.pairs) else ""


def _nearer(nearer: Nearer) -> Part:
    value = nearer.difference.times(100.0)
    reason = _NEITHER if nearer.saturated else ""
    verdict = "cannot be told" if reason else above(value)
    return Part(nearer.near, None, value, verdict, nearer.far, reason)


def _without(transfers: Sequence[Transfer]) -> str:
    """How many pairs have no power, which without them looks better than it is."""
    pairs = [pair for transfer in transfers for pair in transfer.pairs]
    count = sum(map(has_none, pairs))
    return f"; {count} of {len(pairs)} pairs left out, with none at times" if count else ""


def _gammas(findings: Findings, strategy: str, law: str, judge: Judge) -> Iterator[Part]:
    """Without verdict where too little stands behind the fit."""
    for target, compared in findings.compared.items():
        for entry in compared.entries:
            if (entry.strategy, entry.law) == (strategy, law) and entry.gamma:
                value = Estimate(*entry.gamma, n=entry.n_runs)
                yield from parts({(target, None): value}, judge, entry.doubt)


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
            f"loss beside that with the least replay, {which}, alike within {_ALIKE:g} %",
            "%",
            parts(
                _cells((one.run, 100.0 * np.expm1(one.apart)) for one in met),
                within(_ALIKE),
                reason,
            ),
        )
    curves = [
        (run, f.lang, run.curves[f.lang]) for f in findings.forgetting for run in f.runs if f.replay
    ]
    start = {(run, lang): float(curve.loss[0]) for run, lang, curve in curves}
    early = {
        (run, lang): loss for run, lang, curve in curves if (loss := _early(curve)) is not None
    }
    end = {(run, lang): float(curve.loss[-1]) for run, lang, curve in curves}
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
        both = after.keys() & before.keys()
        cells = _cells((place[0], after[place] - before[place]) for place in after if place in both)
        yield Claim(name, finding, measure, "nats per token", parts(cells, judge))
    yield Claim(
        "more-keeps-more",
        "The more replay, the less is forgotten.",
        "final loss on the source less that with the next smaller share",
        "nats per token",
        parts(_cells(_steps(findings)), below),
    )


def _cells(values: Iterable[tuple[RunCurves, float]]) -> Cells:
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


def _steps(findings: Findings) -> Iterator[tuple[RunCurves, float]]:
    """How each run's source ends beside the run with the next smaller share of replay."""
    runs = [(run, f.lang) for f in findings.forgetting for run in f.runs]
    for run, lang in runs:
        less = [
            other
            for other, also in runs
            if also == lang
            and other.target == run.target
            and other.replay < run.replay
            and other.like(run)
        ]
        if less:
            last = max(less, key=lambda other: other.replay).curves[lang].loss[-1]
            yield run, float(run.curves[lang].loss[-1] - last)
