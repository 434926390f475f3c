"""Where a step of training spends its time, by PyTorch's profiler: what bounds the speed.

usage: python benchmarks/step_profile.py [SHAPES]

One thread, the batch of `training_speed.py`, layers compiled, bfloat16. Shares are of the time of
each operation itself. `linear`: products of linear layers and of the output matrix; `attention`:
products of attention; `compiled`: what the compiler fused between them (norms, rotation, softmax,
gates, and the powers of the loss); `optimizer`: AdamW; `rest`: copies, clipping, sums and calls.
Were all but the products free, a step would be faster by the last column.
"""

import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from training_speed import BATCH, CONTEXT, RECIPE, SAMPLES

SHAPES = ("1.4M", "5M", "22M")
WARM, STEPS = 3, {"1.4M": 20, "5M": 10, "22M": 4}
KINDS = {
    "linear": ("aten::mm", "aten::addmm"),
    "attention": ("aten::bmm", "aten::baddbmm"),
    "compiled": ("## Call CompiledFxGraph",),
    "optimizer": ("aten::_fused_adamw_", "Optimizer.step"),
}


def profile(shape: str, folder: Path) -> str:
    """A line of the table."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    from tongues.recipe import load_recipe
    from tongues.tokens import open_tokens, prepare_tokens
    from tongues.train import derive, run_of_recipe
    from tongues.train.engine.processes import Processes
    from tongues.train.start import LocalRun, assemble
    from tongues.train.step import BatchLoader, gradient, update

    changes = (f"model.shape={shape}", "train.threads=1", "train.compile=on")
    recipe = load_recipe(folder / "speed.yaml", changes)
    if not (folder / "tokens/speed").is_dir():
        prepare_tokens(recipe, folder, lambda line: None)
    plan, tokens = run_of_recipe(recipe), open_tokens(folder / "tokens/speed")
    derived = derive(plan, tokens.vocabulary_size)
    task = LocalRun(plan, tokens, None, None, folder / "run", Processes(), 1)
    setup, _, _ = assemble(task, derived, lambda line: None, None)
    loader = BatchLoader(setup)

    def steps(first: int, last: int) -> None:
        for step in range(first, last):
            gradient(setup, loader, step, ())
            update(setup, step, 1e-4)

    steps(0, WARM)
    with record(activities=[ProfilerActivity.CPU]) as recorded:
        steps(WARM, WARM + STEPS[shape])
    times = {event.key: event.self_cpu_time_total for event in recorded.key_averages()}
    total, by_kind = sum(times.values()), {}
    for kind, names in KINDS.items():
        found = [time for name, time in times.items() if name.startswith(names)]
        assert found, f"nothing of the kind {kind} was recorded"
        by_kind[kind] = sum(found) / total
    by_kind["rest"] = 1 - sum(by_kind.values())
    products = by_kind["linear"] + by_kind["attention"]
    shares = "".join(f"{share:10.0%}" for share in by_kind.values())
    return f"{shape:5}{shares}{1 / products:10.2f} x"


def main(shapes: tuple[str, ...]) -> None:
    """Profile each shape in a process of its own; the table is kept beside this script."""
    size = f"one thread, batches of {SAMPLES} x {CONTEXT} = {BATCH:,} tokens"
    lines = [f"{date.today()}  bfloat16, compiled, {size}; shares of a step's time"]
    lines.append(" " * 5 + "".join(f"{kind:>10}" for kind in (*KINDS, "rest")) + "   at most")
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "speed.yaml").write_text(RECIPE)
        for shape in shapes:
            command = [sys.executable, __file__, "child", shape, folder]
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env=environment
            )
            lines.append(done.stdout.strip().splitlines()[-1])
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(profile(sys.argv[2], Path(sys.argv[3])))
    else:
        main(tuple(sys.argv[1:]) or SHAPES)
