"""Training where other programs compute on the same cores, by the number of its threads.

usage: python benchmarks/busy.py [ROUNDS] [STEPS] [OTHERS ...]

Meanwhile that many other processes compute; by default as many as there are cores, then none.
"before" is what torch and GNU OpenMP do by themselves: a thread a core, which keeps its core for
some milliseconds while it waits.
Each training is a command of its own, and they take turns. The load is that of the whole machine.
`demo` is all of `tongues demo --experts` in an empty folder.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from tongues.files import read_lines
from tongues.runs import read_run

SHAPES, BATCH, CONTEXT = ("0.2M", "1.4M"), 2048, 128
RECIPE = f"""
name: busy
text: {{synthetic: {{seed: 1, size: 2 MB, languages: {{qaa: {{}}, qab: {{}}}}}}}}
tokens: {{vocab_size: 2048, held_out: 8192 tokens}}
model: {{shape: 0.2M}}
train: {{mixture: {{qaa: 80%, qab: 20%}}, budget: 1M tokens, batch: {BATCH} tokens,
        context: {CONTEXT} tokens, num_evals: 1, compile: "off", precision: float32}}
"""
CORES = len(os.sched_getaffinity(0))
# Environment and settings of each kind; 300,000 turns is what OpenMP waits by itself.
KINDS: dict[str, tuple[dict[str, str], list[str]]] = {
    "default": ({}, []),
    "by hand": ({"OMP_NUM_THREADS": "1"}, []),
    "before": ({"GOMP_SPINCOUNT": "300000"}, [f"train.threads={CORES}"]),
}


@contextmanager
def others(count: int) -> Iterator[None]:
    """Other processes that compute meanwhile."""
    code = "while True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def command(workspace: Path, verb: str, *settings: str, **environment: str) -> None:
    """A verb on the recipe."""
    known = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
    base = {name: value for name, value in os.environ.items() if name not in known}
    words = [sys.executable, "-m", "tongues", verb, "busy.yaml", *settings]
    done = subprocess.run(
        words, cwd=workspace, env=base | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def trained(
    workspace: Path, shape: str, steps: int, kind: str, turn: str
) -> tuple[float, float, int]:
    """Tokens per second of the training loop, seconds of the whole command, and its threads."""
    environment, settings = KINDS[kind]
    budget = f"train.budget={steps * BATCH} tokens"
    start = time.monotonic()
    command(
        workspace,
        "train",
        f"train.run={turn}",
        f"model.shape={shape}",
        budget,
        *settings,
        **environment,
    )
    seconds = time.monotonic() - start
    run = read_run(workspace / "runs" / turn)
    assert run.seconds
    assert run.engine
    changed = [
        row["threads"]
        for row in read_lines(workspace / "runs" / turn / "events.jsonl")
        if "threads" in row
    ]
    return steps * BATCH / run.seconds, seconds, [run.engine["threads"], *changed][-1]


def demonstrated(kind: str) -> float:
    """Seconds of `tongues demo --experts` in an empty folder."""
    known = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
    base = {name: value for name, value in os.environ.items() if name not in known}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "tongues", "demo", "--experts"]
        subprocess.run(
            words, cwd=folder, env=base | KINDS[kind][0], capture_output=True, check=True
        )
    return time.monotonic() - start


def main(rounds: int, steps: int, counts: list[int]) -> None:
    """Train by each kind; the outcome is kept next to this script."""
    lines = [f"{date.today()}  {platform.processor() or platform.machine()}, {CORES} cores, "]
    lines[0] += f"{steps} steps of {BATCH} tokens, {rounds} rounds: medians"
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "busy.yaml").write_text(RECIPE)
        command(workspace, "prepare")
        for count in counts:
            load = Path("/proc/loadavg").read_text().split()[0]
            lines += ["", f"{count} other processes of this benchmark (load before: {load})"]
            lines += [f"{'shape':8}{'threads':10}{'tokens/s':>10}{'command':>10}{'threads':>9}"]
            with others(count):
                for kind in ("default", "by hand"):
                    seconds = statistics.median(demonstrated(kind) for _ in range(rounds))
                    lines.append(f"{'demo':8}{kind:10}{'':10}{seconds:9.1f}s")
                    print(lines[-1], flush=True)
                for place, shape in enumerate(SHAPES):
                    kinds = list(KINDS)[: 2 if place else 3]  # the slowest for the smallest alone
                    results = [
                        {
                            kind: trained(
                                workspace, shape, steps, kind, f"{count}-{shape}-{turn}-{kind[:2]}"
                            )
                            for kind in kinds
                        }
                        for turn in range(rounds)
                    ]
                    for kind in kinds:
                        speed, seconds = (
                            statistics.median(result[kind][n] for result in results) for n in (0, 1)
                        )
                        used = "/".join(str(result[kind][2]) for result in results)
                        lines.append(f"{shape:8}{kind:10}{speed:10,.0f}{seconds:9.1f}s{used:>9}")
                        print(lines[-1], flush=True)
            load = Path("/proc/loadavg").read_text().split()[0]
            lines.append(f"load after: {load}")
            Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    rounds, steps, *counts = numbers + [2, 40][len(numbers) :]
    main(rounds, steps, counts or [CORES, 0])
