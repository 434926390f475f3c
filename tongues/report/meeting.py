"""Whether losses on a target under different shares of replay meet at equal compute on it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tongues.laws.observed import RunCurves, curve_of_ends
from tongues.laws.targets import SETTLED

__all__ = ["Meeting", "meetings", "meetings_of_ends", "same_but_replay"]

_LEVELS = 9  # amounts of compute at which two curves are compared
_FEWEST = 1.2  # factor between the first and last of them, at least


@dataclass(frozen=True, slots=True)
class Meeting:
    """By how much, in log, the loss of a run lies above that of one with less replay.

    At equal compute on the target, which for one size means after as many tokens of it.
    """

    run: RunCurves
    apart: float


def same_but_replay(runs: Iterable[RunCurves]) -> list[tuple[RunCurves, ...]]:
    """Continued runs in groups that differ in their replay alone, least replay first."""
    groups: list[list[RunCurves]] = []
    for run in sorted(runs, key=lambda run: run.replay):
        if run.strategy == "cpt" and run.lang in run.seen:
            alike = (g for g in groups if g[0].target == run.target and g[0].like(run))
            found = next(alike, None)
            if found is None:
                groups.append([run])
            elif run.replay not in [other.replay for other in found]:
                found.append(run)
    return [tuple(group) for group in groups if len(group) > 1]


def meetings(runs: Iterable[RunCurves]) -> list[Meeting]:
    """Every run beside the one that differs from it in having the least replay.

    A mean from where both are past their warm-up up to where the first of them ends.
    """
    return [
        met
        for least, *others in same_but_replay(runs)
        for run in others
        if (met := _through_training(run, least))
    ]


def meetings_of_ends(runs: Iterable[RunCurves]) -> list[Meeting]:
    """The same of final losses alone, where no loss is one of mid-schedule.

    Each run with replay beside the ends of those without, where these are of several lengths and
    tell what one ends with after as many tokens of the target.
    """
    continued = [run for run in runs if run.strategy == "cpt" and run.lang in run.seen]
    found: list[Meeting] = []
    for run in continued:
        place = run.target, run.unit, run.base_tokens
        plain = [
            r for r in continued if (r.target, r.unit, r.base_tokens) == place and not r.replay
        ]
        ends = curve_of_ends(plain) if run.replay else None
        tokens = run.seen[run.lang][-1:]
        if ends and ends.tokens[0] <= tokens[0] <= ends.tokens[-1]:
            without = _log_loss(ends.tokens, ends.loss, tokens)
            found.append(Meeting(run, float(np.log(run.learned.loss[-1]) - without[0])))
    return found


def _through_training(run: RunCurves, least: RunCurves) -> Meeting | None:
    own, other = run.seen[run.lang], least.seen[run.lang]
    first, last = SETTLED * max(own[-1], other[-1]), min(own[-1], other[-1])
    if last < _FEWEST * first:
        return None
    levels = np.geomspace(first, last, _LEVELS)
    with_replay = _log_loss(own, run.learned.loss, levels)
    return Meeting(run, float((with_replay - _log_loss(other, least.learned.loss, levels)).mean()))


def _log_loss(tokens: np.ndarray, loss: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Between evaluations along straight lines in logarithms."""
    late = tokens > 0
    return np.interp(np.log(levels), np.log(tokens[late]), np.log(loss[late]))
