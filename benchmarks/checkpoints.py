"""What checkpoints take from training: speed before, while and after one is written.

A decoder of 5M parameters and SmolLM2-135M (a folder, by default build/smollm2) train on one
thread, with one checkpoint on the way. Its cost is what the steps in which it is written take more
than the median of the others, by the clock and in processor time of the whole process. The share of
the time is that cost over the interval that training's rule chooses by its own count of the cost.

usage: python benchmarks/checkpoints.py [FOLDER] [STEPS]
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import median

import tongues
from tongues.recipe import Recipe, load_recipe
from tongues.tokens import open_tokens
from tongues.train import derive, run_of_recipe
from tongues.train.base import find_base
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.processes import Processes
from tongues.train.loop import checkpoint_interval
from tongues.train.start import LocalRun, assemble
from tongues.train.step import BatchLoader, gradient, update

RECIPE = """
name: NAME
text: {synthetic: {seed: 1, size: 1 MB, languages: {qaa: {}}}}
tokens: {TOKENS, held_out: 4000 tokens}
train: {mixture: {qaa: 100%}, budget: 100k tokens, batch: 1024 tokens, context: 256 tokens,
        learning_rate: 1.0e-4, compile: "off", threads: 1BASE}
"""
Times = list[tuple[float, float]]  # of each step: seconds by the clock, and of the processor


def recipes(folder: Path, place: Path) -> Iterator[Recipe]:
    """The two runs."""
    texts = {
        "5M": RECIPE.replace("TOKENS", "vocab_size: 4096").replace("BASE", "")
        + "model: {shape: 5M}\n",
        "SmolLM2-135M": RECIPE.replace("TOKENS", f"base: {folder}, byte_fallback: allow").replace(
            "BASE", f", base: {{model: {folder}, languages: [en]}}"
        ),
    }
    for name, text in texts.items():
        path = place / f"{name}.yaml"
        path.write_text(text.replace("NAME", name))
        yield load_recipe(path)


def measure(recipe: Recipe, place: Path, steps: int) -> list[str]:
    """Lines on one run."""
    tongues.prepare(recipe, workspace=place, quiet=True)
    plan, tokens = run_of_recipe(recipe, place), open_tokens(place / "tokens" / recipe.name)
    base = find_base(plan.base, place)
    derived = derive(plan, tokens.vocabulary_size, base)
    here = LocalRun(plan, tokens, base, None, place / "runs", Processes(), 1)
    setup, _, _ = assemble(here, derived, lambda line: None, None)
    loader, number = BatchLoader(setup), 0
    checkpoints = Checkpoints(
        place / recipe.name, setup.scorer, setup.optimizer, setup.processes, keep=1
    )
    before, during, after = Times(), Times(), Times()
    most = 0

    def step() -> tuple[float, float]:
        nonlocal number, most
        start = time.monotonic(), time.process_time()
        gradient(setup, loader, number, ())
        checkpoints.stage()
        update(setup, number, 1e-5)
        number += 1
        most = max(most, len(list((place / recipe.name).glob(".*.part"))))
        return time.monotonic() - start[0], time.process_time() - start[1]

    step()
    before += [step() for _ in range(steps)]
    start = time.monotonic(), time.process_time()
    checkpoints.save(Position(number, 0.0, 0.0))
    saving = time.monotonic() - start[0], time.process_time() - start[1]
    while not checkpoints.ready:
        during.append(step())
    checkpoints.wait()
    after += [step() for _ in range(steps)]
    written = sum(file.stat().st_size for file in (place / recipe.name).glob("*/*"))
    interval = checkpoint_interval(checkpoints)
    lines = [
        f"{recipe.name}: checkpoint of {written / 1e6:,.0f} MB, written during {len(during)} "
        f"steps, at most {most} at a time; counted cost {checkpoints.cost:.2f} s, so one every "
        f"{interval:,.0f} s"
    ]
    for n, clock in enumerate(("by the clock", "processor time")):
        usual = median(times[n] for times in before + after)
        cost = saving[n] + sum(times[n] - usual for times in during)
        speeds = [
            derived.batch * len(part) / sum(times[n] for times in part)
            for part in (before, during, after)
        ]
        lines.append(
            f"  {clock:16}tokens/s before, during, after: "
            + ", ".join(f"{speed:,.0f}" for speed in speeds)
            + f"; cost {cost:.2f} s, {cost / interval:.2%} of the time"
        )
    return lines


def main(folder: Path, steps: int) -> None:
    """Keep the outcome next to this script."""
    load = Path("/proc/loadavg").read_text().split()[0]
    lines = [f"{date.today()}, one thread, batches of 1,024 tokens; load of the machine {load}"]
    with tempfile.TemporaryDirectory() as place:
        for recipe in recipes(folder.resolve(), Path(place)):
            lines += measure(recipe, Path(place), steps)
            print("\n".join(lines), flush=True)
            Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "build/smollm2"), int(given[1]) if given[1:] else 4)
