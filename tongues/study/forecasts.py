"""Where unfinished runs will end, forecast from their logs and from finished runs like them."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.files import read_lines
from tongues.laws.curves import LossCurve
from tongues.laws.forecast import forecast_loss
from tongues.recipe import Train
from tongues.runs import Run, find_runs, read_run
from tongues.states import RunState
from tongues.train.schedule import rate_at

__all__ = ["Forecaster", "read_loss_curve", "with_forecasts"]

_PILOTS = 4  # those most like the run
_EARLIEST = 0.3  # share of its steps before which no run is called hopeless
_KNOTS = 2000  # of a schedule, between which rates are lines
_SAME_BUDGET = 0.01  # of the compute


@dataclass(frozen=True, slots=True)
class _Finished:
    """A finished run."""

    record: Run
    curve: LossCurve


class Forecaster:
    """Forecasts runs of some places by the finished ones there; reads each finished run once."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = list(places)
        self._finished: dict[Path, _Finished] = {}
        self._skipped: set[Path] = set()

    def forecast(self, directory: Path) -> Estimate | None:
        """The held-out loss at the end, mean of what the run learns; None where it is too early.

        With no finished run of its role, which learns the same in the same way, the interval is
        wide.
        """
        with suppress(UserError, OSError, ValueError, KeyError):  # a log that is damaged
            record = read_run(directory)
            curve = read_loss_curve(directory, record)
            own = [run for run in self._known() if _role(run.record) == _role(record)]
            own.sort(key=lambda run: run.curve.distance(curve))
            return forecast_loss(curve, [run.curve for run in own[:_PILOTS]])
        return None

    def hopeless(self, directory: Path) -> str:
        """Why a run will not come near the best finished one of its role and compute; or empty."""
        record = read_run(directory)
        rivals = [run for run in self._known() if _same_budget(run.record, record)]
        if not rivals:
            return ""
        best = min(rivals, key=lambda run: run.curve.heldout[-1])
        share = read_loss_curve(directory, record).share
        forecast = self.forecast(directory) if share >= _EARLIEST else None
        if forecast is None or forecast.low is None or forecast.low <= best.curve.heldout[-1]:
            return ""
        return (
            f"stopped early: at {share:.0%} its final loss was forecast as "
            f"{forecast.value:.3f} [{forecast.low:.3f}, {forecast.high:.3f}], above "
            f"{best.curve.heldout[-1]:.3f} of {best.record.run}"
        )

    def _known(self) -> Sequence[_Finished]:
        for directory in find_runs(place for place in self._places if place.is_dir()):
            if directory in self._finished or directory in self._skipped:
                continue
            with suppress(UserError, OSError, ValueError, KeyError):
                record = read_run(directory)
                if record.status != "finished":
                    continue
                curve = read_loss_curve(directory, record)
                if len(curve.heldout):
                    self._finished[directory] = _Finished(record, curve)
                    continue
            self._skipped.add(directory)
        return list(self._finished.values())


def with_forecasts(states: Sequence[RunState], places: Iterable[Path]) -> list[RunState]:
    """The states of runs, those of unfinished ones with a forecast where there can be one."""
    forecaster = Forecaster(places)
    unfinished = ("running", "stopped", "stopped early", "failed")
    return [
        replace(state, forecast=forecaster.forecast(Path(state.directory)))
        if state.state in unfinished
        else state
        for state in states
    ]


def _role(record: Run) -> tuple[object, ...]:
    """What a run learns, and how."""
    return (record.tokens_fingerprint, record.strategy, record.targets, record.shares)


def _same_budget(one: Run, other: Run) -> bool:
    return _role(one) == _role(other) and abs(one.flops / other.flops - 1) < _SAME_BUDGET


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
