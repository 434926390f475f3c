"""What a study takes before it starts: runs, operations, hours and disk."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from tongues.core.cores import threads_for
from tongues.core.launch import launcher_kind
from tongues.core.quantities import counted, show_seconds
from tongues.runs.record import read_run, status_of
from tongues.text.tokens import Tokens, open_tokens
from tongues.train import Derived, RunPlan, derive
from tongues.train.record import check_runs
from tongues.train.schedule import evaluation_steps

# Measured on a core of an AMD EPYC, shapes of 0.05M to 0.6M; seconds of processor time.
_FIRST = 4.0  # until the process is there from which runs are forked, Python and torch in it
_AROUND = 0.6  # of a run before its first step and after its last
_SCORING = 0.2  # of what training on a token takes, for one that an evaluation scores

Pair = tuple[RunPlan, Derived]


@dataclass(frozen=True, slots=True)
class StudyCost:
    """Of the runs that are still to be trained."""

    runs: int
    flops: float
    run_seconds: dict[str, float]  # by run
    seconds: float | None  # until the last one ends, several at a time; None: not on this machine

    def __str__(self) -> str:
        runs = f"{counted(self.runs, 'run')} to train"
        what = f"{runs}: {self.flops:.2g} FLOPs"
        if self.seconds is None:
            return what
        return f"{what}, about {show_seconds(self.seconds)} on this machine"


def measure_cost(
    pairs: Sequence[Pair],
    workspace: Path,
    at_once: int,
    launcher: str = "local",
    processes: int | None = None,
    *,
    overwrite: bool = False,
) -> StudyCost:
    """The cost of those runs that are not finished in `workspace`, `at_once` at a time here.

    Runs of other settings in their places are a UserError, or trained again with `overwrite`.

    Where `launcher` trains them on other machines, or several `processes` train each, nothing is
    tried here, and no time is known.

    Speeds are those of finished runs, else of short trials of the smallest, the middle and the
    largest shape; others are interpolated. To the steps of a run come what its evaluations score
    and about 0.6 s around them, and once 4 s until the first begins. Their text must be prepared.
    """
    plans, done = [plan for plan, _ in pairs], set[str]()
    if any((workspace / "runs" / plan.name / "run.json").is_file() for plan in plans):
        _, changed = check_runs(plans, workspace, overwrite=overwrite)
        ended = {p.name for p in plans if status_of(workspace / "runs" / p.name) == "finished"}
        done = ended - changed
    to_do = [pair for pair in pairs if pair[0].name not in done]
    if not to_do:
        return StudyCost(0, 0, {}, 0.0)
    flops = sum(derived.flops for _, derived in to_do)
    if not launcher_kind(launcher).here or (processes or 1) > 1:
        return StudyCost(len(to_do), flops, {}, None)
    threads = threads_for(at_once)
    texts = {n: open_tokens(workspace / "tokens" / n) for n in {plan.tokens for plan, _ in pairs}}
    speeds = _measured_speeds(pairs, workspace, threads, texts)
    sizes = {derived.anatomy.name: derived.flops / derived.tokens for _, derived in pairs}
    logs, values = zip(
        *sorted((math.log(sizes[n]), math.log(speeds[n])) for n in speeds), strict=True
    )
    seconds: dict[str, float] = {}
    for plan, derived in to_do:
        name = derived.anatomy.name  # speeds of others by a power law through their neighbours
        speed = speeds.get(name) or math.exp(np.interp(math.log(sizes[name]), logs, values))
        worth = derived.tokens + _SCORING * _scored(plan, derived, texts[plan.tokens])
        seconds[plan.name] = _AROUND + worth / speed
    return StudyCost(
        runs=len(to_do),
        flops=flops,
        run_seconds=seconds,
        seconds=_FIRST + _until_the_last([plan for plan, _ in to_do], seconds, at_once),
    )


def _scored(plan: RunPlan, derived: Derived, tokens: Tokens) -> int:
    settings = plan.settings
    languages = settings.eval_languages or tokens.languages
    each = sum(min(len(tokens.valid(lang)), settings.eval_tokens) for lang in languages)
    return each * len(evaluation_steps(derived.steps, settings.num_evals))


def _measured_speeds(
    pairs: Sequence[Pair], workspace: Path, threads: int, texts: Mapping[str, Tokens]
) -> dict[str, float]:
    measured: dict[str, list[float]] = {}
    for plan, derived in pairs:
        directory = workspace / "runs" / plan.name
        if status_of(directory) == "finished" and (record := read_run(directory)).seconds:
            worth = record.tokens + _SCORING * _scored(plan, derived, texts[plan.tokens])
            measured.setdefault(derived.anatomy.name, []).append(worth / record.seconds)
    speeds = {name: median(values) for name, values in measured.items()}
    alone_last = sorted(pairs, key=lambda pair: pair[0].base is None)
    firsts = {derived.anatomy.name: (plan, derived) for plan, derived in alone_last}
    by_size = sorted(firsts.values(), key=lambda pair: pair[1].flops / pair[1].tokens)
    unknown = [pair for pair in by_size if pair[1].anatomy.name not in speeds]
    for place in sorted({0, len(unknown) // 2, len(unknown) - 1} if unknown else ()):
        plan, derived = unknown[place]
        speeds[derived.anatomy.name] = _tried(plan, workspace, threads)
    return speeds


def _tried(plan: RunPlan, workspace: Path, threads: int) -> float:
    from tongues.train.engine.processes import Processes
    from tongues.train.engine.processor import release_memory
    from tongues.train.start import measure_speed, open_run

    settings = plan.settings.model_copy(update={"compile": "off"})  # its start would take longest
    plan = replace(plan, settings=settings)
    here = open_run(plan, workspace, Processes(), threads, lambda line: None)
    derived = derive(here.plan, here.tokens.vocabulary_size, here.base)
    speed = measure_speed(here, derived, lambda line: None, seconds=1.0)
    release_memory()  # this process only waits from here on, next to those that train
    return speed


def _until_the_last(plans: Sequence[RunPlan], seconds: Mapping[str, float], at_once: int) -> float:
    """When the last run ends: after all work so many at a time, or the longest chain of runs."""
    ended: dict[str, float] = {}
    for plan in plans:  # bases first
        ended[plan.name] = ended.get(plan.base or "", 0.0) + seconds[plan.name]
    return max(*ended.values(), sum(seconds.values()) / at_once)
