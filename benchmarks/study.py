"""The experiment of cross-lingual continual pre-training, on synthetic languages and two cores.

usage: python benchmarks/study.py [--workspace WORKSPACE] [RECIPE]

Prepares `study.yaml` (or another recipe, such as `real_text.yaml`) and runs `tongues study` and
`tongues report` on it as a user would, then prints how long the study took and what became of each
of the method's findings, with intervals; also to the file of the recipe's name beside this script.
Stopped, it goes on, and the time is that of the last sitting alone. Start it in the project's root,
from where the recipes' paths go.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from tongues.recipe import load_recipe
from tongues.runs import find_runs, read_run


def tongues(*arguments: str) -> None:
    """Run a verb; what it says goes to standard error."""
    command = [sys.executable, "-m", "tongues", *arguments]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}")


def number(value: float, unit: str) -> str:
    """A share at one decimal, anything else at three figures."""
    return f"{value:.1f}" if unit in ("%", "points") else f"{value:.3g}"


def lines_of(claim: dict[str, Any]) -> list[str]:
    """A finding, and the number of each of its parts."""
    lines = ["", f"{claim['finding']} {claim['verdict'].replace('`', '').upper()}"]
    lines.append(f"  ({claim['measure']}{', ' + claim['unit'] if claim['unit'] else ''})")
    for part in claim["parts"]:
        value, unit = part["value"], claim["unit"]
        share = "" if part["replay"] is None else f", {part['replay'] * 100:.3g} % replay"
        beside = f" beside {part['beside']}" if part["beside"] else ""
        between = "no interval"
        if value["low"] is not None:
            between = f"[{number(value['low'], unit)}, {number(value['high'], unit)}]"
        said = f"{number(value['value'], unit)} {between}, n = {value['n']}"
        lines.append(f"  {part['target'] + share + beside:30} {said:40} {part['verdict']}")
    return lines


def main(recipe: Path, workspace: Path) -> None:
    """Prepare, train, report; keep the outcome."""
    name = load_recipe(recipe).name
    tongues("prepare", str(recipe), "--workspace", str(workspace))
    started = time.monotonic()
    tongues("study", str(recipe), "--workspace", str(workspace))
    minutes = (time.monotonic() - started) / 60
    runs = workspace / "runs" / name
    tongues("report", str(runs), "-o", str(workspace / "report"))
    report = json.loads((workspace / "report" / "report.json").read_text())
    records = [read_run(place) for place in find_runs([runs])]
    hours = sum(record.seconds or 0.0 for record in records) / 3600
    flops = sum(record.flops for record in records)
    lines = [
        f"{date.today()}  {recipe.name}: {len(records)} runs, {flops:.2g} FLOPs,"
        f" {os.cpu_count()} cores: {minutes:.0f} minutes, {hours:.1f} hours of training in all",
        "Numbers are means with 95 % intervals; every part has its own verdict.",
    ]
    for claim in report["claims"]:
        lines += lines_of(claim)
    lines += ["", *report["sentences"], *report["left_out"]]
    print("\n".join(lines))
    Path(__file__).with_name(recipe.stem + ".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe", nargs="?", type=Path, default=Path(__file__).with_suffix(".yaml"))
    parser.add_argument("--workspace", dest="workspace", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = given.workspace or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        main(given.recipe.absolute(), place.absolute())
