"""A study on a real Slurm: killed and stopped runs, a killed command, another launcher's turn.

usage: python benchmarks/slurm.py PARTITION

`benchmarks/one_node_slurm.sh` makes a Slurm of one machine. What is trained is compared, byte for
byte, with the same study trained undisturbed by this machine's own launcher.
"""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path

from tongues.launch import open_launcher
from tongues.recipe import load_recipe
from tongues.states import RunState, states
from tongues.study import plan_runs, run_all
from tongues.tokens import prepare_tokens

RECIPE = """
name: slurm
text: {synthetic: {seed: 1, size: 1 MB, languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}
tokens: {vocab_size: 1024, held_out: 8192 tokens}
train: {budget: 400k tokens, batch: 1024 tokens, context: 128 tokens, threads: 1,
        checkpoint_every: 0.5 seconds}
study: {source: qaa, targets: [qab], shapes: [0.1M, 0.2M], replay: [0%, 20%]}
"""
SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")
PATIENCE = 600  # seconds


def started(recipe: Path, *options: str) -> subprocess.Popen[str]:
    """The command `tongues study`."""
    command = [
        sys.executable,
        "-m",
        "tongues",
        "study",
        str(recipe),
        "--workspace",
        str(recipe.parent),
    ]
    piped = subprocess.PIPE
    return subprocess.Popen([*command, *options], stdout=piped, stderr=piped, text=True)


def jobs(state: str = "all") -> list[str]:
    """The numbers of our jobs in the queue."""
    command = ["squeue", "--me", "--noheader", "--format=%i", f"--states={state}"]
    command = command if state != "all" else command[:-1]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def stands(workspace: Path) -> dict[str, RunState]:
    """How each run stands, by its name."""
    return {state.run.rpartition("/")[2]: state for state in states([workspace / "runs"])}


def wait_for(seen: Callable[[], object]) -> None:
    """Wait until something is to be seen."""
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def going(workspace: Path, name: str) -> bool:
    """Whether a run has come some way and is on its way."""
    with suppress(Exception):
        state = stands(workspace)[name]
        return state.state == "running" and (state.step or 0) > 20
    return False


def process_of(name: str) -> int:
    """The process that trains a run."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_text().split("\0")
            if "tongues.launch.job" in words and any(f"-{name}-" in word for word in words):
                return int(path.parent.name)
    raise LookupError(name)


def digest(workspace: Path) -> str:
    """SHA-256 of the weights and numbers of all runs."""
    found = hashlib.sha256()
    for run in sorted(path.parent for path in workspace.glob("runs/*/*/run.json")):
        for name in SAME:
            found.update((run / name).read_bytes())
    return found.hexdigest()[:16]


def said(process: subprocess.Popen[str]) -> str:
    """How a command ended, and its last words."""
    _, words = process.communicate(timeout=PATIENCE)
    last = [line.strip() for line in words.splitlines() if line.strip()][-2:]
    return f"ended with exit code {process.returncode}: {' | '.join(last)}"


def shown(recipe: Path, partition: str) -> Iterator[str]:
    """Everything that is done to a study, and what it says."""
    workspace, options = recipe.parent, ("--launcher", f"slurm:partition={partition}")
    name = "qaa-source-0.1M-s1"
    command = started(recipe, *options)
    wait_for(lambda: going(workspace, name))
    yield f"jobs in the queue: {len(jobs())}, of which run {len(jobs('running'))}"
    reached = jobs("running")
    subprocess.run(["scancel", "--batch", "--signal=TERM", *reached], check=True)
    wait_for(lambda: not set(reached) & set(jobs()))
    yield "what ran was sent SIGTERM, as Slurm does a minute before the time is over, and ended"
    wait_for(lambda: going(workspace, name))
    os.kill(process_of(name), signal.SIGKILL)
    yield f"{name} was queued again, goes on, and its process is killed (SIGKILL)"
    yield f"the command {said(command)}"
    for run, state in stands(workspace).items():
        yield f"  {run}: {state.state} {state.reason.strip()}"
    command = started(recipe, *options)
    wait_for(lambda: going(workspace, name))
    command.kill()
    command.wait()
    yield f"given again, the command is killed (SIGKILL); jobs left: {len(jobs())}"
    command = started(recipe, *options)
    wait_for(lambda: going(workspace, "qab-cpt-0.1M-s1"))
    command.send_signal(signal.SIGINT)
    yield f"given again, it takes over; stopped (SIGINT), it {said(command)}"
    yield f"jobs left: {len(jobs())}"
    yield f"given again without Slurm, it {said(started(recipe))}"


def main(partition: str) -> None:
    """Disturb one study and leave another alone; the outcome is kept beside this script."""
    lines = [f"{date.today()}  a study of 8 runs on Slurm"]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        recipes = [Path(folder) / name / "slurm.yaml" for name in ("alone", "disturbed")]
        for path in recipes:
            path.parent.mkdir()
            path.write_text(RECIPE)
            prepare_tokens(load_recipe(path), path.parent, lambda line: None)
        start = time.monotonic()
        for line in shown(recipes[1], partition):
            line = line.replace(str(recipes[1].parent), "WORKSPACE")
            lines.append(f"{time.monotonic() - start:5.0f} s  {line}")
            print(lines[-1], flush=True)
        run_all(plan_runs(load_recipe(recipes[0])), recipes[0].parent, launcher=open_launcher())
        alone, disturbed = (digest(path.parent) for path in recipes)
        verdict = "the same bytes" if alone == disturbed else "OTHER BYTES"
        lines.append(f"weights and numbers of all runs, against a study left alone: {verdict}")
        print(f"{lines[-1]} ({alone}, {disturbed})")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
