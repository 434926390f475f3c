"""What `prepare` reports of an extension: the text of the base languages that would change."""

import json
from pathlib import Path

import numpy as np
import pytest

from tongues.recipe import load_recipe
from tongues.tokens import load_tokenizer, prepare_tokens
from tongues.tokens.fertility import changed_share
from tongues.tokens.tokenizer import save_tokenizer, train_tokenizer

RECIPE = """
name: extended
text:
  files: {{en: {english}, qaa: new.jsonl}}
  clean: {{language: off, near: off}}
tokens:
  base: base
  extend: {{new_tokens: 30, languages: [qaa], preserve: [en]}}
  held_out: 100 tokens
  byte_fallback: allow
model: {{shape: 0.05M}}
train: {{mixture: {{qaa: 100%}}, budget: 1k tokens, batch: 64 tokens, context: 32 tokens}}
"""


def sentences(words: str, count: int) -> list[str]:
    """Texts of 12 of these words at random."""
    rng = np.random.default_rng(len(words))
    return [" ".join(rng.choice(words.split(), 12)) for _ in range(count)]


PLAIN = sentences("the cat sat on a mat and one dog lay by it while two men ate their soup", 90)
ODD = sentences("ziggurat zigzags in zinc of the zoo", 20)
NEW = sentences("mulazig zig azigu lazigi zigamu zigola amu lazi guzi zimu", 90)


def write(path: Path, texts: list[str]) -> None:
    lines = (json.dumps({"text": text, "id": f"{path.stem}{n}"}) for n, text in enumerate(texts))
    path.write_text("\n".join(lines) + "\n")


def lines_of(folder: Path, english: str) -> list[str]:
    """What is printed on changes of English."""
    for name, texts in (("plain", PLAIN), ("odd", ODD), ("new", NEW)):
        write(folder / f"{name}.jsonl", texts)
    base = train_tokenizer({"en": PLAIN}, {"en": 3000}, 300)
    save_tokenizer(base, folder / "base")
    (folder / "recipe.yaml").write_text(RECIPE.format(english=english))
    printed: list[str] = []
    prepare_tokens(load_recipe(folder / "recipe.yaml"), folder, printed.append)
    return [line for line in printed if "would change" in line]


def test_text_of_a_source_that_the_extension_has_not_seen_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = lines_of(tmp_path, "[plain.jsonl, odd.jsonl]")
    assert line.startswith("en: of odd.jsonl, if it had not been read, ")
    share = float(line.split("not been read, ")[1].split("%")[0])
    assert 2 < share < 60
    # The extension itself has seen that source, which keeps its tokens.
    base, made = (load_tokenizer(Path(path)) for path in ("base", "tokens/extended"))
    assert changed_share(base, made, ODD) == 0


def test_a_tokenizer_tells_which_languages_are_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "plain.jsonl", PLAIN)
    own = "tokens: {vocab_size: 300, held_out: 100 tokens, byte_fallback: allow}\n"
    start, rest = RECIPE.split("tokens:\n")[0], RECIPE[RECIPE.index("model:") :]
    printed: list[str] = []
    for count in (60, 30):
        write(tmp_path / "new.jsonl", NEW[:count])
        text = (
            start.format(english="plain.jsonl") + own + rest.replace("{{", "{").replace("}}", "}")
        )
        (tmp_path / "recipe.yaml").write_text(text)
        recipe = load_recipe(tmp_path / "recipe.yaml")
        prepare_tokens(recipe, tmp_path, printed.append, overwrite=True)
    even, uneven = (line for line in printed if line.startswith("training a tokenizer on "))
    assert even.endswith(" of text")
    assert uneven.endswith("of text; that of qaa is repeated, to have as much of each language")


def test_of_a_single_source_a_tenth_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = lines_of(tmp_path, "plain.jsonl")
    assert line.startswith("en: of a tenth of this text, if it had not been read, 0.0")
