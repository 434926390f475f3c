"""Whether a processor trains faster by smaller micro-batches: processor time of a step, by size.

Decoders of 1.4M and 5M parameters on one thread, batches of 4,096 tokens, contexts of 256. Sizes
take turns; medians.

usage: python benchmarks/micro_batch.py [ROUNDS]
"""

import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median

import tongues
from tongues.recipe import load_recipe
from tongues.tokens import open_tokens
from tongues.train import derive, run_of_recipe
from tongues.train.engine.processes import Processes
from tongues.train.start import LocalRun, assemble
from tongues.train.step import BatchLoader, gradient, update

RECIPE = """
name: micro
text: {synthetic: {seed: 1, size: 1 MB, languages: {qaa: {}}}}
tokens: {vocab_size: 4096, held_out: 4000 tokens}
model: {shape: 1.4M}
train: {mixture: {qaa: 100%}, budget: 100k tokens, batch: 4096 tokens, context: 256 tokens,
        compile: "off", threads: 1}
"""
SHAPES, SAMPLES = ("1.4M", "5M"), (16, 8, 4, 1)  # at a time


def main(rounds: int) -> None:
    """Keep the outcome next to this script."""
    lines = [f"{date.today()}, one thread, {rounds} rounds; tokens a second of processor time"]
    lines += ["tokens at a time" + "".join(f"{256 * samples:>8,}" for samples in SAMPLES)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        path = place / "micro.yaml"
        path.write_text(RECIPE)
        tongues.prepare(path, workspace=place, quiet=True)
        tokens = open_tokens(place / "tokens/micro")
        for shape in SHAPES:
            plan = run_of_recipe(load_recipe(path, [f"model.shape={shape}"]), place)
            derived = derive(plan, tokens.vocabulary_size)
            here = LocalRun(plan, tokens, None, None, place / "runs", Processes(), 1)
            setup, _, _ = assemble(here, derived, lambda line: None, None)
            loader, taken = BatchLoader(setup), {samples: list[float]() for samples in SAMPLES}
            for number in range(1 + rounds):  # the first warms up
                for samples in SAMPLES if number else SAMPLES[:1]:
                    start = time.process_time()
                    gradient(replace(setup, samples_at_a_time=samples), loader, number, ())
                    update(setup, number, 1e-5)
                    if number:
                        taken[samples].append(time.process_time() - start)
            speeds = [derived.batch / median(taken[samples]) for samples in SAMPLES]
            lines.append(f"{shape:16}" + "".join(f"{speed:8,.0f}" for speed in speeds))
            print("\n".join(lines), flush=True)
            Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
