"""Where unfinished runs will end, forecast from their logs and from finished runs like them."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import read_lines
from tongues.laws.curves import LossCurve
from tongues.laws.forecast import forecast_loss
from tongues.recipe import Train
from tongues.runs.record import Run, find_runs, read_run
from tongues.runs.states import RunState
from tongues.train.schedule import rate_at

_PILOTS = 4  # those most like the run
_KNOTS = 2000  # of a schedule, between which rates are lines


class Forecaster:
    """Forecasts runs of some places by those that were finished there when it was made."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._finished: dict[Path, Run] = {}
        for place in find_runs(place for place in places if place.is_dir()):
            with suppress(UserError):
                record = read_run(place)
                if record.status == "finished" and "budget" in record.settings:  # rates are known
                    self._finished[place] = record
        self._curves: dict[Path, LossCurve] = {}

    def forecast(self, directory: Path) -> Estimate | None:
        """The held-out loss at the end, mean of what the run learns; None where it is too early.

        With no finished run of its role, which learns the same in the same way, the interval is
        wide.
        """
        with suppress(UserError, OSError, ValueError, KeyError):  # a log that is damaged
            record = read_run(directory)
            role = role_of(record)
            pilots = [place for place, other in self._finished.items() if role_of(other) == role]
            pilots.sort(key=lambda place: distance(self._finished[place], record))
            curves = [self._curve(place) for place in pilots[:_PILOTS]]
            return forecast_loss(read_loss_curve(directory, record), curves)
        return None

    def _curve(self, place: Path) -> LossCurve:
        if place not in self._curves:
            self._curves[place] = read_loss_curve(place, self._finished[place])
        return self._curves[place]


def distance(one: Run, other: Run) -> float:
    """How unlike two runs are in size, batch and tokens: the sum of the logarithms of ratios."""
    ratios = (one.params["total"] / other.params["total"], one.batch / other.batch)
    return sum(abs(math.log(ratio)) for ratio in (*ratios, one.tokens / other.tokens))


def with_forecasts(states: Sequence[RunState], places: Iterable[Path]) -> list[RunState]:
    """The states of runs, those of unfinished ones with a forecast where there can be one."""
    forecaster = Forecaster(places)
    return [
        replace(state, forecast=forecaster.forecast(Path(state.directory)))
        if state.state in ("running", "stopped", "failed")
        else state
        for state in states
    ]


def role_of(record: Run) -> tuple[object, ...]:
    """What a run learns, and how."""
    return (record.tokens_fingerprint, record.strategy, record.targets, record.shares)


def read_loss_curve(directory: Path, record: Run) -> LossCurve:
    """The logs of a run; held out, the mean over the languages it learns."""
    names = record.settings.keys() & Train.model_fields.keys()
    settings = Train.model_validate({name: record.settings[name] for name in names})
    steps, peak = np.arange(record.steps), record.learning_rate
    knots = np.unique(np.linspace(0, record.steps - 1, _KNOTS).astype(int))
    rates = [rate_at(int(step), record.steps, peak, settings) for step in knots]
    logged = list(read_lines(directory / "metrics.jsonl"))
    ends = np.array([row["step"] for row in logged], dtype=float)
    by_step: dict[int, list[float]] = {}
    for row in read_lines(directory / "evals.jsonl"):
        if row["lang"] in record.targets and row["step"]:
            by_step.setdefault(row["step"], []).append(row["loss"])
    return LossCurve(
        steps=(ends + np.concatenate([[0.0], ends[:-1]])) / 2,  # each loss is a mean since the last
        losses=np.array([row["loss"] for row in logged]),
        rates=np.interp(steps, knots, rates),
        params=record.params["total"],
        batch=record.batch,
        heldout_steps=np.array(list(by_step), dtype=float),
        heldout=np.array([np.mean(losses) for losses in by_step.values()]),
    )
