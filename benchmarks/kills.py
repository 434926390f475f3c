"""A run killed (kill -9) at ten random moments and resumed ends with the bytes of one left alone.

usage: python benchmarks/kills.py [KILLS]
"""

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from tongues.files import read_lines

RECIPE = """
name: NAME
text: {made: {seed: 1, size: 2 MB, languages: {qaa: {}, qab: {mother: qaa, distance: 0.2}}}}
tokens: {vocabulary: 1024, held_out: 8192 tokens}
model: {shape: 0.2M}
train: {mixture: {qaa: 80%, qab: 20%}, budget: 1500k tokens, batch: 2048 tokens,
        context: 128 tokens, checkpoint_every: 0.1 seconds}
"""
SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")


def tongues(verb: str, recipe: Path) -> list[str]:
    """The command line of a verb on a recipe."""
    return [sys.executable, "-m", "tongues", verb, str(recipe), "--in", str(recipe.parent)]


def digests(run: Path) -> dict[str, str]:
    """SHA-256 of the weights and of every logged number."""
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in SAME}


def kill(command: list[str], run: Path, after: float) -> str:
    """Start the command and kill it that long after its first new sign of life."""
    before = len(read_lines(run / "metrics.jsonl"))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(read_lines(run / "metrics.jsonl")) == before:
        time.sleep(0.005)
    time.sleep(after)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    rows = read_lines(run / "metrics.jsonl")
    step = rows[-1]["step"] if rows else 0
    halves = len(list(run.glob("checkpoints/.*.part")))
    return f"killed {after:.2f} s in, near step {step}" + (
        f", {halves} checkpoint half written" * bool(halves) if alive else " (it had ended)"
    )


def main(kills: int) -> None:
    """Run one alone, kill the other, compare; the outcome is kept beside this script."""
    chance = random.Random(11)
    lines = [f"{date.today()}  0.2M, two threads, {kills} kills at random moments"]
    with tempfile.TemporaryDirectory() as folder:
        recipes = {name: Path(folder) / f"{name}.yaml" for name in ("alone", "killed")}
        for name, path in recipes.items():
            path.write_text(RECIPE.replace("NAME", name))
            subprocess.run(tongues("prepare", path), check=True, capture_output=True)
            if name == "alone":
                subprocess.run(tongues("train", path), check=True, capture_output=True)
        killed = Path(folder) / "runs" / "killed"
        for _ in range(kills):
            lines.append(kill(tongues("train", recipes["killed"]), killed, chance.random() * 4))
            print(lines[-1], flush=True)
        subprocess.run(tongues("train", recipes["killed"]), check=True, capture_output=True)
        alone = digests(Path(folder) / "runs" / "alone")
        for name, digest in digests(killed).items():
            verdict = "the same bytes" if digest == alone[name] else "OTHER BYTES"
            lines.append(f"{name}: {verdict} ({digest[:16]})")
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10)
