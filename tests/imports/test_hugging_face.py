"""Runs of transformers' Trainer, trained here, as runs of the store."""

import json
import re
import shutil
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    default_data_collator,
)

import tongues
from tests.command import run_command
from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.core.files import append_line, read_lines
from tongues.experts.ensemble.places import resolve_model
from tongues.runs.record import read_run
from tongues.runs.states import RunState
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens
from tongues.train.transplant import held_out_texts

CONTEXT, SAMPLES = 64, 8


class Rows(Dataset[dict[str, torch.Tensor]]):
    """Samples of text, of several languages in turn by their shares."""

    def __init__(self, texts: dict[str, np.ndarray], shares: dict[str, float], count: int) -> None:
        random, rows = np.random.default_rng(1), list[np.ndarray]()
        for lang in random.choice([*shares], count, p=[*shares.values()]):
            start = random.integers(len(texts[lang]) - CONTEXT)
            rows.append(texts[lang][start : start + CONTEXT])
        self.rows = torch.from_numpy(np.stack(rows).astype(np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[place], "labels": self.rows[place]}


def trained_elsewhere(
    model: PreTrainedModel, tokens: Tokens, out: Path, shares: dict[str, float], steps: int
) -> Path:
    """A run of the Trainer that counts its tokens; returns its folder."""
    texts = {lang: np.asarray(tokens.train(lang)) for lang in tokens.languages}
    held_out = {lang: np.asarray(tokens.shard(lang, "valid").tokens) for lang in tokens.languages}
    arguments = TrainingArguments(
        str(out),
        max_steps=steps,
        per_device_train_batch_size=SAMPLES,
        learning_rate=3e-3,
        eval_strategy="steps",
        eval_steps=max(1, steps // 4),
        eval_on_start=True,
        logging_steps=2,
        save_steps=steps // 2,
        report_to=[],
        use_cpu=True,
        include_num_input_tokens_seen="all",
        disable_tqdm=True,
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=Rows(texts, shares, steps * SAMPLES),
        eval_dataset={lang: Rows(held_out, {lang: 1.0}, 16) for lang in tokens.languages},
        processing_class=PreTrainedTokenizerFast(tokenizer_file=str(tokens.tokenizer_path)),
        data_collator=default_data_collator,
    )
    trainer.train()
    return out


@dataclass(frozen=True)
class Elsewhere:
    """A workspace, held-out text by language, and folders of the Trainer's runs by name."""

    workspace: Path
    text: Path
    runs: dict[str, Path]

    def bring(self, run: str, shares: dict[str, float], **more: Any) -> Path:
        """Import one of the runs."""
        given = {"mixture": shares, "held_out": self.text, "context": f"{CONTEXT} tokens"}
        given |= {"name": run, "workspace": self.workspace, "quiet": True} | more
        return tongues.import_run(self.runs[run], **given)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, tokens: Path) -> Elsewhere:
    """A base of qaa, and four runs that continue it on qab: two lengths, two shares of replay."""
    folder, text = tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("text")
    small_tokens = open_tokens(tokens)
    tokenizer = load_tokenizer(tokens)
    for lang in small_tokens.languages:
        documents = held_out_texts(small_tokens, tokenizer, lang)
        (text / f"{lang}.txt").write_text("\n\n".join(documents), encoding="utf-8")
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=small_tokens.vocabulary_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=CONTEXT,
    )
    runs = {
        "base": trained_elsewhere(
            LlamaForCausalLM(config), small_tokens, folder / "base", {"qaa": 1.0}, 60
        )
    }
    for share, steps in product((0.0, 0.2), (20, 60)):
        model = AutoModelForCausalLM.from_pretrained(runs["base"] / "checkpoint-60")
        shares = {"qab": 1.0 - share} | ({"qaa": share} if share else {})
        name = f"qab-{share:.0%}-{steps}".replace("%", "")
        runs[name] = trained_elsewhere(model, small_tokens, folder / name, shares, steps)
    return Elsewhere(folder / "workspace", text, runs)


def logged(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's newest state."""
    states = map(json.loads, map(Path.read_text, folder.glob("checkpoint-*/trainer_state.json")))
    return max((state["log_history"] for state in states), key=len)


@pytest.fixture(scope="module")
def brought(elsewhere: Elsewhere) -> Elsewhere:
    """The same with all of them imported."""
    elsewhere.bring("base", {"qaa": 1.0})
    for name in elsewhere.runs:
        share = int(name.split("-")[1]) / 100 if name != "base" else 0.0
        if name != "base":
            shares = {"qab": 1.0 - share} | ({"qaa": share} if share else {})
            elsewhere.bring(name, shares, base="base", base_languages=["qaa"])
    return elsewhere


def test_losses_come_in_to_the_digit(brought: Elsewhere) -> None:
    name = "qab-20-60"
    directory, history = brought.workspace / "runs" / name, logged(brought.runs[name])
    rows = read_lines(directory / "evals.jsonl")
    for lang in ("qaa", "qab"):
        key = f"eval_{lang}_loss"
        theirs = [(row["step"], row[key]) for row in history if key in row]
        assert [(row["step"], row["loss"]) for row in rows if row["lang"] == lang] == theirs
    steps = [(row["step"], row["loss"]) for row in history if "loss" in row]
    ours = read_lines(directory / "metrics.jsonl")
    assert [(row["step"], row["loss"]) for row in ours] == steps


def test_the_record_says_what_was_declared_and_counted(brought: Elsewhere) -> None:
    run = read_run(brought.workspace / "runs/qab-20-60")
    assert (run.strategy, run.status, run.targets) == ("cpt", "finished", ("qab",))
    assert run.replay == {"qaa": 0.2} and run.roles.base_languages == ("qaa",)
    assert (run.batch, run.steps, run.tokens) == (CONTEXT * SAMPLES, 60, 60 * CONTEXT * SAMPLES)
    model = AutoModelForCausalLM.from_pretrained(brought.workspace / "runs/qab-20-60/model")
    assert run.params["total"] == model.num_parameters()


def test_bits_per_byte_are_those_of_the_held_out_text(brought: Elsewhere) -> None:
    directory = brought.workspace / "runs/qab-0-20"
    row = read_lines(directory / "evals.jsonl")[-1]
    text = (brought.text / f"{row['lang']}.txt").read_text(encoding="utf-8").split("\n\n")
    tokenizer = load_tokenizer(directory / "model")
    count = sum(len(tokenizer.encode(one, add_special_tokens=False).ids) for one in text)
    rate = sum(len(one.encode()) for one in text) / count
    assert row["bits_per_byte"] == pytest.approx(row["loss"] / np.log(2) / rate, rel=0.01)


def test_other_verbs_read_them_as_ours(brought: Elsewhere) -> None:
    runs, _ = tongues.ls(workspace=brought.workspace)
    assert {run.run: run.state for run in runs} == dict.fromkeys(brought.runs, "finished")
    page = tongues.report(brought.workspace / "runs", out=brought.workspace / "page", quiet=True)
    verdict = r"take CPT \+ 20 % replay\."
    assert re.search(verdict, page.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " "))
    (law,) = tongues.fit(brought.workspace / "runs", draws=0).laws
    assert (law.form, law.n_runs) == ("forgetting", 4)
    words = ["evaluate", "qab-20-60", "base", "--text", str(brought.text), "--json", "-q"]
    done = run_command([*words, "-w", str(brought.workspace)], brought.workspace)
    assert done.returncode == 0, done.stderr


def test_a_run_that_goes_on_is_forecast_and_brought_up_to_date(
    elsewhere: Elsewhere, tmp_path: Path
) -> None:
    theirs, again = elsewhere.runs["qab-20-60"], {"workspace": tmp_path, "base_languages": ["qaa"]}
    again |= {"base": str(elsewhere.runs["base"] / "checkpoint-60")}
    goes_on, found = replace(elsewhere, runs={"theirs": tmp_path / "theirs"}), list[RunState]()
    models = list[Path]()
    for folder in ("checkpoint-30", "checkpoint-60"):
        shutil.copytree(theirs / folder, tmp_path / "theirs" / folder)
        goes_on.bring("theirs", {"qab": 0.8, "qaa": 0.2}, **again)
        found += tongues.ls(workspace=tmp_path)[0]
        models.append(resolve_model("theirs", tmp_path)[1].joinpath("model").resolve())
    (half, whole), (half_model, _) = found, models
    assert (half.state, half.step, half.steps) == ("running", 30, 60)
    assert (whole.state, whole.step, whole.forecast) == ("finished", 60, None)
    assert (
        half_model.name == "checkpoint-30"
        and half.forecast
        and half.forecast.low
        and half.forecast.high
    )
    assert half.forecast.low < (whole.losses or {})["qab"] < half.forecast.high
    goes_on.bring("theirs", {"qab": 0.8, "qaa": 0.2}, **again)  # as after a kill at the very end
    append_line(tmp_path / "runs/theirs/metrics.jsonl", {"step": 61, "loss": 1.0})
    with pytest.raises(UserError, match="another run of this name"):
        goes_on.bring("theirs", {"qab": 0.8, "qaa": 0.2}, **again)


def test_what_is_not_declared_is_asked_for(elsewhere: Elsewhere) -> None:
    with pytest.raises(UserError, match="come to 90"):
        elsewhere.bring("qab-0-20", {"qab": 0.9}, name="other")
    with pytest.raises(UserError, match="`qaa` is of no language that is declared"):
        elsewhere.bring("qab-0-20", {"qab": 1.0}, name="other", held_out=elsewhere.runs["base"])
    with pytest.raises(UserError, match="named together"):
        elsewhere.bring("qab-0-20", {"qab": 1.0}, name="other", base="base")
    assert not (elsewhere.workspace / "runs/other").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [*inputs("rows")["test_a_log_that_is_none_is_refused"], ("[" * 100_000, "is not JSON")],
)
def test_a_log_that_is_none_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "trainer_state.json").write_text(text)
    with pytest.raises(UserError, match=words):
        tongues.import_run(tmp_path, mixture={"sw": 1.0}, held_out=tmp_path, workspace=tmp_path)
