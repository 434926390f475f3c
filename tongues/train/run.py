"""One run, from random weights or from another run's, interrupted and resumed exactly."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from tongues.core.errors import UserError
from tongues.core.files import only_one, write_text
from tongues.models.token_map import TokenMap
from tongues.runs.record import FAILURE, RECIPE, Run, read_run, write_run
from tongues.text.tokens import Tokens
from tongues.train import words
from tongues.train.base import base_fingerprint
from tongues.train.base_tokens import seen_by_base
from tongues.train.checkpoint import Checkpoints, remove_passing
from tongues.train.engine.processes import join_processes, together
from tongues.train.engine.sharding import gather_layers, is_sharded
from tongues.train.export import write_model
from tongues.train.initialize import initialize
from tongues.train.loop import samples_and_epochs, train_steps
from tongues.train.parts import gather_parts, write_adapter
from tongues.train.plan import derive
from tongues.train.planned import Derived, RunPlan
from tongues.train.progress import Progress
from tongues.train.record import make_record, open_directory, roll_back, run_fingerprint
from tongues.train.rules import check_batch, enough_memory
from tongues.train.start import LocalRun, assemble, make_mixture, measure_speed, open_run
from tongues.train.step import Setup
from tongues.train.trackers import TRACKERS, tracked

Say = Callable[[str], None]
Watch = Callable[[Progress], None]


def train(
    plan: RunPlan,
    workspace: Path,
    *,
    watch: Watch = lambda progress: None,
    tell: Say = lambda line: None,
    threads: int | None = None,
    overwrite: bool = False,
    recipe: str = "",
) -> Path:
    """Train the run of `plan` in `workspace` and return its directory.

    A finished run with the same fingerprint is left as it is; an unfinished one resumes from its
    newest whole checkpoint; one with another fingerprint is a UserError unless `overwrite`. Where
    the recipe names no number of threads, it is the fastest, at most `threads`. Started by
    torchrun, all its processes call this and train the one run together.

    recipe: as YAML, to be kept with the run as `recipe.yaml`.
    """
    if plan.settings.track:
        TRACKERS.find(plan.settings.track).check()
    processes = join_processes("cuda" if torch.cuda.is_available() else "cpu")
    if not processes.first:
        watch, tell = lambda progress: None, lambda line: None
    with together(processes, plan.name), ExitStack() as held:
        here = open_run(plan, workspace, processes, threads, tell)
        opened = here.plan, here.tokens.vocabulary_size, here.base
        derived, seconds = derive(*opened), plan.settings.budget.seconds
        check_batch(derived.batch, plan.settings.context, processes.count)
        processes.once(lambda: held.enter_context(only_one(here.directory)))
        if seconds is not None:
            speed = _speed(here, derived, seconds, tell)
            derived = derive(*opened, tokens_per_second=speed)
        _train(here, workspace, derived, watch, tell, overwrite, recipe)
    return here.directory


def _train(
    here: LocalRun,
    workspace: Path,
    derived: Derived,
    watch: Watch,
    tell: Say,
    overwrite: bool,
    recipe: str,
) -> None:
    plan, tokens, directory, processes = here.plan, here.tokens, here.directory, here.processes
    fresh = make_record(plan, derived, tokens, make_mixture(plan, derived, tokens), here.base)
    if processes.once(lambda: open_directory(directory, fresh, overwrite)) == "finished":
        if processes.first:
            remove_passing(directory)  # a kill may have come between
        tell(f"{plan.name} is finished already")
        return
    for line in _beforehand(fresh, tokens, here.base, workspace):
        tell(line)
    run = read_run(directory)
    if recipe and processes.first:
        write_text(directory / RECIPE, recipe)
    with enough_memory(plan.name, plan.settings, derived):
        setup, engine, embeddings = assemble(here, derived, tell, run.engine)
    for key, value in engine.items():
        before = (run.engine or engine).get(key)
        if before != value:
            tell(words.SAID["changed"].format(key=key, before=before, value=value))
    if run.engine and "gpu" in engine:
        tell(words.SAID["resumed_on_gpu"])
    run = replace(run, engine=engine)
    if processes.first:
        write_run(directory, run)
    tracker = plan.settings.track if processes.first else None
    with tracked(tracker, directory, tell) as track:

        def watch_and_track(progress: Progress) -> None:
            watch(progress)
            track()

        _finish(setup, run, here.token_map, embeddings, watch_and_track, tell)


def _speed(here: LocalRun, derived: Derived, seconds: float, tell: Say) -> float:
    if (here.directory / "run.json").is_file():
        run, mark = read_run(here.directory), base_fingerprint(here.base)
        if run.fingerprint == run_fingerprint(here.plan, here.tokens, mark):
            return run.tokens / seconds
    with enough_memory(here.plan.name, here.plan.settings, derived):
        return measure_speed(here, derived, tell)


def _finish(
    setup: Setup,
    run: Run,
    token_map: TokenMap | None,
    embeddings: Sequence[Tensor],
    watch: Watch,
    tell: Say,
) -> None:
    plan, directory, processes = setup.plan, setup.directory, setup.processes
    settings, parts = plan.settings, (setup.scorer, setup.optimizer, processes)
    checkpoints = Checkpoints(directory / "checkpoints", *parts)
    position, damaged = checkpoints.load()
    for place in damaged:
        tell(f"{place} is damaged and passed over")
    if position:
        tell(f"{plan.name} resumes from step {position.step} of {setup.derived.steps}")
    elif token_map:
        with enough_memory(plan.name, settings, setup.derived):
            extension = initialize(setup, token_map, embeddings, tell)
        run = replace(run, vocabulary_extension=extension)
        if processes.first:
            write_run(directory, run)
    del embeddings
    processes.once(lambda: roll_back(directory, position.step if position else -1))
    failure = directory / FAILURE
    failure.unlink(missing_ok=True)
    try:
        with enough_memory(plan.name, settings, setup.derived):
            ended = train_steps(setup, checkpoints, position, watch, tell)
    except UserError as error:
        if processes.first:
            status = "diverged" if error.code == "spike" else "failed"
            write_run(directory, replace(run, status=status))
            write_text(failure, error.what)
        raise
    if settings.max_forgetting:  # the shares were changed on the way: those of all its tokens
        samples, epochs = samples_and_epochs(setup, ended)
        shares = {lang: samples[lang] / sum(samples.values()) for lang in plan.shares}
        replay = {lang: round(shares[lang], 9) for lang in settings.replay}
        run = replace(run, shares=shares, replay=replay, epochs=epochs)
    model, groups = setup.scorer.model, None
    if setup.adapter:
        model, adapter = gather_parts(setup.scorer, setup.adapter, settings, processes)
        if adapter and processes.first:
            write_adapter(adapter, plan.base or "", directory / "adapter")
            model = adapter.merge_and_unload()
    elif is_sharded(setup.scorer):
        groups = gather_layers(setup.scorer, processes)
    if not processes.first:
        deque(groups or (), maxlen=0)  # each takes part in gathering
    elif model is not None:
        write_model(model, setup.tokens.path, run, directory / "model", groups)
        write_run(directory, replace(run, status="finished", seconds=round(ended.seconds, 3)))
        remove_passing(directory)


def _beforehand(run: Run, tokens: Tokens, base: Path | None, workspace: Path) -> list[str]:
    scored = run.settings["eval_languages"] or tokens.languages
    unknown = [lang for lang in run.roles.forgettable if lang not in scored]
    seen = seen_by_base(tokens, base, workspace) if base else {}
    return words.before_training(run.epochs, unknown, seen)
