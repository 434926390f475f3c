"""The state of every run of the store, read from its directory alone."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import changed_at, files_named, is_held, newest_lines, read_json
from tongues.core.pages.numbers import fixed, number
from tongues.core.quantities import show_count, show_seconds
from tongues.runs.record import FAILURE, PLANS, Run, find_runs, read_run

_CHECKPOINT = re.compile(r"^(?:step|milestone)-(\d+)$")
_LOGS = ("timing.jsonl", "metrics.jsonl", "evals.jsonl", "run.json")
_PLANNED = ("base", "strategy", "shape")  # of a run that is not begun
_LANGUAGES = 3  # whose losses the table shows
_INDENT = "\u00a0\u00a0"  # which HTML keeps


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of one run. What its record and logs do not show is None."""

    run: str  # its name in the store; the directory where the record is damaged
    directory: str
    state: Literal["waiting", "running", "stopped", "finished", "failed", "damaged"]
    age: float  # seconds since its last sign of life
    reason: str = ""  # of a failure or a damage
    step: int | None = None  # where it is; of a stopped run, where it resumes
    steps: int | None = None
    strategy: str | None = None
    shape: str | None = None
    parameters: int | None = None
    tokens: int | None = None  # of the whole run
    losses: dict[str, float] | None = None  # newest on held-out text, nats per token by language
    tokens_per_second: float | None = None
    seconds: float | None = None  # of training so far, over all sittings
    seconds_left: float | None = None  # of a run that runs, or would resume
    forecast: Estimate | None = None  # of the loss at its end, once that can be forecast


def states(places: Iterable[Path]) -> list[RunState]:
    """The state of each run at or below `places`, by path; a place without runs is a UserError.

    Those that a study means to train and has not begun are waiting.
    """
    places = list(places)
    found = {str(directory): state_of(directory) for directory in find_runs(places)}
    for folder in {path.parent for place in places for path in files_named(place, PLANS)}:
        found |= {state.directory: state for state in _not_begun(folder, found)}
    if not found:
        shown = ", ".join(map(str, places))
        raise UserError("there are no runs", where=shown, hint="`tongues train RECIPE` makes one")
    return [found[directory] for directory in sorted(found, key=Path)]


def _not_begun(folder: Path, begun: Mapping[str, RunState]) -> Iterator[RunState]:
    """The planned runs of a study that have no record yet; bases come first."""
    age = max(0.0, time.time() - changed_at(folder / PLANS))
    failed = {state.run for state in begun.values() if state.state == "failed"}
    try:
        plans = [(run, *map(plan.get, _PLANNED)) for run, plan in read_json(folder / PLANS).items()]
    except (OSError, ValueError, AttributeError) as error:
        why = f"{PLANS}: {error}; `tongues study` writes it again once it is removed"
        yield RunState(str(folder), str(folder), "damaged", age, why)
        return
    for run, base, strategy, shape in plans:
        directory = folder / run.rpartition("/")[2]
        if str(directory) in begun:
            continue
        why = _reason(directory)
        if why:
            failed.add(run)
        elif base in failed:
            why = f"the run it continues, {base}, failed"
        yield RunState(
            run=run,
            directory=str(directory),
            state="failed" if run in failed else "waiting",
            age=age,
            reason=why,
            strategy=strategy,
            shape=shape,
        )


def state_of(directory: Path) -> RunState:
    """The state of the run in `directory`: its record, the ends of its logs, and who holds it."""
    place = str(directory)
    alive = max(changed_at(directory / name) for name in _LOGS)  # its newest sign of life
    age = max(0.0, time.time() - alive) if alive else 0.0
    try:
        record = read_run(directory)
        newest = list(newest_lines(directory / "evals.jsonl"))[::-1]
        return RunState(
            run=record.run,
            directory=place,
            age=age,
            steps=record.steps,
            strategy=record.strategy,
            shape=record.shape,
            parameters=record.params["total"],
            tokens=record.tokens,
            losses={
                row["lang"]: row["loss"] for row in newest if row["step"] == newest[-1]["step"]
            },
            **_status(directory, record),
        )
    except UserError as error:
        return RunState(place, place, "damaged", age, f"`run.json` {error.what}; {error.hint}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
        return RunState(place, place, "damaged", age, f"a log: {reason}")


def _status(directory: Path, record: Run) -> dict[str, Any]:
    steps, why, finished = record.steps, _reason(directory), record.status == "finished"
    timing = next(newest_lines(directory / "timing.jsonl"), {"step": 0, "seconds": 0.0})
    done, seconds = timing["step"], timing["seconds"]
    if finished:
        state, step, why = "finished", steps, ""
    elif is_held(directory) or "trainer" in (record.engine or {}):  # imported before its end
        state, step, why = "running", done, ""
    else:  # it would resume from its newest checkpoint
        state = "failed" if record.status in ("failed", "diverged") or why else "stopped"
        names = (path.name for path in (directory / "checkpoints").glob("*"))
        saved = (_CHECKPOINT.match(name) for name in names)
        step = max((int(match[1]) for match in saved if match), default=0)
    status = {"state": state, "step": step, "reason": why}
    if done and seconds:
        status |= {
            "seconds": record.seconds or seconds,
            "tokens_per_second": done * record.tokens / steps / seconds,
            "seconds_left": None if finished else (steps - step) * seconds / done,
        }
    return status


def states_table(states: Sequence[RunState]) -> list[dict[str, str]]:
    """A row of text a run, below a row for its study; columns without a word are left out."""
    rows: list[dict[str, str]] = []
    study = ""
    for state in states:
        row = _row(state)
        of_study, _, name = state.run.rpartition("/")
        if state.state != "damaged" and of_study != study:
            study = of_study
            rows += [dict.fromkeys(row, "") | {"run": f"{study}/"}] if study else []
        rows.append(row | {"run": f"{_INDENT}{name}"} if of_study and of_study == study else row)
    kept = [column for column in _row(states[0]) if any(row[column] for row in rows)]
    return [{column: row[column] for column in kept} for row in rows]


def study_lines(states: Sequence[RunState]) -> list[str]:
    """A line a study, such as `demo: 28 runs: 25 finished, 3 running`."""
    studies: dict[str, Counter[str]] = {}
    for state in states:
        study = state.run.rpartition("/")[0] if state.state != "damaged" else ""
        if study:
            studies.setdefault(study, Counter())[state.state] += 1
    return [
        f"{study}: {counts.total()} runs: "
        + ", ".join(f"{count} {state}" for state, count in counts.most_common())
        for study, counts in studies.items()
    ]


def _row(state: RunState) -> dict[str, str]:
    losses = [f"{lang} {loss:.3f}" for lang, loss in (state.losses or {}).items()]
    more = f" +{len(losses) - _LANGUAGES}" if len(losses) > _LANGUAGES else ""
    at = left = tokens = ""
    if state.steps and state.state not in ("finished", "damaged"):
        at = f"{state.step}/{state.steps}"
    if state.state == "running" and state.seconds_left is not None:
        left = show_seconds(state.seconds_left)
    if state.tokens is not None and state.step is not None and state.steps:
        tokens = show_count(state.tokens * state.step // state.steps)
    return {
        "run": state.run,
        "state": state.state,
        "step": at,
        "strategy": state.strategy or "",
        "shape": state.shape or "",
        "tokens": tokens,
        "held-out nats/token": " ".join(losses[:_LANGUAGES]) + more,
        "forecast at the end": number(state.forecast, fixed(3)) if state.forecast else "",
        "tokens/s": show_count(state.tokens_per_second) if state.tokens_per_second else "",
        "left": left,
        "age": show_seconds(state.age),
        "why": state.reason.strip().rpartition("\n")[2].strip(),
    }


def _reason(directory: Path) -> str:
    try:
        return (directory / FAILURE).read_text(encoding="utf-8")
    except OSError:
        return ""
