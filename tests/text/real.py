"""The real text that is shared with this machine's projects, where it is."""

import gzip
import json
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "../shared/data/text"

needs_text = pytest.mark.skipif(not DATA.is_dir(), reason="the shared real text is not here")


@cache
def rows(source: str, lang: str, most: int | None = None) -> list[dict[str, str]]:
    """The first documents of a source in a language."""
    with gzip.open(DATA / source / f"{lang}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, most)]


def texts(source: str, lang: str, most: int) -> list[str]:
    """Their texts."""
    return [row["text"] for row in rows(source, lang, most)]
