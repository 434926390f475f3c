"""What evaluating, checkpointing and watching add to the time of a run.

The same run without and with each, by turns, each much denser than by default so that it shows;
then what a run with the default settings pays, by arithmetic. Two languages, all held-out text.

usage: python benchmarks/overhead.py [ROUNDS]
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from tongues.files import append_line
from tongues.models import find_shape, of_shape
from tongues.runs import read_run
from tongues.train.progress import Meter, peak_memory
from tongues.train.spikes import Recent, judge

SHAPE, VOCABULARY, BUDGET, HELD_OUT = "1.4M", 8192, 768_000, 150_000
RECIPE = f"""
name: overhead
text:
  synthetic:
    seed: 1
    size: 6 MB
    languages: {{qaa: {{}}, qab: {{parent: qaa, divergence: 0.2}}}}
tokens: {{vocab_size: {VOCABULARY}, held_out: {HELD_OUT} tokens}}
model: {{shape: {SHAPE}}}
train: {{mixture: {{qaa: 50%, qab: 50%}}, budget: {BUDGET} tokens, compile: off}}
"""
EVERY = 4  # seconds between checkpoints where they are made
WAYS = {  # evaluations besides the start, seconds between checkpoints, tracker
    "without": (1, 36_000, None),
    "evaluating": (10, 36_000, None),
    "checkpointing": (1, EVERY, None),
    "tracking": (1, 36_000, "tensorboard"),
    "all": (10, EVERY, "tensorboard"),
}
# Of a run with the default settings: tokens scored a language, evaluations, seconds.
DEFAULT_SCORED, DEFAULT_EVALUATIONS, DEFAULT_EVERY = 100_000, 11, 60
SHAPES = ("0.4M", "1.4M", "5M", "22M")


def tongues(*arguments: str) -> None:
    """Run a verb; what it says is shown when it fails."""
    done = subprocess.run([sys.executable, "-m", "tongues", *arguments], capture_output=True)
    if done.returncode:
        raise SystemExit(done.stderr.decode())


def seconds(folder: str, way: str, turn: int) -> float:
    """Of training: the first evaluation and the start of the process are not in it."""
    evaluations, every, track = WAYS[way]
    settings = [f"train.run={way}-{turn}", f"train.num_evals={evaluations}"]
    settings += [f"train.checkpoint_every={every} seconds"]
    settings += [f"train.track={track}"] if track else []
    tongues("train", f"{folder}/overhead.yaml", "--workspace", folder, *settings)
    taken = read_run(Path(folder) / "runs" / f"{way}-{turn}").seconds
    assert taken is not None, "a finished run has its seconds"
    return taken


def watching(folder: str, steps: int = 20_000) -> float:
    """Seconds a step that judging, metering and logging take."""
    file = Path(folder) / "metrics.jsonl"
    meter = Meter(
        0,
        steps,
        seconds=0.0,
        batch=2048,
        flops_per_token=1e7,
        ceiling=1e12,
        memory=lambda: peak_memory("cpu"),
    )
    recent = Recent()
    row = {
        "step": 1,
        "tokens": 2048,
        "loss": 3.123456789,
        "learning_rate": 0.001234,
        "norm": 0.987654321,
    }
    started = time.process_time()
    for step in range(1, steps + 1):
        judge(recent, 3.0 + step % 7 / 100, 1.0)
        recent = recent.followed_by(3.0 + step % 7 / 100, 1.0)
        meter.read(step, loss=3.0, losses={}, rate=1e-3, spikes=0)
        if step % (steps // 200) == 0:
            append_line(file, row)
    return (time.process_time() - started) / steps


def main(rounds: int) -> None:
    """Measure by turns and keep the outcome beside this script."""
    ways = [
        way
        for way, (_, _, track) in WAYS.items()
        if track is None or importlib.util.find_spec(track)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "overhead.yaml").write_text(RECIPE)
        tongues("prepare", f"{folder}/overhead.yaml", "--workspace", folder)
        seconds(folder, "without", -1)  # warms the machine's caches
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(rounds):
            for way in ways:
                taken[way].append(seconds(folder, way, turn))
                print(turn, way, f"{taken[way][-1]:.2f} s", flush=True)
        a_step = watching(folder)
    base = statistics.median(taken["without"])
    added = {
        way: statistics.median(
            (x - y) / y for x, y in zip(taken[way], taken["without"], strict=True)
        )
        for way in ways
    }
    step = base / (BUDGET / 2048)
    parameters = of_shape(find_shape(SHAPE), VOCABULARY).parameters["total"]
    per_token = added["evaluating"] * BUDGET / (9 * 2 * HELD_OUT)  # nine more evaluations
    checkpoints = base * (1 + added["checkpointing"]) // EVERY
    a_checkpoint = added["checkpointing"] * base / checkpoints
    spread = (max(taken["without"]) - min(taken["without"])) / base
    lines = [
        f"{date.today()}  {SHAPE}, vocabulary {VOCABULARY:,}, batch 2,048, context 128, bfloat16"
        f" where the processor has it, {os.cpu_count()} cores; {rounds} rounds, medians",
        f"without: {BUDGET / base:,.0f} tokens/s, {step * 1e3:.1f} ms a step"
        f" (spread of the rounds {spread:.1%})",
        *(f"{way}: {share:+.2%}" for way, share in added.items() if way != "without"),
        f"scoring a held-out token costs as much as training on {per_token:.2f} tokens",
        f"a checkpoint costs {a_checkpoint:.3f} s ({parameters * 12 / 1e6:.0f} MB)",
        f"watching costs {a_step * 1e6:.0f} µs a step",
        "",
        f"a run of 20 tokens per parameter with the default settings ({DEFAULT_EVALUATIONS}"
        f" evaluations on {DEFAULT_SCORED:,} tokens of each of two languages,"
        f" a checkpoint every {DEFAULT_EVERY} s):",
        "shape   tokens   evaluating   checkpoints   watching   together",
    ]
    for shape in SHAPES:
        counts = of_shape(find_shape(shape), VOCABULARY).parameters
        tokens = 20 * counts["total"]
        size = counts["total"] / parameters
        shares = (
            per_token * DEFAULT_EVALUATIONS * 2 * DEFAULT_SCORED / tokens,
            a_checkpoint * size / DEFAULT_EVERY,
            a_step / (step * size),
        )
        columns = "".join(f"{share:>13.2%}" for share in (*shares, sum(shares)))
        lines.append(f"{shape:<6}{tokens / 1e6:>6.0f} M{columns}")
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 4)
