"""Small corpora on disk, and what folders hold, for tests of preparing text."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden import INPUTS
from tongues import recipe
from tongues.recipe import Recipe
from tongues.text import find_sources
from tongues.text.corpus import Corpus, Selection, open_corpus
from tongues.text.gather import gather
from tongues.text.select import read_selection, write_selection
from tongues.text.tokens import Tokens, load_tokenizer

USUAL = recipe.Text.model_validate({"hub": {"de": {"dataset": "x"}}}).clean.model_dump(mode="json")
OFF = {key: "off" for key in USUAL if key != "languages"}
WORDS = 3000
HUB_CARD = (INPUTS / "hub-card.md").read_text()


def quiet(_: str) -> None:
    pass


def words(seed: int, count: int, alphabet: str = "aeioubdfgklmnprstvz") -> list[str]:
    """Made words at random, so many kinds that two texts share no three in a row."""
    lexicon = _lexicon(alphabet)
    return [lexicon[i] for i in np.random.default_rng(seed).integers(0, WORDS, count)]


@cache
def _lexicon(alphabet: str) -> list[str]:
    letters = np.random.default_rng(0).integers(0, len(alphabet), (WORDS, 6))
    return ["".join(alphabet[i] for i in row) for row in letters]


def text(seed: int, count: int = 80, alphabet: str = "aeioubdfgklmnprstvz") -> str:
    """So many made words."""
    return " ".join(words(seed, count, alphabet))


def changed(text: str, places: Iterable[int]) -> str:
    """The text with other words at some places: each takes three of its shingles."""
    parts = text.split(" ")
    for place in places:
        parts[place] = f"{parts[place]}x"
    return " ".join(parts)


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    """One JSON line a row; a plain string is the text of a row."""
    rows = [{"text": row} if isinstance(row, str) else row for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def text_of(files: dict[str, Any], clean: dict[str, Any] | None = None, **more: Any) -> recipe.Text:
    """The text section of a recipe; nothing is dropped but what `clean` says."""
    return recipe.Text.model_validate({"files": files, "clean": OFF | (clean or {}), **more})


def recipe_of(text: recipe.Text, **tokens: Any) -> Recipe:
    settings = {
        "held_out": "500 tokens",
        **({} if "extend" in tokens else {"vocab_size": 400}),
        **tokens,
    }
    section = text.model_dump(mode="json")
    train = {"budget": "1M tokens"}
    return Recipe.model_validate({"name": "a", "text": section, "tokens": settings, "train": train})


def read(settings: recipe.Text, folder: Path) -> Corpus:
    """The corpus of a text, read in one go."""
    sources = find_sources(settings)
    gather(sources, quiet, settings, folder)
    return open_corpus(folder, sources)


def select_again(settings: recipe.Text, folder: Path) -> tuple[Corpus, Selection, list[str]]:
    """The corpus of a text, what is kept of it as it is on disk, and what is said of that."""
    corpus, lines = read(settings, folder), list[str]()
    write_selection(settings, corpus, find_sources(settings), lines.append)
    return corpus, read_selection(corpus), lines


def split_texts(tokens: Tokens, lang: str, split: Any) -> list[str]:
    """The documents of a split, spelt back; each has the end at its end alone."""
    shard, end = tokens.shard(lang, split), tokens.frame.end
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    documents = [ids.tolist() for ids in np.split(shard.tokens, shard.bounds[1:-1])]
    assert all(ids[-1] == end and end not in ids[:-1] for ids in documents)
    return [tokenizer.decode(ids[:-1], skip_special_tokens=False) for ids in documents]


def contents(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder, hidden ones too but for the lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def shingles(text: str) -> set[tuple[str, ...]]:
    """Three words in a row, however long or short the text is."""
    parts = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return {tuple(parts[i : i + 3]) for i in range(max(len(parts) - 2, 1))}


def jaccard(left: set[Any], right: set[Any]) -> float:
    return len(left & right) / len(left | right)
