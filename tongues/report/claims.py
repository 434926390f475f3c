"""What others found of continuing, tested on these runs: each claim, its numbers and verdicts.

A claim becomes a number with a 95 % interval for every target, and for every share of replay where
it is about that. It holds where the whole interval is in the region that the claim names, and does
not hold where none of it is; all else is inconclusive.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import expm1, inf
from typing import Literal

from tongues.estimate import Estimate
from tongues.laws.observed import RunCurves
from tongues.report.findings import Findings, Outcome, rise
from tongues.report.measures import (
    EARLY,
    early_loss,
    has_no_power,
    nearness,
    next_sizes,
    replay_gaps,
    saved_by_size,
    transfer_powers,
)
from tongues.report.statistics import Unit, over_sizes, slope

__all__ = [
    "ABOVE",
    "BELOW",
    "Claim",
    "ClaimPart",
    "Region",
    "Verdict",
    "claims",
    "verdict_on",
    "within",
]

Verdict = Literal["holds", "does not hold", "inconclusive"]
Region = tuple[float, float]  # without its ends

ABOVE, BELOW = (0.0, inf), (-inf, 0.0)
_STEADY = 5.0  # points of the share saved, for ten times the compute, that are hardly a change
_LINEAR = 0.1  # around a power of 1
_NOTHING = 0.05  # of gamma
_ALIKE = 2.0  # per cent of a loss
_NATS = "nats per token"
_UNEQUAL = "runs and twins end after different numbers of tokens, each with its rate down"
_SATURATED = "in {} of {} pairs the base had that loss before its first step, so that all is saved"
_BOTH = "sizes are compared where both bases had that loss before their first step"
_NEITHER = "on both targets the base had that loss before its first step"
_TEXTS = {  # the claim, what is measured, in which unit
    "below-scratch": (
        "At equal compute CPT ends below training from scratch.",
        "scratch's loss less CPT's after as many tokens",
        _NATS,
    ),
    "saves": (
        "CPT comes to the same loss with less compute.",
        "share of scratch's compute saved, through training",
        "%",
    ),
    "saves-by-ends": (
        "The same between final losses alone.",
        "share saved between runs of several lengths",
        "%",
    ),
    "saving-lasts": (
        "The share saved hardly changes with compute.",
        f"change for ten times the compute, alike within {_STEADY:g}",
        "points",
    ),
    "transferred-grows": (
        "Effectively transferred data grow in proportion to the tokens.",
        f"their power of scratch's tokens, 1 within {_LINEAR:g}",
        "",
    ),
    "larger-transfers-more": (
        "Larger models transfer more.",
        "change of the share transferred for ten times the parameters, at equal tokens",
        "points",
    ),
    "gamma-cpt": (
        "On CPT, size and tokens act together: γ is above 0.",
        "γ of CPT's law, which builds on the one from scratch",
        "",
    ),
    "gamma-scratch": (
        "From scratch they do not: γ is about 0.",
        f"γ of the extended law, alike within {_NOTHING:g}",
        "",
    ),
    "nearer-gains": (
        "The nearer a target, the more is saved.",
        "share saved less that of the target named",
        "points",
    ),
    "forgets": (
        "Without replay the base languages are forgotten.",
        "final loss on the base language less the one at the start",
        _NATS,
    ),
    "targets-meet-by-ends": (
        "At equal compute on the target its loss is the same, whatever the replay.",
        f"final loss versus that without replay, alike within {_ALIKE:g} %",
        "%",
    ),
    "source-rises": (
        "Replayed, the loss on the base language first rises.",
        f"loss {EARLY * 100:g} % into the run less that at the start",
        _NATS,
    ),
    "source-falls": ("Then it falls.", f"end less {EARLY * 100:g} % into the run", _NATS),
    "source-ends-below": ("In the end it is below its start.", "end less start", _NATS),
    "more-keeps-more": (
        "The more replay, the less is forgotten.",
        "final loss on the base language less that with the next smaller share",
        _NATS,
    ),
}


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """A claim on one target, at one share of replay where it is about that.

    versus: the target it was compared with, if any. reason: why the number is inconclusive however
    narrow its interval, or what to know of it.
    """

    target: str
    replay: float | None
    value: Estimate
    verdict: Verdict
    versus: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of others, and its parts here.

    measure: what the numbers are. unit: of them, `%` or `points` (percentage points) for shares.
    """

    name: str
    finding: str
    measure: str
    unit: str
    parts: tuple[ClaimPart, ...]

    @property
    def verdict(self) -> str:
        """What of it holds, in a few words."""
        where: dict[str, list[str]] = {}
        for part in self.parts:
            share = "" if part.replay is None else f" at {part.replay * 100:.3g} %"
            where.setdefault(part.verdict, []).append(f"`{part.target}`{share}")
        if len(where) == 1:
            return next(iter(where))
        return "; ".join(f"{verdict}: {', '.join(places)}" for verdict, places in where.items())


def within(tolerance: float, of: float = 0.0) -> Region:
    """Equal to `of` but for the tolerance."""
    return of - tolerance, of + tolerance


def verdict_on(value: Estimate, region: Region) -> Verdict:
    """Whether the interval is in the region, outside of it, or neither."""
    if value.low is None or value.high is None:
        return "inconclusive"
    first, last = region
    if first < value.low and value.high < last:
        return "holds"
    return "does not hold" if value.high <= first or value.low >= last else "inconclusive"


def claims(findings: Findings) -> list[Claim]:
    """Every claim that these runs have a number for."""
    parts = _of_learning(findings) | _of_replay(findings)
    tested = [Claim(name, *texts, parts=tuple(parts[name])) for name, texts in _TEXTS.items()]
    return [claim for claim in tested if claim.parts]


def _part(
    target: str, value: Estimate, region: Region, reason: str = "", replay: float | None = None
) -> ClaimPart:
    verdict: Verdict = "inconclusive" if reason else verdict_on(value, region)
    return ClaimPart(target, replay, value, verdict, reason=reason)


def _of_learning(findings: Findings) -> dict[str, list[ClaimPart]]:
    plain = findings.plain

    def unequal(t: Outcome) -> str:
        return "" if t.equally_long else _UNEQUAL

    def saturated(t: Outcome) -> str:
        return _SATURATED.format(t.saturated, len(t.pairs)) if t.saturated else ""

    def all_saturated(t: Outcome) -> str:
        return "" if t.measured else saturated(t)

    def both_saturated(t: Outcome) -> str:
        return _BOTH if any(both for *_, both in next_sizes(t.pairs)) else ""

    def each(
        measure: Callable[[Outcome], Estimate | None],
        region: Region,
        *reasons: Callable[[Outcome], str],
        unit: float = 100.0,
    ) -> list[ClaimPart]:
        """Inconclusive where one of the reasons gives one."""
        values = [(t, value.times(unit)) for t in plain if (value := measure(t))]
        why = {t.target: next(filter(None, (reason(t) for reason in reasons)), "") for t in plain}
        return [_part(t.target, value, region, why[t.target]) for t, value in values]

    def gammas(strategy: str, law: str, region: Region) -> list[ClaimPart]:
        return [
            _part(target, Estimate(*entry.gamma, n=entry.n_runs), region, entry.doubt)
            for target, compared in findings.compared.items()
            for entry in compared.entries
            if (entry.strategy, entry.law) == (strategy, law) and entry.gamma
        ]

    def larger(t: Outcome) -> Estimate | None:
        return over_sizes((unit, change) for unit, change, _ in next_sizes(t.pairs))

    def growth(t: Outcome) -> Estimate | None:
        return over_sizes(transfer_powers(t.pairs))

    def lasting(t: Outcome) -> Estimate | None:
        return slope(saved_by_size(t.pairs))

    nearer: list[ClaimPart] = []
    for near, far, difference, both in nearness(plain):
        value, reason = difference.times(100.0), _NEITHER if both else ""
        verdict = "inconclusive" if reason else verdict_on(value, ABOVE)
        nearer.append(ClaimPart(near, None, value, verdict, far, reason))
    grown = each(growth, within(_LINEAR, of=1.0), unequal, saturated, unit=1.0)
    dropped = {t.target: sum(map(has_no_power, t.pairs)) for t in plain}
    grown = [
        replace(part, reason=f"{count} pairs left out, which transferred nothing at times")
        if (count := dropped[part.target]) and not part.reason
        else part
        for part in grown
    ]
    return {
        "below-scratch": each(lambda t: t.lead and t.lead.nats, ABOVE, unequal, unit=1.0),
        "saves": each(lambda t: t.saved, ABOVE, unequal, all_saturated),
        "saves-by-ends": each(lambda t: t.by_ends, ABOVE, all_saturated),
        "saving-lasts": each(lasting, within(_STEADY), unequal, saturated),
        "transferred-grows": grown,
        "larger-transfers-more": each(larger, ABOVE, unequal, saturated, both_saturated),
        "gamma-cpt": gammas("cpt", "cpt", ABOVE),
        "gamma-scratch": gammas("scratch", "extended", within(_NOTHING)),
        "nearer-gains": nearer,
        "forgets": [
            _part(o.target, change.nats, ABOVE)
            for o in findings.outcomes
            for change in o.rises.values()
            if not o.replay
        ],
    }


def _of_replay(findings: Findings) -> dict[str, list[ClaimPart]]:
    known = [(o.runs, lang) for o in findings.outcomes for lang in o.rises]
    replayed = [(run, lang) for runs, lang in known for run, _ in rise(runs, lang)]
    rises, falls, ends, steps = ([] for _ in range(4))
    for run, lang in replayed:
        loss = run.curves[lang].loss
        start, end, early = float(loss[0]), float(loss[-1]), early_loss(run, lang)
        if run.replay:
            ends.append((run, end - start))
        if run.replay and early is not None:
            rises.append((run, early - start))
            falls.append((run, end - early))
        less = [
            other
            for other, also in replayed
            if (also, other.target) == (lang, run.target)
            and other.replay < run.replay
            and other.like(run)
        ]
        if less:
            last = max(less, key=lambda other: other.replay).curves[lang].loss[-1]
            steps.append((run, end - float(last)))
    gaps = [(run, 100.0 * expm1(gap)) for run, gap in replay_gaps(findings.usual)]
    return {
        "targets-meet-by-ends": _by_replay(gaps, within(_ALIKE)),
        "source-rises": _by_replay(rises, ABOVE),
        "source-falls": _by_replay(falls, BELOW),
        "source-ends-below": _by_replay(ends, BELOW),
        "more-keeps-more": _by_replay(steps, BELOW),
    }


def _by_replay(values: Iterable[tuple[RunCurves, float]], region: Region) -> list[ClaimPart]:
    """A part for each target and share of replay, each from its own runs alone."""
    places: dict[tuple[str, float], list[tuple[Unit, float]]] = {}
    for run, value in values:
        places.setdefault((run.target, run.replay), []).append((run.unit, value))
    means = {place: over_sizes(places[place]) for place in sorted(places)}
    return [
        _part(target, mean, region, replay=replay)
        for (target, replay), mean in means.items()
        if mean
    ]
