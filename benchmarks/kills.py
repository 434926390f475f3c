"""A run killed (kill -9) at random moments and resumed ends with the bytes of one left alone.

usage: python benchmarks/kills.py [KILLS OF ONE PROCESS] [KILLS OF TWO] [KILLS OF CHANGING COUNTS]

Every second kill waits for a checkpoint that is half written. Of two processes, a kill takes both
and their torchrun, or one of the two. At last the number of processes changes with every kill: sums
of other parts are rounded otherwise, so losses are compared, in float32.
"""

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from os import kill
from pathlib import Path

from tongues.core.files import read_lines

STEPS = 1000
RECIPE = """
name: NAME
text: {synthetic: {seed: 1, size: 2 MB, languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}
tokens: {vocab_size: 1024, held_out: 8192 tokens}
model: {shape: 0.2M}
train: {mixture: {qaa: 80%, qab: 20%}, budget: BUDGET tokens, batch: 1024 tokens,
        context: 128 tokens, checkpoint_every: 0.2 seconds, threads: 1}
"""
SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
COUNTS = (2, 4, 1)  # of processes, in turn
PATIENCE = 120  # seconds


def tongues(verb: str, recipe: Path, processes: int = 1) -> list[str]:
    """The command line of a verb on a recipe."""
    start = [sys.executable] if processes == 1 else [*TORCHRUN, str(processes)]
    return [*start, "-m", "tongues", verb, str(recipe), "--workspace", str(recipe.parent)]


def digests(run: Path) -> dict[str, str]:
    """SHA-256 of the weights and of every logged number."""
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in SAME}


def step_of(run: Path) -> int:
    """The newest step in a run's metrics."""
    rows = read_lines(run / "metrics.jsonl")
    return rows[-1]["step"] if rows else 0


def children(process: int) -> list[int]:
    """The processes that a process started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(number) for number in listed]


def kill_once(command: list[str], run: Path, steps: int, chance: random.Random, half: bool) -> str:
    """Start the command, let it get some steps further and kill it; returns what happened."""
    goal = step_of(run) + steps
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and step_of(run) < goal:
        time.sleep(0.002)
    time.sleep(chance.random() * 0.1)
    deadline = time.monotonic() + 2
    while half and not list(run.glob("checkpoints/.*.part")) and time.monotonic() < deadline:
        time.sleep(0.0005)
    if process.poll() is not None:
        return "it had ended"
    ranks = children(process.pid) if command[: len(TORCHRUN)] == list(TORCHRUN) else []
    victims = [chance.choice(ranks)] if ranks and chance.random() < 0.5 else [process.pid, *ranks]
    for victim in victims:
        kill(victim, signal.SIGKILL)
    process.wait(PATIENCE)
    halves = len(list(run.glob("checkpoints/.*.part")))
    who = f"one of {len(ranks)} processes, " if ranks and len(victims) == 1 else ""
    return f"{who}near step {step_of(run)}" + ", a checkpoint half written" * bool(halves)


def compare(folder: Path, processes: int, kills: int) -> list[str]:
    """Run one alone, kill the other, compare."""
    chance = random.Random(11)
    lines = [f"{processes} process{'es' * (processes > 1)}, {kills} kills"]
    recipes = {name: folder / f"{name}{processes}.yaml" for name in ("alone", "killed")}
    for name, path in recipes.items():
        path.write_text(RECIPE.replace("NAME", path.stem).replace("BUDGET", str(STEPS * 1024)))
        subprocess.run(tongues("prepare", path), check=True, capture_output=True)
        if name == "alone":
            subprocess.run(tongues("train", path, processes), check=True, capture_output=True)
    run = folder / "runs" / recipes["killed"].stem
    command = tongues("train", recipes["killed"], processes)
    for number in range(kills):
        steps = round(chance.random() * 2 * STEPS / (kills + 1))
        lines.append(f"  {kill_once(command, run, steps, chance, half=number % 2 == 1)}")
        print(lines[-1], flush=True)
    subprocess.run(command, check=True, capture_output=True)
    alone = digests(folder / "runs" / recipes["alone"].stem)
    for name, digest in digests(run).items():
        verdict = "the same bytes" if digest == alone[name] else "OTHER BYTES"
        lines.append(f"  {name}: {verdict} ({digest[:16]})")
        print(lines[-1], flush=True)
    return lines


def compare_counts(folder: Path, kills: int) -> list[str]:
    """Run one process alone; kill another run and go on with other counts; compare the losses."""
    chance, losses = random.Random(12), []
    lines = [f"{', '.join(map(str, COUNTS))} processes in turn, {kills} kills, float32"]
    for name, deaths in (("one", 0), ("changing", kills)):
        path = folder / f"{name}.yaml"
        text = RECIPE.replace("NAME", name).replace("BUDGET", str(STEPS * 1024))
        path.write_text(text.replace("threads: 1", "threads: 1, precision: float32"))
        subprocess.run(tongues("prepare", path), check=True, capture_output=True)
        run = folder / "runs" / name
        for number in range(deaths):
            count = COUNTS[number % len(COUNTS)]
            command = tongues("train", path, count)
            what = kill_once(command, run, STEPS // (kills + 1), chance, half=number % 2 == 1)
            lines.append(f"  by {count}: {what}")
            print(lines[-1], flush=True)
        subprocess.run(tongues("train", path, 1 + bool(deaths)), check=True, capture_output=True)
        losses.append([row["loss"] for row in read_lines(run / "metrics.jsonl")])
    alone, changing = losses
    assert len(alone) == len(changing)
    apart = [abs(one - other) / one for one, other in zip(alone, changing, strict=True)]
    lines.append(f"  {len(apart)} logged losses within {max(apart):.0e} of one process's, each by")
    lines[-1] += f" its size; the last {alone[-1]:.6f} and {changing[-1]:.6f}"
    print(lines[-1], flush=True)
    return lines


def main(of_one: int, of_two: int, of_counts: int) -> None:
    """Kill one process, then two, then changing counts; the outcome is kept beside this script."""
    lines = [f"{date.today()}  0.2M, {STEPS} steps, a checkpoint every 0.2 seconds"]
    with tempfile.TemporaryDirectory() as folder:
        for processes, kills in ((1, of_one), (2, of_two)):
            lines += compare(Path(folder), processes, kills)
        lines += compare_counts(Path(folder), of_counts)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    asked = [int(argument) for argument in sys.argv[1:]]
    main(*(asked or (50, 10, 6)))
