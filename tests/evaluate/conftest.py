from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.experts.ensemble.making import make_ensemble, make_house
from tests.text.corpora import write_rows
from tongues.evaluate.tasks import TASKS, Task

PARTS = Task("parts", "which words go on", "{said}", ("{one}", "{other}"))
WORDS = ("ban", "mal", "art", "end", "said", "here", "that", "go", "on")


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house of models, and an ensemble `small/copies` of one."""
    place = make_house(tmp_path_factory.mktemp("house"))
    copies = [place / "models/e1"] * 3
    make_ensemble(place, copies, place / "tokenizer/tokenizer.json", name="copies")
    return place


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task `parts` is one of those registered."""
    monkeypatch.setitem(vars(TASKS)["_objects"], "parts", PARTS)


def write_asked(folder: Path, texts: Sequence[Any], items: Sequence[Any], *languages: str) -> None:
    """Write texts and items in each of the languages."""
    for lang in languages:
        write_rows(folder / f"texts/{lang}.jsonl", texts)
        write_rows(folder / f"items/parts/{lang}.jsonl", items)
