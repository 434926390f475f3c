"""What is held out: like the corpus, stable when text is added, and nowhere in training text."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.text.corpora import quiet, recipe_of, split_texts, text, text_of, write_rows
from tongues.recipe import Recipe
from tongues.text import hash64
from tongues.text.document import group_hash
from tongues.text.tokens import Tokens, open_tokens, prepare_tokens

Rows = Sequence[Any]


def test_hashes_stay_what_they_are() -> None:
    assert hash64("made:1:0") == 8537342164210112582  # by b2sum -l 64, little-endian
    assert group_hash("made:1:0") == hash64("made:1:0") == group_hash("made:1:0#0")
    parts = np.array([group_hash(f"a.txt#{number}") / 2**64 for number in range(500)])
    assert all(abs((parts < share).sum() - 500 * share) <= 2 for share in (0.02, 0.1, 0.5))


def prepared(
    folder: Path, name: str, files: dict[str, list[Rows]], held_out: Any = "5%", **more: Any
) -> tuple[Recipe, Tokens]:
    """Tokens of some files of each language; a file's name is its number."""
    paths = {
        lang: [str(write_rows(folder / f"{lang}{n}.jsonl", rows)) for n, rows in enumerate(parts)]
        for lang, parts in files.items()
    }
    settings = recipe_of(
        text_of(paths, more), vocab_size=300, byte_fallback="allow", held_out=held_out
    )
    settings = settings.model_copy(update={"name": name})
    return settings, open_tokens(prepare_tokens(settings, folder, quiet, ranks=1))


def split_of(tokens: Tokens, lang: str, split: Any) -> set[str]:
    return set(split_texts(tokens, lang, split))


def rows_of(seed: int, count: int, size: int = 20) -> list[dict[str, str]]:
    return [
        {"text": text(seed * 10_000 + n, size + n % 40), "group": f"{seed}/{n}"}
        for n in range(count)
    ]


def test_files_languages_and_their_order_move_no_document(tmp_path: Path) -> None:
    first, second = rows_of(1, 300), rows_of(2, 300, 60)
    _, before = prepared(tmp_path / "a", "a", {"de": [first]})
    _, more = prepared(tmp_path / "b", "a", {"de": [first, second]})
    other = [row | {"text": text(n + 90_000, 30, "абвгдежз")} for n, row in enumerate(first)]
    _, languages = prepared(tmp_path / "c", "a", {"ru": [other], "de": [second, first]})
    held_out = split_of(before, "de", "valid")
    assert 5 <= len(held_out) <= 30  # 15 expected
    texts = {row["text"] for row in first}
    for tokens in (more, languages):
        assert split_of(tokens, "de", "valid") & texts == held_out
    assert split_of(more, "de", "valid") == split_of(languages, "de", "valid")
    index = {row["text"]: n for n, row in enumerate(first)}
    translated = {index[each] for each in held_out}
    ours = {n for n, row in enumerate(other) if row["text"] in split_of(languages, "ru", "valid")}
    assert translated == ours


def test_the_sources_and_lengths_held_out_are_those_of_the_corpus(tmp_path: Path) -> None:
    news, pages = rows_of(3, 900, 15), rows_of(4, 300, 120)
    _, tokens = prepared(tmp_path, "a", {"de": [news, pages]}, "20%")
    held_out = split_of(tokens, "de", "valid")
    share_of_news = np.mean([row["text"] in held_out for row in news])
    share_of_pages = np.mean([row["text"] in held_out for row in pages])
    assert share_of_news == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 900))
    assert share_of_pages == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 300))
    sizes = np.array([len(row["text"]) for row in news])
    drawn = np.array([row["text"] in held_out for row in news])
    spread = sizes.std() / np.sqrt(drawn.sum())
    assert abs(sizes[drawn].mean() - sizes.mean()) < 4 * spread


def test_long_documents_that_are_most_of_the_text_are_held_out_too(tmp_path: Path) -> None:
    novels = [{"text": text(seed, 6000), "group": f"novel {seed}"} for seed in range(7)]
    news = rows_of(5, 123, 80)
    for held_out in ("2%", "4k tokens"):  # before: 23 articles, and no novel
        _, tokens = prepared(tmp_path / held_out, "a", {"ga": [[*novels, *news]]}, held_out)
        drawn = split_of(tokens, "ga", "valid")
        assert 1 <= sum(row["text"] in drawn for row in novels) <= 3
        assert sum(row["text"] in split_of(tokens, "ga", "train") for row in novels) >= 4


def test_a_held_out_set_is_kept_like_that_of_other_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, few = rows_of(6, 200), rows_of(11, 3)
    monkeypatch.chdir(tmp_path)
    _, before = prepared(tmp_path, "a", {"de": [first, few]}, "1k tokens")
    held_out = split_of(before, "de", "valid")
    assert not held_out & {row["text"] for row in few}  # no source so small must be represented
    like = {"like": "tokens/a"}
    copies = [row["text"] + " x y z" for row in first if row["text"] in held_out]
    assert copies
    _, after = prepared(tmp_path, "b", {"de": [rows_of(7, 400), first, copies]}, like)
    assert split_of(after, "de", "valid") == held_out
    assert not split_of(after, "de", "train") & set(copies)  # they are near copies of held-out text
    _, other = prepared(tmp_path, "c", {"de": [rows_of(7, 400), first]}, "1k tokens")
    assert split_of(other, "de", "valid") != held_out


def grams(document: str) -> set[tuple[str, ...]]:
    parts = document.split()
    return {tuple(parts[i : i + 13]) for i in range(len(parts) - 12)}


def contained(tokens: Tokens, lang: str) -> list[float]:
    """The highest share of each held-out document's 13-grams in a training document, or back."""
    train = [grams(each) for each in split_of(tokens, lang, "train")]
    shares = []
    for document in split_of(tokens, lang, "valid"):
        own = grams(document)
        pairs = [(len(own & each), min(len(own), len(each))) for each in train]
        shares.append(max(both / few for both, few in pairs if few))
    return shares


def test_no_held_out_document_is_inside_a_training_document(tmp_path: Path) -> None:
    pages = rows_of(8, 200, 60)
    settings, tokens = prepared(tmp_path / "a", "a", {"de": [pages]}, "10%")
    held_out = sorted(split_of(tokens, "de", "valid"))
    assert len(held_out) >= 8
    quotes = [  # a held-out page in the middle of a long one; a piece of one alone
        *(f"{text(n + 1000, 200)} {page} {text(n + 2000, 200)}" for n, page in enumerate(held_out)),
        *(" ".join(page.split()[:30]) for page in held_out[:4]),
    ]
    folder = tmp_path / "b"
    _, leaky = prepared(folder, "a", {"de": [pages, quotes]}, "10%")
    assert contained(leaky, "de") and max(contained(leaky, "de")) <= 0.5
    gone = leaky.counts["de"]["train"]["documents"] + leaky.counts["de"]["valid"]["documents"]
    assert 200 + len(quotes) - gone >= 4
    assert settings.tokens.held_out == 0.1


def test_a_language_with_few_groups_gets_a_caution(tmp_path: Path) -> None:
    files = {"de": str(write_rows(tmp_path / "de.jsonl", rows_of(9, 60)))}
    cautions: dict[str, list[str]] = {"5%": [], "50%": []}
    for held_out, lines in cautions.items():
        settings = recipe_of(text_of(files), byte_fallback="allow", held_out=held_out)
        prepare_tokens(settings, tmp_path / held_out, lines.append, ranks=1)
        lines[:] = [line for line in lines if "(few_groups)" in line]
    (caution,) = cautions["5%"]
    assert caution.startswith("caution: de: ") and "half of them scored by `evaluate`" in caution
    assert not cautions["50%"]


def test_of_few_groups_among_many_the_caution_names_an_amount_that_holds_out_enough(
    tmp_path: Path,
) -> None:
    files = {"de": str(write_rows(tmp_path / "de.jsonl", rows_of(3, 200)))}
    lines: list[str] = []
    settings = recipe_of(text_of(files), byte_fallback="allow", held_out="200 tokens")
    prepare_tokens(settings, tmp_path / "few", lines.append, ranks=1)
    (caution,) = (line for line in lines if "(few_groups)" in line)
    amount = re.search(r"`tokens\.held_out='(.*)'`", caution)
    assert amount
    settings = recipe_of(text_of(files), byte_fallback="allow", held_out=amount[1])
    tokens = open_tokens(prepare_tokens(settings, tmp_path / "enough", quiet, ranks=1))
    assert len(set(tokens.groups["de"])) >= 10


@pytest.mark.parametrize("documents", ["files", "paragraphs"])
@pytest.mark.parametrize(("files", "size"), [(1, 100_000), (12, 70_000)])
def test_few_long_files_are_held_out_in_parts(
    tmp_path: Path, documents: str, files: int, size: int
) -> None:
    for number in range(files):
        pages = (text(number * 1000 + n, 60) for n in range(size // 420))
        (tmp_path / f"{number}.txt").write_text(("\n" if number % 2 else "\n\n").join(pages))
    paths = {"de": {"paths": [f"{tmp_path}/*.txt"], "documents": documents}}
    settings = recipe_of(text_of(paths), held_out="5%")
    tokens = open_tokens(prepare_tokens(settings, tmp_path, quiet, ranks=1))
    valid, train = (tokens.counts["de"][x]["bytes"] for x in ("valid", "train"))
    assert valid + train > 0.98 * files * size
    assert 0.7 * 0.05 < valid / (valid + train) < 1.3 * 0.05


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_of_a_small_file_as_much_is_held_out_as_was_asked(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.txt").write_text("\n\n".join(text(n, 450) for n in range(30)))
    files = {"de": {"paths": [f"{tmp_path}/{name}.txt"], "documents": "paragraphs"}}
    settings = recipe_of(text_of(files), held_out="2%")
    tokens = open_tokens(prepare_tokens(settings, tmp_path, quiet, ranks=1))
    valid, train = (tokens.counts["de"][x]["tokens"] for x in ("valid", "train"))
    assert 0.7 * 0.02 < valid / (valid + train) < 1.3 * 0.02


@pytest.mark.parametrize("apart", [False, True])
def test_a_file_of_the_text_of_the_others_is_left_out(tmp_path: Path, apart: bool) -> None:
    pages = [text(n, 60) for n in range(200)]
    paths = [write_rows(tmp_path / "pages.jsonl", pages)]
    if apart:
        paths = [tmp_path / f"{n}.txt" for n in range(200)]
        for path, page in zip(paths, pages, strict=True):
            path.write_text(page)
    lines = [" ".join(page.split()[n : n + 20]) for page in pages for n in (0, 20, 40)]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    told: list[str] = []
    settings = recipe_of(text_of({"de": [*map(str, paths), f"{tmp_path}/all.txt"]}), held_out="8%")
    tokens = open_tokens(prepare_tokens(settings, tmp_path, told.append, ranks=1))
    both = split_of(tokens, "de", "train") | split_of(tokens, "de", "valid")
    assert both == set(pages)
    assert 8 <= tokens.counts["de"]["valid"]["documents"] <= 24
    (caution,) = (line for line in told if "(repeated_file)" in line)
    assert caution.startswith(f"caution: de: `{tmp_path}/all.txt` is left out: most of its text")
    small = recipe_of(settings.text.model_copy(update={"name": "few"}), held_out="4%")
    prepare_tokens(small.model_copy(update={"name": "few"}), tmp_path, told.append, ranks=1)
    (few,) = (line for line in told if "(few_groups)" in line)
    assert "holds out about 16" not in few  # as the file left out would be drawn too
