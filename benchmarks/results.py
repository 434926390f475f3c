"""Which results here are of the scripts beside them, and of which commit of the package.

usage: python benchmarks/results.py [NAME …]

Without names it lists the results that are not of their scripts, and ends with an error if there
are any. A name, such as `fit`, is a result made again just now: its row in `results.csv` gets the
commit and the script. `since` says why a result still stands though its script has changed.
"""

import ast
import csv
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
ROWS = HERE / "results.csv"


def mark(script: Path) -> str:
    """A hash of a script, but for its imports, docstrings and empty lines."""
    text = script.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    code = [line for number, line in lines if number not in left_out and line.strip()]
    return sha256("\n".join(code).encode()).hexdigest()[:12]


def read_rows() -> dict[str, dict[str, str]]:
    """The rows of `results.csv`, by the name of the result."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return {row["result"]: row for row in csv.DictReader(file)}


def stale() -> dict[str, str]:
    """What is wrong, by result: no row, or another script than that of its row."""
    rows, wrong = read_rows(), dict[str, str]()
    for result in sorted(HERE.glob("*.txt")):
        script, row = result.with_suffix(".py"), rows.get(result.stem)
        if row is None:
            wrong[result.stem] = "has no row in results.csv"
        elif script.exists() and mark(script) != row["script"]:
            wrong[result.stem] = f"its script has changed since {row['commit']}: run it again"
    wrong |= {name: "is not here" for name in rows if not (HERE / f"{name}.txt").exists()}
    return wrong


def renew(names: list[str]) -> None:
    """Write the rows of results that were made just now."""
    git = ["git", "-C", str(HERE), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    rows = read_rows()
    for name in names:
        script = HERE / f"{name}.py"
        found = mark(script) if script.exists() else ""
        rows[name] = {"result": name, "commit": commit, "script": found, "since": ""}
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["result", "commit", "script", "since"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))


if __name__ == "__main__":
    if sys.argv[1:]:
        renew(sys.argv[1:])
    elif wrong := stale():
        raise SystemExit("\n".join(f"{name}: {why}" for name, why in wrong.items()))
