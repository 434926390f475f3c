"""What other trainers read: the planned samples in order, shards by share, kept documents."""

import json
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

import tongues
from tests.conftest import with_tokens
from tests.engines.handed import CONTEXT, SAMPLES, STEPS, Handed, hand
from tongues.core.errors import UserError
from tongues.core.files import read_json, read_lines
from tongues.text.tokens import open_tokens
from tongues.text.tokens.shards import open_shard
from tongues.use.engines import ENGINES
from tongues.use.engines.engine import several_gpus


def rows_of(folder: Path) -> Any:
    """What the library of data sets finds in a folder."""
    return datasets.load_from_disk(str(folder))


def test_packed_samples_are_those_of_our_run(handed: Handed) -> None:
    texts = rows_of(handed.over("trainer") / "data")
    assert [*texts] == ["train", "validation_qaa", "validation_qab"]
    ids = np.array(texts["train"]["input_ids"])
    assert ids.shape == (STEPS * SAMPLES, CONTEXT + 1)
    tokens = open_tokens(handed.workspace / "tokens/small")
    of = {}
    for lang in tokens.languages:
        windows = np.lib.stride_tricks.sliding_window_view(tokens.train(lang), CONTEXT + 1)
        of |= {window.tobytes(): lang for window in windows[::CONTEXT].astype(np.int64)}
    seen = Counter(of[row.tobytes()] for row in ids.astype(np.int64))
    assert seen["qaa"] / len(ids) == pytest.approx(0.1, abs=1 / len(ids))


def test_labels_leave_out_the_first_token(handed: Handed) -> None:
    rows = rows_of(handed.over("axolotl") / "data/train")
    ids, labels = np.array(rows["input_ids"]), np.array(rows["labels"])
    assert (labels[:, 0] == -100).all() and (labels[:, 1:] == ids[:, 1:]).all()
    assert (np.array(rows["attention_mask"]) == 1).all()


def test_shards_are_ours_and_the_blend_has_the_planned_shares(handed: Handed) -> None:
    folder = handed.over("automodel")
    blend = read_json(folder / "blend.json")
    assert dict(zip(blend["train"][1::2], map(float, blend["train"][::2]), strict=True)) == {
        "data/qab/train": 0.9,
        "data/qaa/train": 0.1,
    }
    for lang in ("qaa", "qab"):
        theirs = open_shard(folder / "data" / lang / "train").tokens
        ours = open_tokens(handed.workspace / "tokens/small").train(lang)
        assert np.array_equal(theirs, ours)


def test_documents_are_those_of_the_tokens(handed: Handed) -> None:
    tokens, folder = open_tokens(handed.workspace / "tokens/small"), handed.over("text")
    for lang, counts in tokens.counts.items():
        for split, ours in (("train", counts["train"]), ("held_out", counts["valid"])):
            table = pq.read_table(folder / split / f"{lang}-00000.parquet")
            assert len(table) == ours["documents"]
            assert set(table["split"].to_pylist()) == {split}
            assert set(table["language"].to_pylist()) == {lang}


def test_the_base_has_a_row_for_each_token_and_says_its_losses(handed: Handed) -> None:
    ready = handed.over(None)
    model = AutoModelForCausalLM.from_pretrained(ready)
    tokenizer = AutoTokenizer.from_pretrained(ready)
    assert model.config.vocab_size >= len(tokenizer) == 400
    before = Tokenizer.from_file(str(handed.workspace / "base/tokenizer.json")).get_vocab()
    assert {token: tokenizer.get_vocab()[token] for token in before} == before
    card = (ready / "README.md").read_text(encoding="utf-8")
    assert "## Before training" in card and "| qab | " in card and "not trained yet" in card


def test_padding_is_a_token_that_no_text_has(handed: Handed) -> None:
    tokenizer = AutoTokenizer.from_pretrained(handed.over("llamafactory") / "base")
    assert tokenizer.pad_token_id not in (None, tokenizer.eos_token_id)
    rows = rows_of(handed.over("llamafactory") / "data/train")
    assert not (np.array(rows["input_ids"]) == tokenizer.pad_token_id).any()


@pytest.mark.parametrize("engine", ENGINES.names())
def test_the_readme_tells_start_limits_and_the_way_back(
    engine: str,
    handed: Handed,
) -> None:
    if engine == "text":
        return
    folder = handed.over(engine)
    text = (folder / "README.md").read_text(encoding="utf-8")
    for title in ("## Start", "## Other than here", "## Afterwards", f"import {engine}/out"):
        assert title in text
    assert "--nodes=1 --ntasks-per-node=1 --gpus-per-node=1\n" in (folder / "slurm.sh").read_text()


def test_several_gpus_divide_the_micro_batches_of_a_step() -> None:
    assert [several_gpus(n) for n in (1, 6, 12, 48, 64, 1000)] == [1, 6, 6, 24, 32, 8]


def test_transformers_trainer_begins_at_our_loss_and_comes_back(
    handed: Handed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The script as written, for twenty steps; then `import` as its README says."""
    folder = handed.over("trainer")
    script = folder / "train.py"
    script.write_text(script.read_text().replace('"max_steps": 39', '"max_steps": 20'))
    monkeypatch.chdir(folder)
    runpy.run_path("train.py")
    history = json.loads((folder / "out/trainer_state.json").read_text())["log_history"]
    theirs = next(row["loss"] for row in history if row.get("step") == 1 and "loss" in row)
    run = handed.train()
    ours = read_lines(run / "metrics.jsonl")[0]["loss"]
    assert theirs == pytest.approx(ours, abs=1e-4)
    back = handed.bring("trainer")
    with pytest.raises(UserError, match="of the folder says 512"):
        handed.bring("trainer", batch="16384 tokens")
    facts = (folder / "handed.json").read_text()
    for damaged in ("[[", "5", facts.replace('"name": "', '"name": ["').replace('",', '"],', 1)):
        (folder / "handed.json").write_text(damaged)
        with pytest.raises(UserError, match="is damaged"):
            handed.bring("trainer")
    (folder / "handed.json").write_text(facts)
    first = {row["lang"]: row["loss"] for row in read_lines(run / "evals.jsonl")[:2]}
    theirs = {row["lang"]: row["loss"] for row in read_lines(back / "evals.jsonl")[:2]}
    assert theirs == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("train.trainable=embeddings", "not handed a run that trains a part"),
        ("train.budget=1 minutes", "no number of steps"),
        ("train.trainable=lora", "not handed a run that trains a part"),
    ],
)
def test_what_cannot_be_handed_over_is_said_before_the_work(
    key: str,
    words: str,
    handed: Handed,
    tmp_path: Path,
) -> None:
    from tongues.recipe import load_recipe, show_recipe

    recipe = tmp_path / "other.yaml"
    recipe.write_text(show_recipe(load_recipe(handed.recipe, [key])))
    with pytest.raises(UserError, match=words):
        tongues.export(
            str(recipe), out=tmp_path / "out", engine="trainer", workspace=handed.workspace
        )
    assert not (tmp_path / "out").exists()


def test_a_base_that_an_engine_was_not_written_for_is_refused(tokens: Path, tmp_path: Path) -> None:
    other = hand(tokens, with_tokens(tmp_path, tokens), "qwen3")
    with pytest.raises(UserError, match="torchtitan is not handed a run with base `qwen3`"):
        other.over("torchtitan")
