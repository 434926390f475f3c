"""The words that the product says, in one file a subject: tests of facts leave them alone.

`golden("plan/no base", text)` compares a text with the block `no base` of `tests/golden/plan.txt`.
With TONGUES_GOLDEN=write in the environment, and one process of tests, the block is written.

A table of refusals is a subject whose titles are what is refused, as `cases` lists them: a further
case is a title with nothing below it, and then written.

Long tables of what tests give are files too: `inputs("gpus")` reads `tests/inputs/gpus.yaml`.
"""

import os
from pathlib import Path
from typing import Any

import yaml

__all__ = ["INPUTS", "cases", "golden", "inputs"]

INPUTS = Path(__file__).parent / "inputs"
_FOLDER = Path(__file__).parent / "golden"
_TITLE = "=== "


def golden(name: str, text: str) -> None:
    """Compare a text with what is kept under a name, `subject/block`."""
    subject, block = name.split("/", 1)
    path = _FOLDER / f"{subject}.txt"
    blocks = _read(path)
    text = text.strip("\n")
    if os.environ.get("TONGUES_GOLDEN") == "write":
        blocks[block] = text
        path.parent.mkdir(exist_ok=True)
        shown = (f"{_TITLE}{title}\n{blocks[title]}\n" for title in sorted(blocks))
        path.write_text("\n".join(shown), encoding="utf-8")
    assert block in blocks, f"{path.name} has no block `{block}`: TONGUES_GOLDEN=write adds it"
    assert text == blocks[block]


def cases(subject: str) -> list[str]:
    """The titles of a subject's blocks."""
    return list(_read(_FOLDER / f"{subject}.txt"))


def inputs(subject: str) -> Any:
    """What tests of a subject give: rows, or what is given by names."""
    return yaml.safe_load((INPUTS / f"{subject}.yaml").read_text(encoding="utf-8"))


def _read(path: Path) -> dict[str, str]:
    """The blocks of a file by their titles."""
    if not path.exists():
        return {}
    text = "\n" + path.read_text(encoding="utf-8")
    parts = (part.split("\n", 1) for part in text.split(f"\n{_TITLE}")[1:])
    return {title: block.strip("\n") for title, block in parts}
