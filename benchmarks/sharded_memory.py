"""Peak memory of each process of a run in shares, phase by phase, against what it should be.

Processes on the CPU (gloo), each on one thread, train the same model in float32, several
micro-batches a step. A phase's peak is what the system counts as resident, above what Python,
PyTorch and transformers take before there is a model. It should be the process's share of weights,
gradients and moments, with the largest layer gathered (its weights, their gradient, and that in
the order in which it is sent), and the activations by `tongues check`'s rule.

usage: python benchmarks/sharded_memory.py [PLACE] [SHAPE]
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import deque
from datetime import date
from pathlib import Path
from typing import Any

RECIPE = """
name: shares
text: {synthetic: {seed: 1, size: 2 MB, languages: {qaa: {}}}}
tokens: {vocab_size: 4096, held_out: 8000 tokens}
model: {shape: SHAPE}
train: {mixture: {qaa: 100%}, budget: 20k tokens, batch: 1024 tokens, context: 128 tokens,
        micro_batch: 128 tokens, precision: float32, compile: "off", threads: 1}
"""
STEPS = 2
PHASES = ("start", "training", "checkpoint", "resume", "export")
LAYOUTS: tuple[tuple[int, int | None], ...] = ((1, None), (2, None), (4, None), (4, 2))


def status(field: str) -> int:
    """Bytes of a field of this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def child(recipe: Path, workspace: Path, shards: int | None) -> None:
    """Go through all phases of a run as one of its processes; print the peak of each."""
    from tongues.models.huggingface import load_model
    from tongues.recipe import load_recipe
    from tongues.text.tokens import open_tokens
    from tongues.train import derive, run_of_recipe
    from tongues.train.checkpoint import Checkpoints, Position
    from tongues.train.engine.processes import join_processes
    from tongues.train.engine.sharding import gather_layers, is_sharded
    from tongues.train.start import LocalRun, assemble
    from tongues.train.step import BatchLoader, gradient, update
    from tongues.train.work import open_work

    changes = [f"train.shards={shards}"] if shards else []
    processes, plan = join_processes("cpu"), run_of_recipe(open_work(load_recipe(recipe, changes)))
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    derived = derive(plan, tokens.vocabulary_size)
    empty, peaks = status("VmRSS"), list[int]()

    def mark() -> None:
        peaks.append(status("VmHWM") - empty)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again at what there is

    Path("/proc/self/clear_refs").write_text("5")
    here = LocalRun(plan, tokens, None, None, workspace, processes, 1)
    setup, _, _ = assemble(here, derived, lambda line: None, None)
    mark()
    loader, losses = BatchLoader(setup), []
    for step in range(STEPS):
        losses.append(gradient(setup, loader, step, ()).loss)
        update(setup, 1e-4)
    mark()
    parts = (setup.scorer, setup.optimizer, processes)
    with Checkpoints(workspace / "checkpoints", *parts) as checkpoints:
        checkpoints.save(Position(STEPS, 0.0, 0.0))
        losses.append(gradient(setup, loader, STEPS, ()).loss)  # meanwhile
        checkpoints.wait()
        setup.optimizer.zero_grad()
        mark()
        checkpoints.load()
        mark()
    if is_sharded(setup.scorer):
        from tongues.models.huggingface import save_model

        groups = gather_layers(setup.scorer, processes)
        if processes.first:
            (workspace / "model").mkdir(exist_ok=True)
            save_model(setup.scorer.model, workspace / "model", None, groups)
        deque(groups, maxlen=0)
    mark()
    anatomy = derived.anatomy
    layer = (anatomy.parameters["total"] - anatomy.parameters["embedding"]) // anatomy.layers
    one = {"total": anatomy.parameters["total"], "layer": layer, "activations": activations(setup)}
    print(json.dumps({"rank": processes.rank, "peaks": peaks, "losses": losses, **one}), flush=True)
    processes.sum([0.0])
    if processes.first and is_sharded(setup.scorer):
        load_model(workspace / "model")
    os._exit(0)


def activations(setup: Any) -> int:
    """Bytes of a micro-batch in float32, by the rule of `tongues check`."""
    from tongues.train.rules import layer_bytes

    anatomy, context = setup.derived.anatomy, setup.plan.settings.context
    sizes = [layer_bytes(anatomy, count, context, bfloat16=False) for count in (context, 0)]
    return sizes[0] - sizes[1]


def run(recipe: Path, place: Path, processes: int, shards: int | None) -> list[dict[str, Any]]:
    """What each process printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    everywhere = {"WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes)}
    everywhere |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "child", str(recipe), str(place), str(shards)]
    started = [
        subprocess.Popen(
            command,
            env=os.environ | everywhere | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    rows = []
    for process in started:
        out, error = process.communicate()
        assert process.returncode == 0, error
        rows += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return sorted(rows, key=lambda row: row["rank"])


def keep(line: str) -> None:
    """Print a line, and add it to the outcome that is kept next to this script."""
    print(line, flush=True)
    with Path(__file__).with_suffix(".txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def main() -> None:
    """Keep a table of peaks."""
    if sys.argv[1:2] == ["child"]:
        recipe, place, shards = sys.argv[2:]
        child(Path(recipe), Path(place), None if shards == "None" else int(shards))
    place = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    place.mkdir(exist_ok=True)
    recipe = place / "shares.yaml"
    shape = sys.argv[2] if len(sys.argv) > 2 else "105M"
    recipe.write_text(RECIPE.replace("SHAPE", shape))
    command = [sys.executable, "-m", "tongues", "prepare", str(recipe), "--workspace", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    Path(__file__).with_suffix(".txt").write_text("")
    keep(
        f"{date.today()}, {shape}; MB of the process that takes most; in brackets, by what it "
        "should be\n"
    )
    keep(f"{'processes':12}{'should be':>10}" + "".join(f"{name:>16}" for name in PHASES))
    by_one = list[float]()
    for processes, shards in LAYOUTS:
        rows = run(recipe, place, processes, shards)
        by_one = by_one or rows[0]["losses"]
        total, layer, kept = (rows[0][key] for key in ("total", "layer", "activations"))
        should = 16 * total / (shards or processes) + (12 * layer if processes > 1 else 0) + kept
        peaks = [max(row["peaks"][n] for row in rows) for n in range(len(PHASES))]
        cells = "".join(f"{peak / 1e6:9,.0f} ({peak / should:.2f})" for peak in peaks)
        off = max(abs(a - b) for a, b in zip(by_one, rows[0]["losses"], strict=True))
        name = f"{processes // shards} x {shards}" if shards else str(processes)
        keep(f"{name:12}{should / 1e6:10,.0f}{cells}   losses within {off:.0e}")


if __name__ == "__main__":
    main()
