"""A study of small runs packed onto the cores, against one run after another.

usage: python benchmarks/packing.py [RUNS] [TIMES]

One after another, a run has all cores, as `tongues train` gives it, or one thread. The scheduler's
own cost is the time in which its loop does anything but wait, and what its process computes.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import median

from tongues.cores import core_count
from tongues.launch import Local, Options
from tongues.recipe import load_recipe
from tongues.runs import find_runs, read_run
from tongues.study import plan_runs, run_all
from tongues.tokens import prepare_tokens
from tongues.train import RunPlan

RECIPE = """
name: packing
text: {synthetic: {seed: 1, size: 2 MB, languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}
tokens: {vocab_size: 1024, held_out: 8192 tokens}
train: {budget: 150k tokens, batch: 1024 tokens, context: 128 tokens, num_evals: 4}
study: {source: qaa, targets: [qab], shapes: [0.1M, 0.2M], strategies: [scratch], seeds: SEEDS}
"""


class Clocked(Local):
    """The launcher of this machine, which notes how long it was waited for."""

    waited = 0.0

    def ended(self, seconds: float) -> dict[str, str]:
        """As it is, with a clock."""
        start = time.monotonic()
        reasons = super().ended(seconds)
        self.waited += time.monotonic() - start
        return reasons


@dataclass(frozen=True, slots=True)
class Taken:
    """What a study took, in seconds."""

    seconds: float
    not_waiting: float  # of the scheduler's loop
    computing: float  # of the scheduler's process
    training: float  # of all runs


def train(plans: Sequence[RunPlan], tokens: Path, workers: int) -> Taken:
    """Train a study anew."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "tokens").symlink_to(tokens, target_is_directory=True)
        launcher = Clocked(Options(workers))
        start, computed = time.monotonic(), time.process_time()
        run_all(plans, workspace, launcher=launcher)
        seconds = time.monotonic() - start
        records = [read_run(run) for run in find_runs([workspace / "runs"])]
        assert len(records) == len(plans)
        training = sum(record.seconds or 0.0 for record in records)
        own = seconds - launcher.waited
        return Taken(seconds, own, time.process_time() - computed, training)


def on_one_thread(plans: Sequence[RunPlan]) -> list[RunPlan]:
    """The same runs, told to compute on one thread."""
    one = {"threads": 1}
    return [replace(plan, settings=plan.settings.model_copy(update=one)) for plan in plans]


def told(name: str, taken: Sequence[Taken], runs: int) -> str:
    """A line on one way, by medians."""
    seconds = median(each.seconds for each in taken)
    own = median(each.not_waiting / each.seconds for each in taken)
    computing = median(each.computing / each.seconds for each in taken)
    training = median(each.training for each in taken)
    spread = "–".join(f"{end(each.seconds for each in taken):.1f}" for end in (min, max))
    return (
        f"{name:32} {seconds:6.1f} s ({spread}), {3600 * runs / seconds:5.0f} runs an hour; "
        f"training alone {training:.1f} s; the loop at work {own:.2%}, its process {computing:.2%}"
    )


def main(runs: int, times: int) -> None:
    """Train the study in three ways, by turns; the outcome is kept beside this script."""
    cores = core_count()
    lines = [
        f"{date.today()}  {runs} runs of 0.1M and 0.2M on {cores} cores, {times} times by turns"
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packing.yaml"
        path.write_text(RECIPE.replace("SEEDS", str(list(range(1, runs // 2 + 1)))))
        recipe = load_recipe(path)
        prepare_tokens(recipe, path.parent, lambda line: None)
        plans, tokens = plan_runs(recipe), path.parent / "tokens"
        train(plans[:1], tokens, 1)  # the server that knows torch starts once
        ways = {
            f"packed, {cores} at a time": (plans, cores),
            f"one after another, {cores} threads": (plans, 1),
            "one after another, one thread": (on_one_thread(plans), 1),
        }
        taken: dict[str, list[Taken]] = {name: [] for name in ways}
        for _ in range(times):
            for name, (of, workers) in ways.items():
                taken[name].append(train(of, tokens, workers))
                print(name, taken[name][-1], flush=True)
    lines += [told(name, each, len(plans)) for name, each in taken.items()]
    packed, *others = (median(each.seconds for each in of) for of in taken.values())
    for name, seconds in zip(list(ways)[1:], others, strict=True):
        lines.append(f"packed against {name}: {seconds / packed:.2f} times the throughput")
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*([int(argument) for argument in sys.argv[1:]] or (12, 3)))
