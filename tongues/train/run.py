"""One run, from random weights or from another run's, interrupted and resumed exactly."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from tongues.errors import UserError
from tongues.files import only_one, write_text
from tongues.ranks import core_count
from tongues.runs import FAILURE, Record, read_record, write_record
from tongues.tokens import Tokens, load_tokenizer, open_part, open_tokens
from tongues.train.assemble import Task, assemble, make_mixture, measure_speed
from tongues.train.checkpoint import Checkpoints, Position, remove_passing
from tongues.train.directory import find_parent, open_directory, roll_back
from tongues.train.engine.processes import Processes, join, leave, lost_another
from tongues.train.engine.sharding import gather
from tongues.train.export import write_model
from tongues.train.fingerprints import parent_fingerprint, run_fingerprint
from tongues.train.loop import dealt, train_steps
from tongues.train.plan import Derived, RunPlan, derive
from tongues.train.progress import Progress
from tongues.train.record import make_record
from tongues.train.rules import check_batch, enough_memory
from tongues.train.setup import Setup
from tongues.train.start import check_parent, seen_by_parent
from tongues.train.watch import check_tracker, tracked

__all__ = ["train"]

Tell = Callable[[str], None]
Watch = Callable[[Progress], None]


def train(
    plan: RunPlan,
    workspace: Path,
    *,
    watch: Watch = lambda progress: None,
    tell: Tell = lambda line: None,
    threads: int | None = None,
    rebuild: bool = False,
) -> Path:
    """Train the run of `plan` in `workspace` and return its directory.

    A finished run with the same fingerprint is left as it is; an unfinished one goes on from its
    newest whole checkpoint; one with another fingerprint is a UserError unless `rebuild`. It
    computes on `threads` threads (all cores by default) when the recipe names no number. Started
    by torchrun, all its processes call this and train the one run together.
    """
    check_tracker(plan.settings.track)
    processes = join("cuda" if torch.cuda.is_available() else "cpu")
    if not processes.first:
        watch, tell = _silent, _silent
    try:
        directory = _train(plan, workspace, processes, watch, tell, threads, rebuild)
        leave(processes)
        return directory
    except RuntimeError as error:
        if processes.count > 1 and lost_another(error):
            what, hint = "another process of this run ended", "the same command goes on"
            raise UserError(what, where=plan.name, hint=hint) from None
        raise


def _train(
    plan: RunPlan,
    workspace: Path,
    processes: Processes,
    watch: Watch,
    tell: Tell,
    threads: int | None,
    rebuild: bool,
) -> Path:
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    if plan.part:
        tokens = open_part(tokens, plan.part)
    parent = find_parent(plan.parent, workspace)
    task = Task(
        plan=plan,
        tokens=tokens,
        parent=parent,
        lacked=check_parent(plan, load_tokenizer(tokens.tokenizer_path), parent)
        if parent
        else None,
        directory=workspace / "runs" / plan.name,
        processes=processes,
        threads=plan.settings.threads or threads or max(1, core_count() // processes.local_count),
    )
    if task.threads > core_count():
        tell(f"caution: {task.threads} threads on {core_count()} cores wait for each other")
    _divides(task)
    with ExitStack() as held:
        processes.once(lambda: held.enter_context(only_one(task.directory)))
        derived = _derived(task, tell)
        fresh = make_record(plan, derived, tokens, make_mixture(plan, tokens), parent)
        if processes.once(lambda: open_directory(task.directory, fresh, rebuild)) == "finished":
            if processes.first:
                remove_passing(task.directory)  # a kill may have come between
            tell(f"{plan.name} is finished already")
            return task.directory
        for line in _beforehand(fresh, tokens, parent, workspace):
            tell(line)
        record = read_record(task.directory)
        with enough_memory(plan.name, plan.settings, derived):
            assembled = assemble(task, derived, tell, record["engine"], bool(record["surgery"]))
        _tell_changes(record["engine"], assembled.engine, tell)
        record["engine"] = assembled.engine
        record["surgery"] = record["surgery"] or assembled.surgery
        if processes.first:
            write_record(task.directory, record)
        tracker = plan.settings.track if processes.first else None
        with tracked(tracker, task.directory, plan.name) as track:

            def watch_and_track(progress: Progress) -> None:
                watch(progress)
                track()

            _go_on(assembled.setup, record, watch_and_track, tell)
    return task.directory


def _go_on(setup: Setup, record: Record, watch: Watch, tell: Tell) -> None:
    """Train from the newest checkpoint, or the start, to the end; leave the model."""
    directory, processes = setup.directory, setup.processes
    checkpoints = Checkpoints(
        directory / "checkpoints",
        setup.scorer,
        setup.optimizer,
        processes,
        setup.plan.settings.keep,
    )
    anchors = Checkpoints(directory / "anchors", setup.scorer, setup.optimizer, processes, keep=2)
    position, damaged = checkpoints.load()
    for place in damaged:
        tell(f"{place} is damaged and passed over")
    if position:
        tell(f"{setup.plan.name} goes on from step {position.step} of {setup.derived.steps}")
    processes.once(lambda: roll_back(directory, position.step if position else -1))
    failure = directory / FAILURE
    failure.unlink(missing_ok=True)
    try:
        with enough_memory(setup.plan.name, setup.plan.settings, setup.derived):
            ended = train_steps(setup, checkpoints, anchors, position, watch, tell)
    except UserError as error:
        if processes.first:
            status = "diverged" if error.code == "spike" else "failed"
            write_record(directory, {**record, "status": status})
            write_text(failure, error.what)
        raise
    if setup.plan.settings.hold:
        record = _as_dealt(record, setup, ended)
    model = gather(setup.scorer, processes)
    if model is not None:
        write_model(model, setup.tokens.path, record, directory / "model")
        seconds = round(ended.seconds, 3)
        write_record(directory, {**record, "status": "finished", "seconds": seconds})
        remove_passing(directory)


def _as_dealt(record: Record, setup: Setup, ended: Position) -> Record:
    """The record of a run that changed its shares, with those of all its tokens."""
    samples, epochs = dealt(setup, ended)
    shares = {lang: samples[lang] / sum(samples.values()) for lang in setup.plan.shares}
    replay = sum(shares[lang] for lang in setup.plan.settings.replay)
    return {**record, "shares": shares, "replay": round(replay, 9), "epochs": epochs}


def _divides(task: Task) -> None:
    """Refuse a batch that the processes cannot share out evenly."""
    batch = derive(task.plan, task.tokens.vocabulary_size, task.parent).batch
    check_batch(batch, task.plan.settings.context, task.processes.count)


def _derived(task: Task, tell: Tell) -> Derived:
    """The numbers of the run; of one whose budget is a time by what was or is now measured."""
    plan, speed = task.plan, None
    if plan.settings.budget.seconds is not None:
        begun = _begun(task)
        tokens = begun["tokens"] / plan.settings.budget.seconds if begun else None
        guessed = derive(plan, task.tokens.vocabulary_size, task.parent)
        with enough_memory(plan.name, plan.settings, guessed):
            speed = tokens or measure_speed(task, tell)
    return derive(plan, task.tokens.vocabulary_size, task.parent, tokens_per_second=speed)


def _begun(task: Task) -> Record | None:
    """The record of the run, where it began already."""
    if not (task.directory / "run.json").is_file():
        return None
    record = read_record(task.directory)
    origin = parent_fingerprint(task.parent)
    same = record["fingerprint"] == run_fingerprint(task.plan, task.tokens, origin)
    return record if same else None


def _beforehand(record: Record, tokens: Tokens, parent: Path | None, workspace: Path) -> list[str]:
    """What one should know of a run before it begins."""
    lines = [
        f"`{lang}` will be read {times:.3g} times"
        for lang, times in record["epochs"].items()
        if times > 1
    ]
    for lang, share in (seen_by_parent(tokens, parent, workspace) if parent else {}).items():
        lines.append(
            f"caution: {share:.0%} of the groups held out of `{lang}` were not held out from "
            "the parent, which may have learned them (held_out_seen)"
        )
    return lines


def _tell_changes(before: dict[str, Any] | None, now: dict[str, Any], tell: Tell) -> None:
    """Say what is computed otherwise than in the sitting before."""
    for key, value in now.items():
        if before and before.get(key) != value:
            tell(
                f"{key} was {before.get(key)} and is {value} now: from here on the run is the same "
                "within rounding, not to the last digit"
            )


def _silent(said: object) -> None:
    pass
