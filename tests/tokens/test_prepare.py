"""From a recipe to tokens on disk: what is there, what is held out, and when it is made anew."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden import cases, golden
from tests.text.corpora import OFF, quiet, recipe_of, split_texts, text, text_of, write_rows
from tongues.core.errors import UserError
from tongues.recipe import Recipe
from tongues.text import Document, find_sources, read_source
from tongues.text.tokens import END_ID, Tokens, open_tokens, prepare_tokens
from tongues.text.tokens.store import read_manifest

SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "wo")
MADE = {
    "seed": 1,
    "size": "120 kB",
    "languages": {"qaa": {}, "qab": {"parent": "qaa", "divergence": 0.4}},
}


def recipe(text: dict[str, Any], vocabulary: int = 400, held_out: str = "4k tokens") -> Recipe:
    tokens = {"vocab_size": vocabulary, "held_out": held_out}
    train = {"budget": "1M tokens"}
    return Recipe.model_validate({"name": "a", "text": text, "tokens": tokens, "train": train})


def translations(folder: Path) -> dict[str, Any]:
    """Two languages from files: `de` holds translations of `en` and, besides, chapters."""
    rng = np.random.default_rng(1)
    words = np.array(["haus", "baum", "weg", "licht", "stein", "vogel", "regen", "tag"])
    for lang, extra in (("en", 0), ("de", 60)):
        rows = [
            {"text": f"{lang} {i} " + " ".join(rng.choice(words, 60)), "group": f"story {i}"}
            for i in range(150)
        ] + [
            {"text": f"chapter {i} " + " ".join(rng.choice(words, 80)), "group": f"book {i // 6}"}
            for i in range(extra)
        ]
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{lang}.jsonl").write_text(lines)
    return {"files": {lang: f"{folder}/{lang}.jsonl" for lang in ("en", "de")}, "clean": OFF}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made")
    prepare_tokens(recipe({"synthetic": MADE}), path, quiet)
    return path


@pytest.fixture
def tokens(workspace: Path) -> Tokens:
    return open_tokens(workspace / "tokens/a")


def check_split(tokens: Tokens, settings: Recipe) -> None:
    groups: dict[str, set[str]] = {"train": set(), "valid": set()}
    for lang in tokens.languages:
        items = [
            item
            for source in find_sources(settings.text)
            if source.lang == lang
            for item, _ in read_source(source)
        ]
        documents = [item for item in items if isinstance(item, Document)]
        group_of = {document.text: document.group for document in documents}
        split = {name: split_texts(tokens, lang, name) for name in groups}
        assert sorted(split["train"] + split["valid"]) == sorted(d.text for d in documents)
        for name in groups:
            groups[name] |= {group_of[text] for text in split[name]}
    assert groups["train"]
    assert groups["valid"]
    assert groups["train"].isdisjoint(groups["valid"])


def test_all_text_is_there_and_no_group_on_both_sides(tokens: Tokens) -> None:
    check_split(tokens, recipe({"synthetic": MADE}))


def test_translations_are_held_out_together_and_changed_files_are_noticed(tmp_path: Path) -> None:
    settings = recipe(translations(tmp_path), held_out="3k tokens")
    tokens = open_tokens(prepare_tokens(settings, tmp_path, quiet))
    check_split(tokens, settings)
    assert all(3000 <= len(tokens.valid(lang)) < 6000 for lang in ("en", "de"))
    for lang in ("en", "de"):
        assert len(set(tokens.groups[lang])) == len(tokens.held_out[lang])
        assert len(tokens.groups[lang]) == tokens.counts[lang]["valid"]["documents"]
    assert set(tokens.groups["en"]) & set(tokens.groups["de"])
    with (tmp_path / "de.jsonl").open("a") as file:
        file.write('\n{"text": "neu"}')
    with pytest.raises(UserError, match=r"made from other text or settings: `files\.de\."):
        prepare_tokens(settings, tmp_path, quiet)


def test_counts_are_those_of_the_files(tokens: Tokens) -> None:
    assert tokens.languages == ("qaa", "qab")
    assert tokens.vocabulary_size == 400 == len(tokens.token_bytes)
    for lang in tokens.languages:
        assert 4000 <= len(tokens.valid(lang)) < 8000
        splits = tokens.counts[lang]
        pairs = (splits["train"], tokens.train(lang)), (splits["valid"], tokens.valid(lang))
        for counts, array in pairs:
            assert array.dtype == np.uint16
            assert counts["tokens"] == len(array)
            assert counts["documents"] == (array == END_ID).sum()
            assert counts["bytes"] == tokens.token_bytes[array].sum()
            assert counts["bytes_per_token"] == pytest.approx(counts["bytes"] / len(array), 1e-3)


def test_made_twice_it_is_the_same_to_the_byte(workspace: Path, tmp_path: Path) -> None:
    again = prepare_tokens(recipe({"synthetic": MADE}), tmp_path, quiet)
    first = workspace / "tokens/a"
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert [str(file) for file in files] == [
        *(f"{lang}/{split}.{end}" for lang in ("qaa", "qab") for split in ("train", "valid")
          for end in ("bin", "idx")),
        "tokenizer.json",
        "tokenizer_config.json",
        "tokens.json",
    ]  # fmt: skip
    assert all((again / file).read_bytes() == (first / file).read_bytes() for file in files)
    assert sum(path.is_file() for path in again.rglob("*")) == len(files)


def test_the_same_is_left_and_other_is_refused_until_rebuilt(
    workspace: Path, tmp_path: Path
) -> None:
    shutil.copytree(workspace, tmp_path, dirs_exist_ok=True)
    lines: list[str] = []
    path = prepare_tokens(recipe({"synthetic": MADE}), tmp_path, lines.append)
    assert len(lines) == 1
    assert "nothing to do" in lines[0]
    before = open_tokens(path).fingerprint
    stamp = (path / "tokens.json").stat().st_mtime_ns

    other = recipe({"synthetic": MADE | {"seed": 2}}, vocabulary=300)
    with pytest.raises(UserError) as error:
        prepare_tokens(other, tmp_path, quiet)
    assert "`tokens.vocab_size`: 400 → 300" in error.value.what
    assert "`text.synthetic.seed`: 1 → 2" in error.value.what
    assert "--overwrite" in error.value.hint
    assert (path / "tokens.json").stat().st_mtime_ns == stamp

    lines.clear()
    prepare_tokens(other, tmp_path, lines.append, overwrite=True)
    assert any("300 tokens" in line for line in lines)
    assert any(line.startswith("qab: ") and "bytes per token" in line for line in lines)
    assert open_tokens(path).vocabulary_size == 300
    assert open_tokens(path).fingerprint != before


@pytest.mark.parametrize("amounts", cases("refused-amounts"))
def test_too_little_text_is_refused(tmp_path: Path, amounts: str) -> None:
    words, held_out = amounts.split(" words, ")
    (tmp_path / "a.txt").write_text("wort " * int(words))
    settings = recipe({"files": {"de": f"{tmp_path}/*.txt"}, "clean": OFF}, held_out=held_out)
    with pytest.raises(UserError) as error:
        prepare_tokens(settings, tmp_path, quiet)
    golden(f"refused-amounts/{amounts}", str(error.value).replace(str(tmp_path), "FOLDER"))
    assert not (tmp_path / "tokens").exists()


def test_tokens_and_languages_that_are_not_there_are_named(workspace: Path) -> None:
    with pytest.raises(UserError, match="there are no tokens of `qba`"):
        open_tokens(workspace / "tokens/a").train("qba")
    with pytest.raises(UserError, match="no prepared tokens") as error:
        open_tokens(workspace / "tokens/aa")
    assert "`a`" in error.value.hint


@pytest.mark.parametrize(
    "damage", ["tokens.json", "tokenizer.json", "qab/valid.idx", "qab/train.bin"]
)
@pytest.mark.parametrize("how", ["gone", "cut"])
def test_damaged_tokens_are_refused(workspace: Path, tmp_path: Path, damage: str, how: str) -> None:
    path = tmp_path / "a"
    shutil.copytree(workspace / "tokens/a", path)
    file = path / damage
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-20])
    else:
        file.unlink()
    with pytest.raises(UserError) as error:
        open_tokens(path)
    assert str(path) in error.value.where
    assert "--overwrite" in error.value.hint


def test_shards_of_another_preparation_are_refused(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "a"
    shutil.copytree(workspace / "tokens/a", path)
    for end in ("bin", "idx"):
        shutil.copy(path / f"qaa/train.{end}", path / f"qab/train.{end}")
    with pytest.raises(UserError, match="does not match"):
        open_tokens(path)


def test_a_little_less_is_held_out_where_documents_overlap(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    words = np.array([f"{one}{two}" for one in SYLLABLES for two in SYLLABLES])
    short, more = random.choice(words, (60, 60)), random.choice(words, (10, 150))
    long = np.concatenate([more, short[:10]], axis=1)  # each holds a whole short one
    rows = [json.dumps({"text": " ".join(words)}) for words in (*short, *long)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    text = {"files": {"de": str(tmp_path / "a.jsonl")}, "clean": OFF}
    path = prepare_tokens(recipe(text, held_out="1k tokens"), tmp_path, quiet)
    manifest = read_manifest(path)
    held = manifest["languages"]["de"]["valid"]["tokens"]
    assert manifest["splits"]["de"]["overlap"]["documents"]
    assert 800 <= held < 1000


def settings_of(folder: Path, **files: list[str]) -> Recipe:
    paths = {lang: str(write_rows(folder / f"{lang}.jsonl", rows)) for lang, rows in files.items()}
    clean = OFF | {"characters": 50}
    return recipe_of(text_of(paths, clean), byte_fallback="allow")


def test_the_other_languages_are_written_and_the_missing_ones_named(tmp_path: Path) -> None:
    enough = [text(n) for n in range(60)]
    settings = settings_of(tmp_path, nso=["short", "as short"], de=enough, ga=[text(1), text(2)])
    for _ in range(2):  # and again, where there is nothing to do
        with pytest.raises(UserError) as error:
            prepare_tokens(settings, tmp_path, quiet, ranks=2)
        assert error.value.code == "languages_missing" and error.value.exit_code == 1
        assert "written for de, but not for nso, ga" in error.value.what
        assert "nso: all of its documents are dropped (short 2, 13 B)" in error.value.what
        assert "nso: see `tongues report" in error.value.hint
        assert "`text.clean: {languages: {nso: {characters: off}}}` keeps them" in error.value.hint
        assert "ga: give at least 1k tokens, or lower" in error.value.hint
    tokens = open_tokens(tmp_path / "tokens/a")
    assert tokens.languages == ("de",)
    assert set(read_manifest(tokens.path)["missing"]) == {"nso", "ga"}


def test_nothing_of_any_language_is_an_error_with_nothing_written(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, nso=["short"], de=["as short"])
    with pytest.raises(UserError, match="all of its documents are dropped") as error:
        prepare_tokens(settings, tmp_path, quiet)
    assert error.value.where == "text of nso" and error.value.exit_code == 2
    assert not (tmp_path / "tokens").exists()
