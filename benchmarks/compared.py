"""A run, what was continued from it, its twin from scratch and an ensemble, judged by one command.

usage: python benchmarks/compared.py --workspace WORKSPACE [--data FOLDER]

WORKSPACE: where `tongues study real_text.yaml` ran. Trains experts of its three languages from the
English model (compared.yaml), then evaluates four models of 1.4M on held-out text and on two
tasks, XCOPA and PAWS-X. FOLDER: the tasks' items. What the command says is printed, and kept in
compared.txt beside this script; the page lies in WORKSPACE/reports.
"""

import argparse
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
MODELS = (
    "real/en-source-1.4M-s1",
    "real/fr-cpt-1.4M-s1",
    "real/fr-scratch-1.4M-s1",
    "real/languages-s1",
)


def tongues(*arguments: str) -> str:
    """Run a verb; what it prints."""
    command = [sys.executable, "-m", "tongues", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}")
    return done.stdout


def main(workspace: str, data: str) -> None:
    """Train, evaluate, keep."""
    tongues("experts", "train", str(HERE / "compared.yaml"), "--workspace", workspace)
    began = time.monotonic()
    tasks = ["xcopa:en,zh", "paws-x:en,fr,zh"]
    asked = ["--text", "real", *(part for task in tasks for part in ("--tasks", task))]
    with TemporaryDirectory() as items:  # the development set, in the place of the task's items
        (Path(items) / "paws-x").symlink_to(Path(data).resolve() / "pawsx_dev")
        said = tongues(
            *("evaluate", *MODELS, *asked, "--data", data, "--data", items),
            *("--workspace", workspace, "--name", "compared", "--compare"),
        )
    seconds = time.monotonic() - began
    *lines, page = said.splitlines()
    found = "\n".join([f"{date.today()}, {seconds:.0f} s for all of it", "", *lines, ""])
    print(found, page)
    (HERE / "compared.txt").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", dest="workspace", required=True)
    parser.add_argument("--data", default="../shared/data/eval")
    given = parser.parse_args()
    main(given.workspace, given.data)
