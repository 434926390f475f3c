"""A new recipe from a folder of text, with the tokenizer of a base that is on this disk."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

import tongues
from tests.tokens.bases import gpt, unigram
from tongues.core.errors import UserError
from tongues.recipe import Recipe, load_recipe
from tongues.text.tokens import load_tokenizer, open_tokens

WORDS = {
    "en": "all human beings are born free and equal in dignity and rights they have reason",
    "ru": "все люди рождаются свободными и равными в своём достоинстве и правах они наделены",
    "sw": "watu wote wamezaliwa huru hadhi na haki zao ni sawa wote wamejaliwa akili na dhamiri",
}


def write_texts(folder: Path, *languages: str, rows: int = 300, words: int = 60) -> Path:
    """Text of some languages, by chance."""
    chance = random.Random(0)
    folder.mkdir()
    for lang in languages:
        known = WORDS[lang].split()
        texts = [" ".join(chance.choices(known, k=words)).capitalize() for _ in range(rows)]
        lines = (json.dumps({"text": f"{text}."}) + "\n" for text in texts)
        (folder / f"{lang}.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A base whose tokenizer has Latin letters alone, and text of three languages."""
    write_texts(tmp_path / "text", *WORDS)
    monkeypatch.chdir(tmp_path)
    save_base(gpt([WORDS["en"], WORDS["sw"]] * 9, 400), Path("base"))
    return tmp_path


def save_base(tokenizer: Tokenizer, folder: Path) -> Path:
    """A base with a tokenizer, as Hugging Face writes it."""
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}')
    return folder


def written(language: str, text: str = "text") -> tuple[Recipe, list[str]]:
    """The recipe that `new` writes, checked and prepared as it is written, and its lines."""
    draft = tongues.new("base", language, "new.yaml", text=text)
    tongues.check("new.yaml")
    tongues.prepare("new.yaml", ["text.clean={near: off, language: off}"], quiet=True)
    return load_recipe("new.yaml"), list(draft.lines)


def test_a_language_that_the_base_spells_by_bytes_gets_tokens_and_is_prepared(folder: Path) -> None:
    recipe, lines = written("ru")
    extend = recipe.tokens.extend
    assert extend and (extend.languages, extend.preserve) == (["ru"], ["en"])
    assert any("falls back to bytes for `ru` (1." in line for line in lines)
    tokens = open_tokens(folder / "tokens" / recipe.name)
    assert tokens.counts["ru"]["train"]["bytes_per_token"] > 2


def test_without_text_to_preserve_the_recipe_allows_bytes_and_says_so(folder: Path) -> None:
    (folder / "text/en.jsonl").unlink()
    recipe, lines = written("ru")
    assert recipe.tokens.extend is None and recipe.tokens.byte_fallback == "allow"
    assert any(line.startswith("caution: `ru`: the tokenizer falls") for line in lines)


def test_tokens_are_counted_by_the_tokenizer_of_the_base(folder: Path) -> None:
    recipe, lines = written("sw")
    assert recipe.tokens.extend is None and recipe.tokens.byte_fallback == "refuse"
    rows = [json.loads(line)["text"] for line in Path("text/sw.jsonl").read_text().splitlines()]
    tokens = sum(len(one.ids) for one in load_tokenizer(Path("base")).encode_batch(rows))
    assert any(f" are {tokens / 1000:.3g}k tokens of the base" in line for line in lines)
    # A quarter is replayed, and the budget has two digits.
    assert 4.5 < recipe.train.budget.amount * 0.75 / tokens <= 5


def test_checking_and_preparing_refuse_bytes_before_the_text_is_read(folder: Path) -> None:
    tongues.new("base", "sw", "new.yaml", text="text")
    recipe = Path("new.yaml").read_text().replace("sw.jsonl", "ru.jsonl")
    Path("new.yaml").write_text(recipe)
    for verb in (tongues.check, tongues.prepare):
        with pytest.raises(UserError, match="falls back to bytes: 1") as caught:
            verb("new.yaml")
        assert (caught.value.code, caught.value.where) == ("spelt_out", "text of sw")
        assert "`tokens.extend`" in caught.value.hint
    assert not (folder / "corpus").exists()
    (step,) = tongues.next_steps()
    assert step.state == "unsound" and step.command == "tongues check new.yaml"
    assert "falls back to bytes" in step.reason
    tongues.check("new.yaml", ["tokens.byte_fallback=allow"])
    tongues.check("new.yaml", ["tokens.extend={new_tokens: 99, languages: [sw], preserve: [en]}"])


def test_a_tokenizer_that_cannot_be_extended_is_taken_as_it_is(folder: Path) -> None:
    save_base(unigram([WORDS["en"]] * 9, 40), Path("base"))
    draft = tongues.new("base", "ru", text="text")
    assert "byte_fallback: allow" in draft.recipe and "extend" not in draft.recipe
    assert "caution: `ru`: the tokenizer cannot spell it" in " ".join(draft.lines)


def test_text_that_could_not_be_prepared_is_refused_at_once(folder: Path) -> None:
    rows = Path("text/sw.jsonl").read_text().splitlines(keepends=True)
    Path("text/sw.jsonl").write_text("".join(rows[:5]))
    with pytest.raises(UserError, match="tokens are too little text") as caught:
        tongues.new("base", "sw", text="text")
    assert caught.value.where == "--text text" and caught.value.hint.startswith("give ")


@pytest.mark.parametrize("budget", ["20k tokens", "60k tokens", "1M tokens"])
def test_new_and_check_agree_on_batch_and_rate(folder: Path, budget: str) -> None:
    config = json.loads(Path("base/config.json").read_text())
    Path("base/config.json").write_text(json.dumps(config | {"max_position_embeddings": 2048}))
    option = tongues.new("base", "sw", "new.yaml", text="text", budget=budget).plan.decision.option
    ((_, derived),) = tongues.check("new.yaml").runs
    assert derived.batch == option.batch and option.rate is not None
    assert f"{derived.learning_rate:.1e}" == f"{option.rate:.1e}"


def test_names_of_recipes_are_their_own(folder: Path) -> None:
    asked: dict[str, Any] = {"bases": "base", "budget": "1M tokens", "available_text": "text"}
    Path("elsewhere").mkdir()
    tongues.new("base", "sw", "elsewhere/a.yaml", text="text")
    for name in ("b.yaml", "elsewhere/c.yaml"):
        tongues.plan(language="sw", write=name, **asked)
    tongues.plan(language=["sw", "ru"], write="d.yaml", **asked)
    names = [load_recipe(x).name for x in ("elsewhere/a.yaml", "b.yaml", "elsewhere/c.yaml")]
    assert names == ["base-sw", "base-sw", "base-sw-2"]
    both = load_recipe("d.yaml")
    assert both.name == "base-sw-ru" and list(both.text.files) == ["sw", "ru", "en"]
    assert Path("d.plan.json").is_file()  # as of `new`
    lines = tongues.new("base", "sw", text="text").lines
    assert not any("Written" in line or "budget is left" in line for line in lines)
    assert not any(line.startswith("base: ") for line in lines)  # nobody knows its licence
