import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.extension.conftest import Tongues
from tests.golden import inputs
from tests.text.corpora import text

RECIPE: str = inputs("recipes")["signal of another package"]
SHARES = (0.6, 0.4, 0.1)  # of capitals


@pytest.fixture
def letters(workspace: Path) -> Path:
    """A recipe of ordinary texts, some in capitals, and two with one first line."""
    rows = [f"{seed}\n{text(seed)}" for seed in range(30)]
    rows += [_shouted(text(100 + n), share) for n, share in enumerate(SHARES)]
    rows += [f"A title of its own\n{text(seed, 80 + seed)}" for seed in (201, 202)]
    lines = (json.dumps({"text": row}) for row in rows)
    (workspace / "rows.jsonl").write_text("\n".join(lines))
    (workspace / "letters.yaml").write_text(RECIPE)
    return workspace


def _shouted(text: str, share: float) -> str:
    count = round(share * len(text))
    return text[:count].upper() + text[count:]


def about(workspace: Path) -> dict[str, Any]:
    return json.loads((workspace / "corpus/letters/corpus.json").read_text())["languages"]["sw"]


def test_signals_of_another_package_drop_find_copies_and_are_on_the_page(
    tongues: Tongues, letters: Path
) -> None:
    done = tongues("prepare", "letters.yaml", "text.clean.title=on", "text.clean.capitals=0.2")
    assert "32 kept (shouting 2, " in done.stdout + done.stderr
    assert "; same title 1, " in done.stdout + done.stderr
    assert about(letters)["dropped"]["shouting"]["documents"] == 2
    assert about(letters)["thresholds"]["capitals"] == 0.2
    (kept,) = about(letters)["samples"]["same title"]
    assert kept["text"].startswith("A title of its own")
    (part,) = (letters / "corpus/letters/sw").glob("*/00000.parquet")
    stored = pq.read_table(part)["capitals"].to_numpy()
    assert np.allclose(stored[30:33], SHARES, atol=0.15) and stored.dtype == np.float32
    tongues("report", "corpus/letters", "--out", "page")
    page = (letters / "page/index.html").read_text()
    assert "more than 20 % of it is capital letters" in page
    assert "begins like another" in page
    tongues("report", "corpus/letters", "--out", "page", plain=True)
    assert "same title" in (letters / "page/index.html").read_text()
    tongues("prepare", "letters.yaml", "text.clean.capitals=on", "--overwrite")
    assert about(letters)["thresholds"]["capitals"] == 0.3
    tongues("prepare", "letters.yaml", "text.clean.capitals=off", "--overwrite")
    assert "shouting" not in about(letters)["dropped"]


def test_a_package_that_is_only_installed_changes_nothing(tongues: Tongues, letters: Path) -> None:
    tongues("prepare", "letters.yaml", plain=True)
    assert "nothing to do" in tongues("prepare", "letters.yaml").stderr
    (part,) = (letters / "corpus/letters/sw").glob("*/00000.parquet")
    assert "capitals" not in pq.read_table(part).column_names
