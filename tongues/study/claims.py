"""What others found of continuing, tested on these runs: each claim, its numbers and verdicts.

A claim becomes a number with a 95 % interval for every target, and for every share of replay where
it is about that. It holds where the whole interval is in the region that the claim names, and does
not hold where none of it is; all else is inconclusive. Where the base had a loss before its first
step, all is saved there by definition, which measures nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import expm1, inf, log10
from statistics import fmean
from typing import Literal

import numpy as np

from tongues.estimate import Estimate
from tongues.laws.observed import RunCurves, curve_of_ends
from tongues.laws.targets import SETTLED
from tongues.significance.means import Unit, over_sizes, slope
from tongues.study.findings import Findings, Outcome, rise

__all__ = ["ABOVE", "BELOW", "Claim", "ClaimPart", "Region", "Verdict", "claims", "nearness"]
__all__ += ["replay_gaps", "verdict_on", "within"]

Verdict = Literal["holds", "does not hold", "inconclusive"]
Region = tuple[float, float]  # without its ends

ABOVE, BELOW = (0.0, inf), (-inf, 0.0)
_LINEAR = 0.1  # around a power of 1
_NOTHING = 0.05  # of gamma
_ALIKE = 2.0  # per cent of a loss
_FEWEST = 3  # points of a curve for a power
_EARLY = 0.1  # share of a run's tokens at which it is measured whether its base languages got worse
_ABOUT_EARLY = 0.05, 0.25  # the evaluation nearest to that must lie between these
# the name, the unit and the claim; below it what is measured
_TEXTS = f"""
below-scratch | nats per token | At equal compute CPT ends below training from scratch.
    | scratch's loss less CPT's after as many tokens
saves | % | CPT comes to the same loss with less compute.
    | share of scratch's compute saved, through training
transferred-grows | | Effectively transferred data grow in proportion to the tokens.
    | their power of scratch's tokens, 1 within {_LINEAR:g}
gamma-cpt | | On CPT, size and tokens act together: γ is above 0.
    | γ of CPT's law, which builds on the one from scratch
gamma-scratch | | From scratch they do not: γ is about 0.
    | γ of the extended law, alike within {_NOTHING:g}
nearer-gains | points | The nearer a target, the more is saved.
    | share saved less that of the target named
forgets | nats per token | Without replay the base languages are forgotten.
    | final loss on the base language less the one at the start
targets-meet-by-ends | % | At equal compute on the target its loss is the same, whatever the replay.
    | final loss versus that without replay, alike within {_ALIKE:g} %
source-rises | nats per token | Replayed, the loss on the base language first rises.
    | loss {_EARLY * 100:g} % into the run less that at the start
source-falls | nats per token | Then it falls.
    | end less {_EARLY * 100:g} % into the run
source-ends-below | nats per token | In the end it is below its start.
    | end less start
more-keeps-more | nats per token | The more replay, the less is forgotten.
    | final loss on the base language less that with the next smaller share
"""


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """A claim on one target, at one share of replay where it is about that.

    versus: the target it was compared with, if any. base_language: of several, the one it is about.
    reason: why the number is inconclusive however narrow its interval, or what to know of it.
    """

    target: str
    replay: float | None
    value: Estimate
    verdict: Verdict | Literal[""] = ""  # not tested yet
    versus: str = ""
    base_language: str = ""
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
            share += f" on `{part.base_language}`" if part.base_language else ""
            where.setdefault(part.verdict, []).append(f"`{part.target}`{share}")
        if len(where) == 1:
            return next(iter(where))
        return "; ".join(f"{verdict}: {', '.join(places)}" for verdict, places in where.items())


_Measure = Callable[[Findings], Iterable[ClaimPart]]


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
    tested: list[Claim] = []
    for text in _TEXTS.strip().replace("\n    ", " ").split("\n"):
        name, unit, finding, measure = (part.strip() for part in text.split("|"))
        region, numbers = _NUMBERS[name]
        parts = tuple(
            replace(part, verdict=part.verdict or verdict_on(part.value, region))
            for part in numbers(findings)
        )
        tested += [Claim(name, finding, measure, unit, parts)] if parts else []
    return tested


def _part(target: str, value: Estimate, doubt: str = "") -> ClaimPart:
    return ClaimPart(target, None, value, "inconclusive" if doubt else "", reason=doubt)


def _by_target(
    measure: Callable[[Outcome], Estimate | None],
    *doubts: Callable[[Outcome], str],
    unit: float = 100.0,
) -> _Measure:
    """A number for each target, of CPT without replay; the first doubt that there is counts."""

    def numbers(findings: Findings) -> Iterator[ClaimPart]:
        for outcome in findings.plain:
            if value := measure(outcome):
                doubt = next(filter(None, (doubt(outcome) for doubt in doubts)), "")
                yield _part(outcome.target, value.times(unit), doubt)

    return numbers


def _unequal(of: Outcome) -> str:
    return "" if of.equally_long else "runs and twins end after different numbers of tokens"


def _saturated(of: Outcome) -> str:
    where = f"in {of.saturated} of {len(of.pairs)} pairs the base had that loss before its first"
    return f"{where} step, so that all is saved" if of.saturated else ""


def _growth(findings: Findings) -> Iterator[ClaimPart]:
    """The power of the tokens from scratch by which transferred data grow, past the warm-up.

    Without the losses that the base had already, where it is 1 by definition; a pair that has no
    others keeps them.
    """
    for outcome in findings.plain:
        powers: list[tuple[Unit, float]] = []
        none = 0
        for pair in outcome.pairs:
            past = [p for p in pair.points if p.tokens_scratch >= SETTLED * pair.scratch.tokens]
            if any(point.transferred <= 0 for point in past):
                none += 1
                continue
            past = [p for p in past if pair.saturated or not p.whole]
            points = [(log10(p.tokens_scratch), log10(p.transferred)) for p in past]
            power = slope(points) if len(past) >= _FEWEST else None
            powers += [(pair.cpt.unit, power.value)] if power else []
        if mean := over_sizes(powers):
            note = f"{none} pairs left out, which transferred nothing at times" if none else ""
            part = _part(outcome.target, mean, _unequal(outcome) or _saturated(outcome))
            yield replace(part, reason=part.reason or note)


def _gammas(strategy: str, law: str) -> _Measure:
    return lambda findings: (
        _part(target, Estimate(*entry.gamma, n=entry.n_runs), entry.doubt)
        for target, compared in findings.compared.items()
        for entry in compared.entries
        if (entry.strategy, entry.law) == (strategy, law) and entry.gamma
    )


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


def _nearer(findings: Findings) -> Iterator[ClaimPart]:
    for near, far, difference, both in nearness(findings.plain):
        doubt = "on both targets the base had that loss before its first step" * both
        yield replace(_part(near, difference.times(100.0), doubt), versus=far)


def _by_replay(measure: Callable[[Findings], Iterable[tuple[RunCurves, float]]]) -> _Measure:
    """A number for each target and share of replay, each from its own runs alone."""

    def numbers(findings: Findings) -> Iterator[ClaimPart]:
        places: dict[tuple[str, float], list[tuple[Unit, float]]] = {}
        for run, value in measure(findings):
            places.setdefault((run.target, run.replay), []).append((run.unit, value))
        for target, replay in sorted(places):
            if mean := over_sizes(places[target, replay]):
                yield ClaimPart(target, replay, mean)

    return numbers


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


def _on_base(findings: Findings) -> list[tuple[RunCurves, str, dict[str, float]]]:
    """Runs by base language, with the losses on it at the start, early on and at the end.

    Early is a place fixed beforehand: a maximum of the curve would be one of noise too.
    """
    runs: list[tuple[RunCurves, str, dict[str, float]]] = []
    for outcome in findings.outcomes:
        for lang in outcome.rises:
            for run, _ in rise(outcome.runs, lang):
                curve = run.curves[lang]
                share = curve.tokens / curve.tokens[-1]
                near = int(np.argmin(np.abs(np.log(np.maximum(share, 1e-9) / _EARLY))))
                losses = {"start": float(curve.loss[0]), "end": float(curve.loss[-1])}
                if _ABOUT_EARLY[0] <= share[near] <= _ABOUT_EARLY[1]:
                    losses["early"] = float(curve.loss[near])
                runs.append((run, lang, losses))
    return runs


def _change(later: str, earlier: str) -> _Measure:
    return _by_replay(
        lambda findings: (
            (run, losses[later] - losses[earlier])
            for run, _, losses in _on_base(findings)
            if run.replay and {later, earlier} <= losses.keys()
        )
    )


def _steps(findings: Findings) -> Iterator[tuple[RunCurves, float]]:
    runs = _on_base(findings)
    for run, lang, losses in runs:
        less = [
            (other.replay, end["end"])
            for other, also, end in runs
            if (also, other.target) == (lang, run.target)
            and other.replay < run.replay
            and other.like(run)
        ]
        if less:
            yield run, losses["end"] - max(less, key=lambda one: one[0])[1]


_NUMBERS: Mapping[str, tuple[Region, _Measure]] = {
    "below-scratch": (ABOVE, _by_target(lambda o: o.lead and o.lead.nats, _unequal, unit=1.0)),
    "saves": (
        ABOVE,
        _by_target(lambda o: o.saved, _unequal, lambda o: "" if o.measured else _saturated(o)),
    ),
    "transferred-grows": (within(_LINEAR, of=1.0), _growth),
    "gamma-cpt": (ABOVE, _gammas("cpt", "cpt")),
    "gamma-scratch": (within(_NOTHING), _gammas("scratch", "extended")),
    "nearer-gains": (ABOVE, _nearer),
    "forgets": (
        ABOVE,
        lambda findings: (
            replace(
                _part(outcome.target, change.nats),
                base_language=lang if len(outcome.rises) > 1 else "",
            )
            for outcome in findings.outcomes
            if not outcome.replay
            for lang, change in outcome.rises.items()
        ),
    ),
    "targets-meet-by-ends": (
        within(_ALIKE),
        _by_replay(lambda f: ((r, 100.0 * expm1(gap)) for r, gap in replay_gaps(f.usual))),
    ),
    "source-rises": (ABOVE, _change("early", "start")),
    "source-falls": (BELOW, _change("end", "early")),
    "source-ends-below": (BELOW, _change("end", "start")),
    "more-keeps-more": (BELOW, _by_replay(_steps)),
}
