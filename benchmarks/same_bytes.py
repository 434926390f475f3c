"""Hashes of what five small recipes write: a change that should change no numbers keeps them all.

    python benchmarks/same_bytes.py FOLDER [> FILE]

From scratch, continued with replay, continued with a limit of forgetting, two processes, a study
with its laws, and experts with an addition and an evaluation. Weights, metrics, held-out losses,
laws and evaluations. The bytes differ between kinds of processors, so that both sides of a
comparison are run on one machine; FOLDER is made anew.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs/examples"
CONTINUED = ("train.base=one", "train.mixture={qab: 100%}", "train.replay={qaa: 20%}")
SHORT = ("train.budget=40k tokens",)
TORCHRUN = (
    *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    *("-m", "tongues"),
)
KEPT = ("*.safetensors", "metrics.jsonl", "evals.jsonl", "router.npz", "laws.json")


def call(folder: Path, *words: str, by: tuple[str, ...] = ("-m", "tongues")) -> str:
    """Run a command in the folder; returns what it printed."""
    done = subprocess.run([sys.executable, *by, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def digest(content: bytes) -> str:
    """The beginning of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def main() -> None:
    """Run all of it and print a line for each file."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    one, study = str(EXAMPLES / "one.yaml"), str(EXAMPLES / "study.yaml")
    call(folder, "prepare", one)
    call(folder, "train", one)
    call(folder, "train", one, "train.run=near", *CONTINUED)
    call(folder, "train", one, "train.run=hold", *CONTINUED, "train.max_forgetting={qaa: 2%}")
    call(folder, "train", one, "train.run=two", *SHORT, by=TORCHRUN)
    call(folder, "prepare", study)
    call(folder, "study", study)
    family = str(EXAMPLES / "family.yaml")
    call(folder, "prepare", family)
    call(folder, "train", family)
    call(folder, "experts", "train", str(EXAMPLES / "experts.yaml"))
    call(folder, "prepare", str(EXAMPLES / "more.yaml"))
    call(folder, "experts", "train", str(EXAMPLES / "more.yaml"))
    evaluated = call(folder, "evaluate", "one", "near", "--text", "tokens/one", "--json")
    for pattern in KEPT:
        for path in sorted(folder.rglob(pattern)):
            print(digest(path.read_bytes()), path.relative_to(folder))
    print(digest(call(folder, "fit", "runs/study", "--json").encode()), "fit --json")
    print(digest(evaluated.encode()), "evaluate --json")


if __name__ == "__main__":
    main()
