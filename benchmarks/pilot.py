"""What a pilot predicts of runs ten times larger than its largest: synthetic and published runs.

usage: python benchmarks/pilot.py [WORKSPACE] [--workers 2] [--worlds 4] [--published]

Each world is a seed and a distance of the target. Its pilot may cost 60 % of a real run of 505k
parameters and 1M tokens, each of its runs a sixth of that, a tenth of the real run. Then the real
run is trained, from scratch and continued, with the replay the pilot advises, and its four losses
(both on the target; of the base and of the continued run on the source) are held against what was
predicted. The worlds' seeds are others than those on which intervals and recipe were tried out.
Some five minutes a world on two idle cores; what is finished is not done again. The same laws are
then learned from 8 or 9 runs, drawn at random, of published scaling studies, where those are at
hand, and held against runs of 6 to 15 times the compute; --published does that alone. The result
also goes to the file beside this script.
"""

import argparse
import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from tongues.launch import open_launcher
from tongues.laws.uncertainty import percentiles
from tongues.recipe import Study, load_recipe
from tongues.report.pilot import write_pilot
from tongues.runs import read_run, run_rows
from tongues.study import plan_runs, run_all
from tongues.study.pilot.blocks import Frame, Point, believe_block
from tongues.study.pilot.rounds import PilotState, run_pilot
from tongues.study.pilot.selection import with_parents
from tongues.tokens import prepare_tokens
from tongues.train import RunPlan
from tongues.train.rules import nearest_shape

WORLDS = ((33, 0.3), (34, 0.4), (35, 0.15), (36, 0.25))
RECIPE = """\
name: world{seed}
text:
  synthetic:
    seed: {seed}
    size: 8 MB
    languages: {{qaa: {{}}, qab: {{parent: qaa, divergence: {distance}}}}}
tokens: {{vocab_size: 512, held_out: 16384 tokens}}
model: {{shape: 0.4M}}
train:
  budget: 2 tokens per parameter
  batch: 2048 tokens
  context: 128 tokens
  learning_rate: 5.0e-3
  seed: {seed}
pilot:
  source: qaa
  target: qab
  share: 60%
  source_budget: 0.85 tokens per parameter
  seeds: [{seed}]
"""
SCALING = Path(__file__).parents[1] / "../shared/data/scaling"
PILOTS = 15  # drawn from each published study
ROLES = ("scratch", "cpt", "source", "forgetting")


@dataclass(frozen=True, slots=True)
class Foretold:
    """A loss predicted (its middle and 95 % interval) and measured."""

    what: str
    middle: float
    low: float
    high: float
    loss: float
    beyond: float  # its run's FLOPs, in those of the largest run behind the forecast
    error: float  # of its logarithm, in standard deviations of what was predicted

    @property
    def inside(self) -> bool:
        """Whether it lies within."""
        return self.low <= self.loss <= self.high

    @property
    def half(self) -> float:
        """Half the interval, as a share of the loss."""
        return (self.high - self.low) / 2 / self.middle

    def __str__(self) -> str:
        off = f"{self.loss / self.middle - 1:+.1%}"
        said = f"{self.what:12}{self.beyond:6.1f} x  {self.middle:.4f} [{self.low:.4f}, "
        said += f"{self.high:.4f}]  ± {self.half:.1%}  measured {self.loss:.4f}  {off:>6}"
        return said + ("" if self.inside else "  OUTSIDE")


def hold(what: str, draws: np.ndarray, loss: float, beyond: float) -> Foretold:
    """Draws against what was measured."""
    low, high = percentiles(draws)
    middle = float(np.median(draws))
    error = math.log(loss / middle) / float(np.log(draws).std())
    return Foretold(what, middle, float(low), float(high), loss, beyond, error)


def real_runs(pilot: PilotState) -> list[RunPlan]:
    """The real run as it is advised, and the one of the other strategy, with its base."""
    assert pilot.advice
    assert pilot.recipe.pilot
    asked, found = pilot.recipe.pilot, []
    for strategy in ("scratch", "cpt"):
        point = pilot.advice.points[strategy]
        shape, _ = nearest_shape(point.N, pilot.means.vocabulary)
        study = Study.model_validate(
            {
                "source": asked.source,
                "targets": [asked.target],
                "shapes": [shape.name],
                "strategies": [strategy],
                "replay": [point.r],
                "budgets": [str(pilot.recipe.train.budget)],
                "source_budgets": [str(asked.source_budget)],
                "seeds": asked.seeds,
            }
        )
        train = pilot.recipe.train.model_copy(update={"num_evals": 1})
        changed = {"pilot": None, "study": study, "train": train}
        changed["model"] = pilot.recipe.model.model_copy(update={"shape": None})
        found += plan_runs(pilot.recipe.model_copy(update=changed))
    return found


def compare(pilot: PilotState, plans: Sequence[RunPlan], workspace: Path) -> list[Foretold]:
    """The losses of the real runs against those predicted at their exact sizes and tokens."""
    rows = run_rows([workspace / "runs" / pilot.recipe.name])
    ends, starts = {}, {}
    for row in rows:
        key = row["run"], row["lang"]
        if key not in ends or row["step"] > ends[key]["step"]:
            ends[key] = row
        if row["step"] == 0:
            starts[key] = row
    largest = max(run.flops for run in pilot.runs)
    S, found = np.ones(1), []
    for plan in sorted(plans, key=lambda plan: ROLES.index(plan.strategy) != 2):
        end = ends[plan.name, plan.roles.targets[0]]
        N, D, C = float(end["params"]), float(end["tokens"]), float(end["flops"])
        belief = pilot.beliefs["source" if plan.strategy == "source" else "target"]
        replay = plan.roles.replay_share
        point = Point(plan.strategy, N, (1 - replay) * D, C, replay)
        draws = belief.predicted(point)
        S = draws if plan.strategy == "source" else S
        found.append(hold(plan.strategy, draws, end["loss"], C / largest))
        if plan.strategy == "cpt":
            point = Point("forgetting", N, D, C, replay, S)
            kept = ends[plan.name, plan.roles.base_languages[0]]["loss"]
            draws = pilot.beliefs["forgetting"].predicted(point)
            found.append(hold("forgetting", draws, kept, C / largest))
    return found


def world(seed: int, distance: float, workspace: Path, workers: int) -> tuple[str, list[Foretold]]:
    """A pilot of a synthetic world, and the real runs."""
    path = workspace / f"world{seed}.yaml"
    workspace.mkdir(parents=True, exist_ok=True)
    path.write_text(RECIPE.format(seed=seed, distance=distance))
    recipe = load_recipe(path)
    prepare_tokens(recipe, workspace, lambda line: None)

    def train(plans: Sequence[RunPlan]) -> None:
        run_all(plans, workspace, launcher=open_launcher(workers=workers))

    pilot = run_pilot(recipe, workspace, train, print)
    write_pilot(pilot, workspace / "reports" / recipe.name)
    plans = real_runs(pilot)
    train(plans)
    assert pilot.advice
    seconds = sum(
        read_run(workspace / "runs" / run.name).seconds or 0.0 for run in with_parents(pilot.runs)
    )
    advised = pilot.advice.taken
    said = (
        f"world {seed}, distance {distance:g}: {len(with_parents(pilot.runs))} runs, "
        f"{seconds:.0f} s of one core; advised: {advised.name}"
    )
    return said, compare(pilot, plans, workspace)


def published() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Parameters, tokens and losses of published studies without repeated text."""
    for name, file, column in (
        ("Muennighoff et al. 2023, C4", "muennighoff_c4_datablations.csv", "loss"),
        ("Gadre et al. 2024, C4", "gadre_104.csv", "loss_c4_shard-{0000000"),
        ("Hoffmann et al. 2022", "chinchilla_epoch_245.csv", "loss"),
    ):
        with (SCALING / file).open() as lines:
            rows = list(csv.DictReader(lines))
        if "unique_D" in rows[0]:
            rows = [row for row in rows if row["D"] == row["unique_D"]]
        if "dataset" in rows[0]:
            rows = [row for row in rows if row["dataset"].startswith("c4_original")]
        N, D, loss = (np.array([float(row[key]) for row in rows]) for key in ("N", "D", column))
        yield name, N, D, loss


def drawn(N: np.ndarray, D: np.ndarray, loss: np.ndarray, number: int) -> list[Foretold]:
    """A pilot of 8 or 9 runs of at least three sizes, and up to three runs beyond it."""
    random, C = np.random.default_rng(number), 6.0 * N * D
    while True:
        most = np.exp(random.uniform(np.log(np.quantile(C, 0.2)), np.log(C.max() / 9)))
        small = np.flatnonzero((most / 300 < C) & (most >= C))
        large = np.flatnonzero((6 * most < C) & (15 * most > C))
        if len(small) < 8 or not len(large):
            continue
        picked = random.choice(small, 8, replace=False)
        picked = np.union1d(picked, small[[C[small].argmax()]])
        if len(np.unique(N[picked])) >= 3 and np.ptp(np.log(D[picked])) > math.log(4):
            break
    size, tokens = (float(np.exp(np.log(values[picked]).mean())) for values in (N, D))
    every = [Point("scratch", float(N[i]), float(D[i]), float(C[i])) for i in range(len(N))]
    points = [every[i] for i in picked]
    start = math.log10(C[picked].min())
    frame = Frame(size, tokens, 0.45 * math.log(50_000), start, number)
    belief = believe_block("target", points, loss[picked].tolist(), frame)
    return [
        hold("scratch", belief.predicted(every[i]), float(loss[i]), every[i].flops / most)
        for i in random.choice(large, min(3, len(large)), replace=False)
    ]


def summary(found: Sequence[Foretold]) -> str:
    """How many lie inside, how wide the intervals are, and how far off their middles."""
    inside = sum(one.inside for one in found)
    half = np.median([one.half for one in found])
    off = np.mean([abs(one.loss / one.middle - 1) for one in found])
    errors = math.sqrt(np.mean([one.error**2 for one in found]))
    said = f"{inside} of {len(found)} inside; ± {half:.1%} (median); off by {off:.1%} (mean)"
    return f"{said}; standardised errors of {errors:.2f} (root mean square)"


def main() -> None:
    """Run all worlds, then the published studies; print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workspace", type=Path, nargs="?", default=Path("build/pilot"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worlds", type=int, default=len(WORLDS))
    parser.add_argument("--published", action="store_true")
    arguments = parser.parse_args()
    lines = [f"{date.today()}  pilots, held against runs of ten times their largest"]
    found: list[Foretold] = []
    whole = 0
    chosen = () if arguments.published else WORLDS[: arguments.worlds]
    for seed, distance in chosen:
        said, of_world = world(seed, distance, arguments.workspace, arguments.workers)
        found += of_world
        whole += all(one.inside for one in of_world)
        lines += ["", said, *map(str, of_world)]
        print("\n".join(lines[-len(of_world) - 1 :]), flush=True)
    if found:
        lines += ["", f"all worlds: {summary(found)}"]
        lines.append(f"  all four losses inside at once: {whole} of {len(chosen)} worlds")
        for role in ROLES:
            lines.append(f"  {role}: {summary([one for one in found if one.what == role])}")
    if SCALING.exists():
        lines += ["", "published runs, 8 or 9 of them drawn at random as a pilot:"]
        for name, N, D, loss in published():
            of_study = [one for i in range(PILOTS) for one in drawn(N, D, loss, i)]
            lines.append(f"  {name}: {summary(of_study)}")
    print("\n".join(lines))
    if not arguments.published:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":  # the processes of the runs import this file too
    main()
