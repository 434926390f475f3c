"""One run, from random weights or from another run's, interrupted and resumed exactly."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tongues.errors import UserError
from tongues.files import only_one, write_text
from tongues.ranks import core_count
from tongues.roles import list_languages
from tongues.runs import FAILURE, Run, read_run, write_run
from tongues.tokens import Tokens, load_tokenizer, open_part, open_tokens
from tongues.train.base import base_fingerprint, find_base
from tongues.train.checkpoint import Checkpoints, Position, remove_passing
from tongues.train.engine.processes import Processes, join_processes, leave, lost_another
from tongues.train.engine.sharding import gather_model
from tongues.train.export import write_model
from tongues.train.loop import dealt, train_steps
from tongues.train.plan import Derived, RunPlan, derive
from tongues.train.progress import Progress
from tongues.train.record import make_record, open_directory, roll_back, run_fingerprint
from tongues.train.rules import check_batch, enough_memory
from tongues.train.start import (
    LocalRun,
    assemble,
    check_base,
    make_mixture,
    measure_speed,
    seen_by_base,
)
from tongues.train.step import Setup
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
    processes = join_processes("cuda" if torch.cuda.is_available() else "cpu")
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
    base = find_base(plan.base, workspace)
    here = LocalRun(
        plan=plan,
        tokens=tokens,
        base=base,
        lacked=check_base(plan, load_tokenizer(tokens.tokenizer_path), base) if base else None,
        directory=workspace / "runs" / plan.name,
        processes=processes,
        threads=plan.settings.threads or threads or max(1, core_count() // processes.local_count),
    )
    if here.threads > core_count():
        tell(f"caution: {here.threads} threads on {core_count()} cores wait for each other")
    derived = derive(plan, tokens.vocabulary_size, base)
    check_batch(derived.batch, plan.settings.context, processes.count)
    with ExitStack() as held:
        processes.once(lambda: held.enter_context(only_one(here.directory)))
        derived = _at_measured_speed(here, derived, tell)
        fresh = make_record(plan, derived, tokens, make_mixture(plan, tokens), base)
        if processes.once(lambda: open_directory(here.directory, fresh, rebuild)) == "finished":
            if processes.first:
                remove_passing(here.directory)  # a kill may have come between
            tell(f"{plan.name} is finished already")
            return here.directory
        for line in _beforehand(fresh, tokens, base, workspace):
            tell(line)
        run = read_run(here.directory)
        with enough_memory(plan.name, plan.settings, derived):
            assembled = assemble(here, derived, tell, run.engine, bool(run.surgery))
        _tell_changes(run.engine, assembled.engine, tell)
        run = replace(run, engine=assembled.engine, surgery=run.surgery or assembled.surgery)
        if processes.first:
            write_run(here.directory, run)
        tracker = plan.settings.track if processes.first else None
        with tracked(tracker, here.directory, plan.name) as track:

            def watch_and_track(progress: Progress) -> None:
                watch(progress)
                track()

            _go_on(assembled.setup, run, watch_and_track, tell)
    return here.directory


def _go_on(setup: Setup, run: Run, watch: Watch, tell: Tell) -> None:
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
            write_run(directory, replace(run, status=status))
            write_text(failure, error.what)
        raise
    if setup.plan.settings.hold:
        run = _as_dealt(run, setup, ended)
    model = gather_model(setup.scorer, processes)
    if model is not None:
        write_model(model, setup.tokens.path, run, directory / "model")
        seconds = round(ended.seconds, 3)
        write_run(directory, replace(run, status="finished", seconds=seconds))
        remove_passing(directory)


def _as_dealt(run: Run, setup: Setup, ended: Position) -> Run:
    """The record of a run that changed its shares, with those of all its tokens."""
    samples, epochs = dealt(setup, ended)
    shares = {lang: samples[lang] / sum(samples.values()) for lang in setup.plan.shares}
    replay = {lang: round(shares[lang], 9) for lang in setup.plan.settings.replay}
    return replace(run, shares=shares, replay=replay, epochs=epochs)


def _at_measured_speed(here: LocalRun, derived: Derived, tell: Tell) -> Derived:
    """The same, but where the budget is a time: as many tokens as it pays at a measured speed."""
    plan = here.plan
    if plan.settings.budget.seconds is None:
        return derived
    begun = _begun(here)
    if begun:
        speed = begun.tokens / plan.settings.budget.seconds
    else:
        with enough_memory(plan.name, plan.settings, derived):
            speed = measure_speed(here, derived, tell)
    return derive(plan, here.tokens.vocabulary_size, here.base, tokens_per_second=speed)


def _begun(here: LocalRun) -> Run | None:
    """The record of the run, where it began already."""
    if not (here.directory / "run.json").is_file():
        return None
    run = read_run(here.directory)
    mark = base_fingerprint(here.base)
    return run if run.fingerprint == run_fingerprint(here.plan, here.tokens, mark) else None


def _beforehand(run: Run, tokens: Tokens, base: Path | None, workspace: Path) -> list[str]:
    """What one should know of a run before it begins."""
    lines = [
        f"`{lang}` will be read {times:.3g} times"
        for lang, times in run.epochs.items()
        if times > 1
    ]
    scored = run.settings["evaluate"] or tokens.languages
    unknown = [lang for lang in run.roles.forgettable if lang not in scored]
    if unknown:
        lines.append(
            f"caution: no held-out text of {list_languages(f'`{lang}`' for lang in unknown)} is "
            "evaluated: how much the run forgets of the base's languages is not measured "
            "(forgetting_unmeasured)"
        )
    for lang, share in (seen_by_base(tokens, base, workspace) if base else {}).items():
        lines.append(
            f"caution: {share:.0%} of the groups held out of `{lang}` were not held out from "
            "the base, which may have learned them (held_out_seen)"
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
