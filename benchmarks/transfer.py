"""The demo's science over three seeds: the dial of relatedness, and what replay keeps.

usage: python benchmarks/transfer.py [WORKSPACE]

A seed changes everything at once: the world, its languages, the first weights and the order of the
text. Every figure of a seed is the mean over the demo's four sizes; the last lines give the mean
over seeds and Student's 95 % interval. WORKSPACE keeps the runs, so that it can be stopped.
"""

import math
import statistics
import sys
from collections.abc import Callable
from datetime import date
from importlib.resources import as_file, files
from pathlib import Path

from tongues.recipe import Recipe, load_recipe
from tongues.runs.record import run_rows
from tongues.text.synthetic import Drift, World, make_family, shared_order, shared_words
from tongues.text.tokens import prepare_tokens
from tongues.train.study import plan_runs, run_all
from tongues.train.study.findings import Findings, findings
from tongues.train.work import open_work

SEEDS = (1, 2, 3)
T_975 = 4.303  # Student's t, two degrees of freedom


def study(seed: int, workspace: Path) -> tuple[Recipe, Findings]:
    """Run the demo's study with this seed, or go on with it."""
    with as_file(files("tongues.train.study") / "demo.yaml") as path:
        changes = [f"name=demo-{seed}", f"text.synthetic.seed={seed}", f"train.seed={seed}"]
        recipe = load_recipe(path, [*changes, f"study.seeds=[{seed}]"])
    prepare_tokens(recipe, workspace, lambda line: None)
    run_all(plan_runs(open_work(recipe)), workspace)
    return recipe, findings(run_rows([workspace / "runs" / recipe.name]))


def forgotten(found: Findings, target: str, replay: float) -> float:
    """Rise of the source loss at the end, nats per token."""
    outcome = found.outcome(target, replay)
    assert outcome
    return next(iter(outcome.rises.values())).nats.value


def saved(found: Findings, target: str, replay: float = 0.0) -> float:
    """Share of scratch's tokens that CPT did without, in per cent."""
    transfer = found.outcome(target, replay)
    assert transfer
    assert transfer.saved
    return 100 * transfer.saved.value


def never(found: Findings, target: str) -> float:
    """CPT runs that did not reach the final loss of their twin from scratch."""
    transfer = found.outcome(target)
    assert transfer
    return sum(pair.ahead < 0 for pair in transfer.pairs)


def main(workspace: Path) -> None:
    """Run all seeds, print the table and keep it beside this script."""
    found: list[Findings] = []
    related: list[dict[str, float]] = []
    for seed in SEEDS:
        recipe, of_seed = study(seed, workspace)
        found.append(of_seed)
        made = recipe.text.synthetic
        assert made
        drifts = {tag: Drift(d.parent, d.divergence) for tag, d in made.languages.items()}
        family = make_family(World.of(made.seed), drifts, made.seed)
        related.append(
            {
                f"{what} {tag}": 100 * measure(family["qaa"], family[tag])
                for tag in ("qab", "qac")
                for what, measure in (("words", shared_words), ("order", shared_order))
            }
        )
    rows: dict[str, Callable[[int], float]] = {
        "running words that qab shares with qaa, %": lambda i: related[i]["words qab"],
        "running words that qac shares with qaa, %": lambda i: related[i]["words qac"],
        "order choices that qab shares with qaa, %": lambda i: related[i]["order qab"],
        "order choices that qac shares with qaa, %": lambda i: related[i]["order qac"],
        "tokens saved by CPT, near (qab), %": lambda i: saved(found[i], "qab"),
        "tokens saved by CPT, far (qac), %": lambda i: saved(found[i], "qac"),
        "near minus far, points": lambda i: saved(found[i], "qab") - saved(found[i], "qac"),
        "tokens saved with 20 % replay, near, %": lambda i: saved(found[i], "qab", 0.2),
        "tokens saved with 20 % replay, far, %": lambda i: saved(found[i], "qac", 0.2),
        "CPT runs that never reached scratch, near, of 4": lambda i: never(found[i], "qab"),
        "CPT runs that never reached scratch, far, of 4": lambda i: never(found[i], "qac"),
        "source loss rises, near, no replay, nats": lambda i: forgotten(found[i], "qab", 0.0),
        "source loss rises, near, 20 % replay, nats": lambda i: forgotten(found[i], "qab", 0.2),
        "source loss rises, far, no replay, nats": lambda i: forgotten(found[i], "qac", 0.0),
        "source loss rises, far, 20 % replay, nats": lambda i: forgotten(found[i], "qac", 0.2),
    }
    head = f"{'':48}" + "".join(f"{f'seed {seed}':>9}" for seed in SEEDS)
    lines = [f"{date.today()}  tongues demo over {len(SEEDS)} seeds, means over four sizes"]
    lines.append(f"{head}     mean [95 % interval]")
    for name, figure in rows.items():
        values = [figure(i) for i in range(len(SEEDS))]
        mean = statistics.mean(values)
        half = T_975 * statistics.stdev(values) / math.sqrt(len(values))
        cells = "".join(f"{value:9.2f}" for value in values)
        lines.append(f"{name:48}{cells} {mean:8.2f} [{mean - half:.2f}, {mean + half:.2f}]")
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":  # the processes of the runs import this file too
    main(Path(sys.argv[1]) if sys.argv[1:] else Path("build/transfer"))
