"""A corpus of its own: shared by tokenizers, added to and taken from without reading again."""

import json
from pathlib import Path

import pytest

from tests.golden import cases, golden
from tests.text.corpora import contents, quiet, recipe_of, text, text_of, write_rows
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.recipe import Recipe, TextRecipe, load_text_recipe
from tongues.text import gather
from tongues.text.tokens import check_tokens, prepare_tokens
from tongues.text.tokens.store import corpus_of, tokens_of
from tongues.verbs.recipes import prepare

LANGUAGES = ("de", "sw")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[str]]:
    for place, lang in enumerate(LANGUAGES):
        for number in range(2):
            rows = [text(1000 * place + 500 * number + i) for i in range(40)]
            write_rows(tmp_path / f"{lang}{number}.jsonl", rows)
    return {lang: [f"{tmp_path}/{lang}{number}.jsonl" for number in range(2)] for lang in LANGUAGES}


def named(name: str, files: dict[str, list[str]], corpus: str | None, vocabulary: int) -> Recipe:
    recipe = recipe_of(text_of(files, name=corpus), vocab_size=vocabulary)
    return recipe.model_copy(update={"name": name})


def test_a_second_tokenizer_reads_nothing(
    tmp_path: Path, files: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (named(f"bpe{n}", files, "web", n) for n in (400, 600))
    alone = contents(prepare_tokens(large, tmp_path / "alone", quiet))
    prepare_tokens(small, tmp_path / "both", quiet)
    with monkeypatch.context() as patch:
        patch.setattr(gather, "read_source", lambda *_: pytest.fail("it reads again"))
        shared = contents(prepare_tokens(large, tmp_path / "both", quiet, ranks=1))
    assert shared == alone
    (place,) = (path for path in (tmp_path / "both/corpus").iterdir() if path.is_dir())
    assert place.name == "web"
    assert corpus_of(tmp_path / "both/tokens/bpe600") == place
    assert len(tokens_of(place)) == 2


def test_tokens_stay_valid_when_a_recipe_key_is_added(
    tmp_path: Path, files: dict[str, list[str]]
) -> None:
    recipe, lines = named("a", files, None, 400), list[str]()
    place = prepare_tokens(recipe, tmp_path, quiet)
    manifest = read_json(place / "tokens.json")
    del manifest["inputs"]["text"]["clean"]["markup"], manifest["inputs"]["tokens"]["trim"]
    write_json(place / "tokens.json", manifest)
    check_tokens(recipe, tmp_path)
    prepare_tokens(recipe, tmp_path, lines.append)
    assert "nothing to do" in lines[0]
    manifest["inputs"]["text"]["clean"]["characters"] = 10
    write_json(place / "tokens.json", manifest)
    with pytest.raises(UserError, match=r"`text\.clean\.characters`: 10"):
        check_tokens(recipe, tmp_path)


def test_what_is_added_or_taken_out_costs_only_itself(
    tmp_path: Path, files: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources: list[str] = []
    read = gather.read_source
    monkeypatch.setattr(
        gather,
        "read_source",
        lambda source, *rest: sources.append(source.title) or read(source, *rest),
    )
    steps = [{"de": files["de"][:1]}, files, {"de": files["de"]}, files]
    new = [files["de"][:1], [files["de"][1], *files["sw"]], [], []]
    for step, expected in zip(steps, new, strict=True):
        sources.clear()
        prepare_tokens(recipe_of(text_of(step)), tmp_path / "kept", quiet, overwrite=True, ranks=1)
        assert sources == expected
    prepare_tokens(recipe_of(text_of(files)), tmp_path / "alone", quiet, ranks=1)
    assert contents(tmp_path / "kept") == contents(tmp_path / "alone")


def test_text_alone_is_prepared(tmp_path: Path, files: dict[str, list[str]]) -> None:
    recipe = {"name": "a", "text": text_of(files).model_dump(mode="json")}
    recipe["tokens"] = {"vocab_size": 400, "held_out": "500 tokens"}
    loaded = load_text_recipe(recipe)
    assert type(loaded) is TextRecipe
    made = prepare(recipe, workspace=tmp_path / "text", quiet=True)
    train = {"mixture": {"de": "100%"}, "budget": "1M tokens"}
    training = {"train": train, "model": {"shape": "0.1M"}}
    whole = prepare(recipe | training, workspace=tmp_path / "whole", quiet=True)
    assert contents(made) == contents(whole)


@pytest.mark.parametrize("change", cases("refused-corpora"))
def test_mistakes_in_text_alone_are_named(change: str) -> None:
    recipe = {"name": "a", "text": {"files": {"de": "a.txt"}}} | json.loads(change)
    with pytest.raises(UserError) as caught:
        load_text_recipe(recipe)
    golden(f"refused-corpora/{change}", str(caught.value))
