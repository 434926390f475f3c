"""The best rate at three small sizes, carried to a fourth; the largest batch that costs nothing.

usage: python benchmarks/rules.py [--workspace WORKSPACE] [--per-parameter 20] [--workers 1]

One synthetic language, 20 tokens per parameter, the batch by the rule. The peak rate is swept at
0.05M, 0.1M and 0.2M; the middle of the rates within 1 % of the lowest loss is the best, and the
rule carries the three to 0.4M, where a sweep shows what is best. Then the batch is swept at
the two smallest sizes, at three rates each. An hour on two idle cores; what is finished is not
done again. The tables also go to the file of the same name beside this script.
"""

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

from tongues.launch import open_launcher
from tongues.models import find_shape, of_shape
from tongues.recipe import load_recipe
from tongues.runs import run_rows
from tongues.study import run_all
from tongues.tokens import prepare_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.rules import batch_by_size, rate_at_size

VOCABULARY, CONTEXT = 512, 128  # as in the recipe
RECIPE = """\
name: rules
text:
  synthetic:
    seed: 5
    size: 24 MB
    languages: {qaa: {}}
tokens: {vocab_size: 512, held_out: 40k tokens}
model: {shape: 0.1M}
train:
  budget: {per_parameter} tokens per parameter
  context: 128 tokens
  mixture: {qaa: 100%}
  num_evals: 1
  threads: 1
"""
SHAPES, FOURTH = ("0.05M", "0.1M", "0.2M"), "0.4M"
RATES = (2.5e-3, 3.5e-3, 5e-3, 7e-3, 1e-2, 1.4e-2)
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)  # of the foretold rate
BATCHES = (512, 1024, 2048, 4096, 8192)  # tokens
SWEPT = {"0.05M": (4e-3, 8e-3, 16e-3), "0.1M": (4e-3, 8e-3, 16e-3)}  # rates with batches

Point = tuple[str, float, int]  # shape, rate, tokens of a batch
Losses = dict[Point, float]


def by_rule(shape: str) -> int:
    """The batch of a shape by the rule."""
    return batch_by_size(of_shape(find_shape(shape), VOCABULARY).parameters["total"], CONTEXT)


def size_of(shape: str) -> int:
    """Parameters of a shape outside the embeddings."""
    return of_shape(find_shape(shape), VOCABULARY).parameters["non_embedding"]


def name_of(point: Point) -> str:
    """The name of a run."""
    shape, rate, batch = point
    return f"{shape}-{rate:g}-{batch}"


def plan_of(path: Path, point: Point) -> RunPlan:
    """The run of a point."""
    shape, rate, batch = point
    settings = [
        f"train.run={name_of(point)}",
        f"model.shape={shape}",
        f"train.learning_rate={rate}",
    ]
    return run_of_recipe(load_recipe(path, [*settings, f"train.batch={batch} tokens"]))


def trained(path: Path, points: list[Point], workers: int) -> Losses:
    """The loss on held-out text at the end of the run of each point."""
    plans = [plan_of(path, point) for point in points]
    run_all(plans, path.parent, launcher=open_launcher(workers=workers))
    last = {row["run"]: row["loss"] for row in run_rows([path.parent / "runs"])}
    return {point: last[name_of(point)] for point in points}


def best_rate(losses: Losses) -> float:
    """The middle of the rates whose loss is within 1 % of the lowest; beyond it is a cliff."""
    good = [rate for (_, rate, _), loss in losses.items() if loss <= 1.01 * min(losses.values())]
    return float(np.exp(np.log(good).mean()))


def about_rates(path: Path, workers: int) -> Iterator[str]:
    """Sweeps at three sizes, and the fourth that they foretell."""
    yield "loss by rate" + "".join(f"{rate:>9g}" for rate in RATES) + "     best"
    found: dict[str, float] = {}
    for shape in SHAPES:
        losses = trained(path, [(shape, rate, by_rule(shape)) for rate in RATES], workers)
        found[shape] = best_rate(losses)
        yield f"{shape:12}" + "".join(f"{x:9.4f}" for x in losses.values()) + f"{found[shape]:9.2e}"
    size = size_of(FOURTH)
    foretold = rate_at_size(found, size)
    alone = rate_at_size({SHAPES[0]: found[SHAPES[0]]}, size)
    rates = [float(f"{foretold * factor:.3g}") for factor in FACTORS]
    losses = trained(path, [(FOURTH, rate, by_rule(FOURTH)) for rate in rates], workers)
    own = best_rate(losses)
    yield f"{FOURTH:12}" + "".join(f"{rate:9.2e}" for rate in rates)
    yield f"{'':12}" + "".join(f"{x:9.4f}" for x in losses.values()) + f"{own:9.2e}"
    over = list(losses.values())[FACTORS.index(1.0)] / min(losses.values()) - 1
    yield f"  foretold {foretold:.2e} loses {over:.2%} to the best; from one size {alone:.2e}"
    sizes = [size_of(shape) for shape in (*SHAPES, FOURTH)]
    power = np.polyfit(np.log(sizes), np.log([*found.values(), own]), 1)[0]
    yield f"  best rate ~ parameters^{power:.2f} over the four sizes"


def about_batches(path: Path, workers: int) -> Iterator[str]:
    """The loss by batch, each at the best of three rates."""
    yield (
        "\nloss by batch" + "".join(f"{batch:>9,}" for batch in BATCHES) + "   by rule  within 1 %"
    )
    for shape, rates in SWEPT.items():
        points = [(shape, rate, batch) for batch in BATCHES for rate in rates]
        losses = trained(path, points, workers)
        best = {batch: min(losses[shape, rate, batch] for rate in rates) for batch in BATCHES}
        most = max(batch for batch in BATCHES if best[batch] <= 1.01 * min(best.values()))
        cells = "".join(f"{best[batch]:9.4f}" for batch in BATCHES)
        yield f"{shape:13}{cells}{by_rule(shape):10,}{most:12,}"


def main(workspace: Path, per_parameter: float, workers: int) -> None:
    """Print the tables and keep them."""
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "recipe.yaml"
    path.write_text(RECIPE.replace("{per_parameter}", f"{per_parameter:g}"))
    prepare_tokens(load_recipe(path), workspace, print)
    lines = [f"{date.today()}  held-out nats per token; {per_parameter:g} tokens per parameter"]
    print(lines[0])
    for part in (about_rates, about_batches):
        for line in part(path, workers):
            print(line, flush=True)
            lines.append(line)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":  # the processes of the runs import this file too
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", dest="workspace", type=Path, default=Path("build/rules"))
    parser.add_argument("--per-parameter", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    main(chosen.workspace, chosen.per_parameter, chosen.workers)
