"""No text on both sides of the split, checked on real text by other means than its own."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.text.corpora import (
    changed,
    contents,
    quiet,
    recipe_of,
    shingles,
    split_texts,
    text_of,
    write_rows,
)
from tests.text.real import needs_text, rows
from tongues.text.document import normalised
from tongues.text.tokens import open_tokens, prepare_tokens

LANGUAGES = ("en", "fr", "ru")
SPLITS = ("train", "valid")


def documents(source: str, lang: str, most: int) -> list[dict[str, str]]:
    return [row for row in rows(source, lang) if 300 < len(row["text"]) < 6000][:most]


def real_text() -> dict[str, list[dict[str, str]]]:
    """Web pages and Bible chapters; pages of one group first, so that groups span languages."""
    pages = {lang: documents("mdn", lang, 500) for lang in LANGUAGES}
    groups = Counter(page["group"] for some in pages.values() for page in some)
    first = {
        lang: sorted(pages[lang], key=lambda row: (-groups[row["group"]], row["group"]))[:60]
        for lang in LANGUAGES
    }
    return {lang: first[lang] + documents("bible", lang, 30) for lang in LANGUAGES}


def planted(pages: dict[str, list[dict[str, str]]], seed: int) -> int:
    """Add copies, near copies and cross-language copies under other groups; how many near."""
    rng = np.random.default_rng(seed)
    near = 0
    for lang in LANGUAGES:
        originals = [row for row in pages[lang] if len(row["text"].split(" ")) > 60]
        for number, row in enumerate(rng.permutation(np.array(originals, dtype=object))[:40]):
            text, other = row["text"], LANGUAGES[int(rng.integers(3))]
            if number % 3:
                count = len(text.split(" "))
                text = changed(text, rng.choice(count, max(count // 40, 1), replace=False))
                near += other == lang
            pages[other].append({"text": text, "group": f"planted {lang} {number}"})
    return near


def alike(train: Sequence[str], valid: Sequence[str], least: float) -> list[tuple[str, str]]:
    """Every pair whose sets of word triples are at least so similar (Jaccard), without hashing."""
    sets = [shingles(text) for text in train]
    holders: dict[Any, list[int]] = defaultdict(list)
    for number, each in enumerate(sets):
        for shingle in each:
            holders[shingle].append(number)
    pairs: list[tuple[str, str]] = []
    for text in valid:
        own = shingles(text)
        shared = Counter(number for shingle in own for number in holders.get(shingle, ()))
        for number, both in shared.items():
            if both / (len(own) + len(sets[number]) - both) >= least:
                pairs.append((train[number], text))
    return pairs


def test_the_checker_finds_what_is_alike() -> None:
    text = " ".join(f"w{i}" for i in range(100))
    train = [text, changed(text, [50]), changed(text, range(0, 100, 8)), "other"]
    assert len(alike(train, [text], 0.8)) == 2
    assert len(alike(train, [text], 1.0)) == 1


@needs_text
@pytest.mark.parametrize("near", ["off", 0.7])
def test_nothing_leaks_and_files_in_any_order_are_the_same(
    tmp_path: Path, near: float | str
) -> None:
    pages = real_text()
    near_copies = planted(pages, seed=1)
    groups: dict[str, set[str]] = defaultdict(set)
    for lang in LANGUAGES:
        for row in pages[lang]:
            groups[normalised(row["text"])].add(row["group"])
        shuffled = np.random.default_rng(2).permutation(np.array(pages[lang], dtype=object))
        write_rows(tmp_path / f"{lang}0.jsonl", pages[lang])
        for number, part in enumerate(np.array_split(shuffled, 3)):
            write_rows(tmp_path / f"{lang}{number + 1}.jsonl", part.tolist())
    made: list[Path] = []
    for order in ((0,), (3, 1, 2)):
        files = {lang: [f"{tmp_path}/{lang}{n}.jsonl" for n in order] for lang in LANGUAGES}
        settings = recipe_of(text_of(files, {"near": near}), vocab_size=1000, held_out="8k tokens")
        made.append(prepare_tokens(settings, tmp_path / str(len(made)), quiet, ranks=1))
    tokens = open_tokens(made[0])
    splits = [[split_texts(tokens, lang, split) for lang in LANGUAGES] for split in SPLITS]
    train, valid = (list(chain(*of_languages)) for of_languages in splits)
    assert set(train) | set(valid) <= set(groups)
    assert not set(train) & set(valid)
    assert not alike(train, valid, 0.8)
    sides = [{group for text in side for group in groups[text]} for side in (train, valid)]
    assert not sides[0] & sides[1]
    for both in (trained + held_out for trained, held_out in zip(*splits, strict=True)):
        assert len(both) == len(set(both))
        pairs = alike(both, both, 0.8)
        assert (len(pairs) - len(both)) / 2 <= (0.02 * near_copies if near != "off" else 1e9)
    different = {
        name for name, content in contents(made[0]).items() if contents(made[1])[name] != content
    }
    assert different == {"tokens.json"}
