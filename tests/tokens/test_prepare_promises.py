"""What users really have: spelt-out languages, special tokens in the text, changed benchmarks."""

from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import quiet, recipe_of, text, text_of, words, write_rows
from tongues.errors import UserError
from tongues.files import read_json
from tongues.tokens import load_tokenizer, open_tokens, prepare_tokens


def test_a_language_spelt_byte_by_byte_stops_it_unless_allowed(tmp_path: Path) -> None:
    rows = [text(i, 80, "абвгдежзиклмнопрст") for i in range(60)]
    files = {
        "de": str(write_rows(tmp_path / "de.jsonl", [text(i) for i in range(60)])),
        "ru": str(write_rows(tmp_path / "ru.jsonl", rows)),
    }
    german = recipe_of(text_of({"de": files["de"]}), vocab_size=600)
    base = prepare_tokens(german, tmp_path / "base", quiet)
    both = {"base": str(base), "held_out": "500 tokens"}
    with pytest.raises(UserError, match="falls back to bytes: 1") as error:
        prepare_tokens(recipe_of(text_of(files), **both), tmp_path, quiet)
    assert error.value.code == "spelt_out"
    assert error.value.where == "text of ru"
    allowed = recipe_of(text_of(files), byte_fallback="allow", **both)
    tokens = open_tokens(prepare_tokens(allowed, tmp_path, quiet))
    assert tokens.counts["ru"]["train"]["bytes_per_token"] < 1.25
    assert tokens.counts["de"]["train"]["bytes_per_token"] > 1.25


def test_special_tokens_in_the_text_are_text(tmp_path: Path) -> None:
    rows = [f"{text(i)} <|end|> <|endoftext|></s>" for i in range(40)]
    settings = text_of({"de": str(write_rows(tmp_path / "a.jsonl", rows))})
    tokens = open_tokens(prepare_tokens(recipe_of(settings), tmp_path, quiet))
    shard = tokens.shard("de", "train")
    assert (shard.tokens == tokens.frame.end).sum() == len(shard.bounds) - 1
    first = shard.tokens[: shard.bounds[1] - 1].tolist()
    assert load_tokenizer(tokens.tokenizer_path).decode(first, skip_special_tokens=False) in rows


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
    section = f"`text.files.de: {{paths: [{tmp_path}/a.jsonl], columns: {{text: COLUMN}}}}`"
    assert section in error.value.hint
    about = read_json(tmp_path / "corpus/a/corpus.json")
    assert [caution["code"] for caution in about["cautions"]] == [
        "unreadable_places", "empty_source"
    ]  # fmt: skip


def test_the_order_is_that_of_no_file(tmp_path: Path) -> None:
    rows = [text(i) for i in range(60)]
    file = str(write_rows(tmp_path / "a.jsonl", rows))
    tokens = open_tokens(prepare_tokens(recipe_of(text_of({"de": file})), tmp_path, quiet))
    shard, tokenizer = tokens.shard("de", "train"), load_tokenizer(tokens.tokenizer_path)
    each = np.split(shard.tokens, shard.bounds[1:-1])
    order = [rows.index(tokenizer.decode(ids[:-1].tolist())) for ids in each]
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.4
