"""Training on GPUs: MFU, tokens a second, peak memory and the time of a checkpoint, by size.

For decoders of 135M, 1B and 8B parameters, as far as they fit: random weights, bfloat16, contexts
of 2,048 tokens, AdamW. MFU counts operations as `tongues check` does, by the maker's peak where the
GPU is known, and by the peak that big matrix products reach. Without a GPU it refuses.

usage: [torchrun --nproc-per-node COUNT] benchmarks/gpu.py [PLACE]
"""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch

import tongues
from tongues.errors import UserError
from tongues.hardware import GPUS, Gpu, Machine
from tongues.models import Shape
from tongues.recipe import load_recipe
from tongues.tokens import open_tokens
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.processes import Processes, join_processes, together
from tongues.train.engine.processor import ceiling
from tongues.train.progress import peak_memory
from tongues.train.rules import micro_batch_that_fits
from tongues.train.start import LocalRun, assemble
from tongues.train.step import BatchLoader, gradient, update

RECIPE = """
name: gpu
text: {synthetic: {seed: 1, size: 40 MB, languages: {qaa: {}}}}
tokens: {vocab_size: 32768, held_out: 40000 tokens}
model: {shape: 125M}
train: {mixture: {qaa: 100%}, budget: 1B tokens, batch: 524288 tokens, context: 2048 tokens,
        compile: "on", precision: bfloat16}
"""
SHAPES = (
    Shape("135M", hidden=768, feed_forward=2048, heads=12, head_width=64, layers=12),
    Shape("1B", hidden=2048, feed_forward=5632, heads=16, head_width=128, layers=22),
    Shape("8B", hidden=4096, feed_forward=14336, heads=32, head_width=128, layers=32),
)
WARM, STEPS = 2, 5


def this_gpu() -> Gpu:
    """The first GPU of this machine, with its memory; its peak is 0 where it is not known."""
    if not torch.cuda.is_available():
        what = "there is no GPU here that PyTorch sees"
        raise UserError(what, where="benchmarks/gpu.py", hint="run it on a machine with one")
    properties = torch.cuda.get_device_properties(0)
    name = properties.name.lower().replace(" ", "")
    known = [gpu for key, gpu in GPUS.items() if key.partition("-")[0] in name]
    peak = known[0].peak if known else 0.0
    return Gpu(properties.name, peak, properties.total_memory, price=0.0, watts=0.0)


def measure(
    plan: RunPlan, workspace: Path, processes: Processes, steps: int = STEPS
) -> Mapping[str, float]:
    """Tokens and operations a second, peak bytes, and seconds of a checkpoint, of some steps."""
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    derived = derive(plan, tokens.vocabulary_size)
    here = LocalRun(plan, tokens, None, None, workspace / "runs/gpu", processes, 1)
    setup, _, _ = assemble(here, derived, lambda line: None, None)
    loader, start = BatchLoader(setup), 0.0
    for step in range(WARM + steps):
        if step == WARM:
            start = time.perf_counter()
        gradient(setup, loader, step, ())  # ends with a number from the device
        update(setup, step, 1e-5)
    processes.sum([0.0])
    speed = steps * derived.batch / (time.perf_counter() - start)
    parts = (setup.scorer, setup.optimizer, processes)
    with Checkpoints(workspace / "checkpoints", *parts, keep=1) as checkpoints:
        start = time.perf_counter()
        checkpoints.save(Position(WARM + steps, 0.0, 0.0))
        waited = time.perf_counter() - start
        checkpoints.wait()
        written = time.perf_counter() - start
    return {
        "tokens": speed,
        "operations": speed * derived.anatomy.flops_per_token(plan.settings.context),
        "ceiling": processes.sum([ceiling(setup.processor)])[0],
        "memory": float(peak_memory(setup.processor.device.type)),
        "waited": waited,
        "written": written,
    }


def main() -> None:
    """Print a line for each size."""
    gpu = this_gpu()
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "gpu")
    processes = join_processes("cuda")
    machine = Machine.of_gpus(gpu, processes.count)
    with together(processes, "gpu"):
        recipe = place / "gpu.yaml"
        if processes.first:
            place.mkdir(exist_ok=True)
            recipe.write_text(RECIPE, encoding="utf-8")
        processes.once(lambda: tongues.prepare(load_recipe(recipe), workspace=place))
        if processes.first:
            print(f"{date.today()}, {processes.count} x {gpu.name}, PyTorch {torch.__version__}")
            print("MFU by the maker's peak, and by the measured one; a checkpoint: wait, and whole")
        for shape in SHAPES:
            plan = replace(run_of_recipe(load_recipe(recipe)), shape=shape)
            derived = derive(plan, open_tokens(place / "tokens/gpu").vocabulary_size)
            anatomy, flops = derived.anatomy, derived.flops
            fits = micro_batch_that_fits(anatomy, plan.settings, derived.batch, flops, machine)
            if fits is None:
                line = "does not fit"
            else:
                changes = {"micro_batch": fits[0], "recompute": fits[1]}
                settings = plan.settings.model_copy(update=changes)
                fitted = replace(plan, settings=settings)
                found = measure(fitted, place, processes)
                peak = gpu.peak * processes.count or float("nan")
                line = f"{found['operations'] / peak:.1%}, "
                line += f"{found['operations'] / found['ceiling']:.1%} "
                line += f"{found['tokens']:12,.0f} tokens/s {found['memory'] / 1e9:8.1f} GB"
                predicted = derive(fitted, anatomy.vocabulary, machine=machine).memory
                line += f" (predicted {predicted / 1e9:.1f})"
                line += f" {found['waited']:8.1f} s {found['written']:8.1f} s"
            if processes.first:
                print(f"{shape.name:6} {line}", flush=True)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(error, file=sys.stderr)
        os._exit(2)
