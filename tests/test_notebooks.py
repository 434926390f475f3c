"""The notebooks run from top to bottom, each in a process of its own."""

import json
import os
from pathlib import Path

import pytest

from tests.command import run_code

NOTEBOOKS = Path(__file__).parents[1] / "docs/notebooks"
SAYS = {  # what the reader is to see
    "law-from-csv": ("chinchilla", "Train a model from scratch"),
    "forecast-to-plan": ("tongues prepare", "Llama-3.2-1B", "name: smollm2-135m-sw"),
    "reading-an-evaluation": ("replay minus plain", "20 % replay: "),
}


def code(name: str) -> str:
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_all_are_run() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SAYS)


@pytest.mark.parametrize(
    "name",
    [
        "law-from-csv",
        "forecast-to-plan",
        pytest.param("reading-an-evaluation", marks=pytest.mark.slow),
    ],
)
def test_a_notebook_runs_and_shows_what_it_is_about(name: str) -> None:
    root = str(NOTEBOOKS.parents[1])
    done = run_code(code(name), NOTEBOOKS, os.environ | {"PYTHONPATH": root})
    assert done.returncode == 0, done.stderr
    for words in SAYS[name]:
        assert words in done.stdout
