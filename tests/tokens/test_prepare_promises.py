"""What users really have: spelt-out languages, special tokens in the text, changed benchmarks."""

from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import quiet, recipe_of, split_texts, text, text_of, words, write_rows
from tests.tokens.bases import gpt
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.text.tokens import open_tokens, prepare_tokens
from tongues.text.tokens.tokenizer import save_tokenizer


def test_a_language_spelt_byte_by_byte_stops_it_before_it_reads(tmp_path: Path) -> None:
    rows = [text(i, 80, "абвгдежзиклмнопрст") for i in range(60)]
    file = str(write_rows(tmp_path / "ru.jsonl", rows))
    save_tokenizer(gpt([text(1)], 300), tmp_path / "base")
    settings = recipe_of(text_of({"ru": file}), base=str(tmp_path / "base"))
    with pytest.raises(UserError, match="falls back to bytes: 1") as error:
        prepare_tokens(settings, tmp_path, quiet)
    assert (error.value.code, error.value.where) == ("spelt_out", "text of ru")
    assert not (tmp_path / "corpus").exists()


def test_other_text_in_a_benchmark_is_noticed(tmp_path: Path) -> None:
    file = str(write_rows(tmp_path / "a.jsonl", [text(i) for i in range(40)]))
    bench = write_rows(tmp_path / "bench.jsonl", [" ".join(words(3, 12))])
    settings = text_of({"de": file}, {"benchmark": 1}, benchmarks=[str(bench)])
    prepare_tokens(recipe_of(settings), tmp_path, quiet)
    write_rows(bench, [" ".join(words(4, 12))])
    with pytest.raises(UserError, match=r"`tools\..*bench\.jsonl"):
        prepare_tokens(recipe_of(settings), tmp_path, quiet)
    told: list[str] = []
    prepare_tokens(recipe_of(settings), tmp_path, told.append, overwrite=True)
    assert any("39 kept (benchmark 1" in line for line in told)


def test_fewer_tokens_are_the_beginning_of_more(tmp_path: Path) -> None:
    file = str(write_rows(tmp_path / "a.jsonl", [text(i, 30 + i) for i in range(120)]))
    made: list[tuple[list[int], list[int]]] = []
    for number, most in enumerate(("1500 tokens", "4k tokens", None)):
        files = {"de": {"paths": [file], "limit": most}}
        settings = recipe_of(text_of(files), held_out="400 tokens")
        tokens = open_tokens(prepare_tokens(settings, tmp_path / str(number), quiet))
        made.append((tokens.train("de").tolist(), tokens.valid("de").tolist()))
    assert [valid for _, valid in made] == [made[0][1]] * 3
    few, more, every = (train for train, _ in made)
    assert 900 < len(few) <= 1500 < len(more) <= 4000 < len(every)
    assert every[: len(more)] == more
    assert more[: len(few)] == few


@pytest.mark.parametrize(("asked", "told"), [(10, True), (2000, False)])
def test_held_out_text_far_above_what_was_asked_is_told(
    tmp_path: Path, asked: int, told: bool
) -> None:
    file = str(write_rows(tmp_path / "a.jsonl", [text(i) for i in range(60)]))
    lines: list[str] = []
    settings = recipe_of(text_of({"de": file}), held_out=f"{asked} tokens")
    tokens = open_tokens(prepare_tokens(settings, tmp_path, lines.append))
    assert (len(tokens.valid("de")) > 1.5 * asked) == told
    (line,) = (line for line in lines if "tokens to train on" in line)
    assert ("held out (10 asked for; groups of documents are held out whole), " in line) == told


def test_a_file_that_is_empty_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(UserError, match="is empty") as error:
        prepare_tokens(recipe_of(text_of({"de": f"{tmp_path}/a.txt"})), tmp_path, quiet)
    assert error.value.hint == "give it text, or leave it out"


def test_text_without_documents_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n')
    with pytest.raises(UserError, match="no document could be read") as error:
        prepare_tokens(recipe_of(text_of({"de": f"{tmp_path}/a.jsonl"})), tmp_path, quiet)
    assert error.value.where == "text of de"
    assert error.value.hint == "no text: text: None"
    about = read_json(tmp_path / "corpus/a/corpus.json")
    assert [caution["code"] for caution in about["cautions"]] == [
        "unreadable_places", "empty_source"
    ]  # fmt: skip


def test_special_tokens_in_the_text_are_text_and_the_order_is_that_of_no_file(
    tmp_path: Path,
) -> None:
    rows = [f"{text(i)} <|end|> <|endoftext|></s>" for i in range(60)]
    settings = text_of({"de": str(write_rows(tmp_path / "a.jsonl", rows))})
    tokens = open_tokens(prepare_tokens(recipe_of(settings), tmp_path, quiet))
    order = [rows.index(each) for each in split_texts(tokens, "de", "train")]
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.4
