"""Ensembles, and experts as one model, as folders that stand by themselves."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer, texts
from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.experts.ensemble.card import write_merged_card
from tongues.experts.ensemble.ensemble import expert_log_probs, open_ensemble
from tongues.experts.ensemble.lineage import read_lineage, verify
from tongues.experts.ensemble.model import open_model
from tongues.train.metadata import CardScores, ScoredText
from tongues.use.export.experts import export_ensemble, export_moe
from tongues.verbs.main import command


def said(*arguments: str | Path) -> str:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if done.exception:
        raise done.exception
    return done.output


def head(card: str) -> dict[str, object]:
    return yaml.safe_load(card.split("---")[1])


def nothing(place: Path) -> CardScores:
    return CardScores()


def measured(place: Path) -> CardScores:
    value = ScoredText("flores", "qaa", "bits_per_byte", Estimate(1.5, 1.4, 1.6))
    return CardScores("## Evaluation\n", (value,))


def test_an_exported_ensemble_works_wherever_it_lies(
    folder: Path, workspace: Path, tmp_path: Path
) -> None:
    export_ensemble(folder, workspace, tmp_path / "out", evaluated=measured)
    moved = tmp_path / "elsewhere" / "deep"
    shutil.copytree(tmp_path / "out", moved)
    shutil.rmtree(tmp_path / "out")
    lineage = read_lineage(moved)
    assert all(Path(expert.folder).parent == moved for expert in lineage.experts)
    verify(lineage, moved, tmp_path / "no workspace")
    plain = json.loads((moved / "ensemble.json").read_text())
    assert [expert["folder"] for expert in plain["experts"]] == ["./e0", "./e1", "./e2"]
    here, there = open_ensemble(folder), open_ensemble(moved, tmp_path)
    documents = texts(2, 20)
    scores = [expert_log_probs(each, documents) for each in (here, there)]
    assert all((one == other).all() for one, other in zip(*scores, strict=True))
    was = open_model(str(folder), workspace).fingerprint
    assert open_model(str(moved), tmp_path).fingerprint == was
    card = (moved / "README.md").read_text()
    about = head(card)
    assert about["library_name"] == "tongues" and about["language"] == ["qaa", "qab", "qac"]
    assert about["license"] == "unknown"
    index: Any = about["model-index"]
    assert index[0]["results"][0]["metrics"][0]["value"] == 1.5
    assert "| [e1](e1) | qab | 1k | seed |" in card
    assert "The router follows 3 languages" in card and card.endswith("\n## Evaluation\n")
    own = (moved / "e1" / "README.md").read_text()
    assert head(own)["language"] == ["qab"]
    assert "An expert of `small/small`, trained from `seed` on 1k tokens (qab)." in own
    assert AutoModelForCausalLM.from_pretrained(moved / "e1").config.vocab_size == 300
    assert AutoTokenizer.from_pretrained(moved / "e1").decode([0]) == "<|end|>"
    (moved / "e1" / "config.json").write_text("{}")
    with pytest.raises(UserError, match="`e1` is not what it was"):
        open_ensemble(moved, tmp_path)


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """An ensemble of two experts, `runs/e0` and `runs/e1`, that may be spoiled."""
    tokenizer = make_tokenizer(tmp_path / "tokens")
    places = [make_expert(tmp_path / f"runs/e{n}/model", tokenizer, seed=n) for n in range(2)]
    return make_ensemble(tmp_path, places, tokenizer)


def test_experts_of_one_last_name_are_told_apart(pair: Path, tmp_path: Path) -> None:
    text = (pair / "ensemble.json").read_text()
    (pair / "ensemble.json").write_text(text.replace('"e0"', '"a/e"').replace('"e1"', '"b/e"'))
    export_ensemble(pair, tmp_path, tmp_path / "out", evaluated=nothing)
    assert open_ensemble(tmp_path / "out", tmp_path).k == 2
    names = sorted(place.name[:4] for place in (tmp_path / "out").iterdir() if place.is_dir())
    assert names == ["a-e-", "b-e-"]


def test_one_model_says_what_it_is_and_whether_it_was_measured(
    folder: Path, workspace: Path, tmp_path: Path
) -> None:
    lineage, about = read_lineage(folder), ["2 experts in each layer."]
    for losses, known in (("", False), ("", True), ("| base | moe |", False)):
        write_merged_card(tmp_path, "small", lineage, about, {}, workspace, losses, known)
        card = (tmp_path / "README.md").read_text()
        assert "3 language experts as one model. 2 experts in each layer." in card
        assert "| e2 | qac | 1k | seed |" in card
        assert ("**Nobody has measured this model.**" in card) == (not losses and not known)
        assert ("## Held-out text" in card) == bool(losses)


def test_nothing_is_written_of_what_is_not_as_it_was(pair: Path, tmp_path: Path) -> None:
    (tmp_path / "runs/e1/model/config.json").write_text("{}")
    for export in (export_ensemble, export_moe):
        with pytest.raises(UserError, match="`e1` is not what it was"):
            export(pair, tmp_path, tmp_path / "out", evaluated=nothing)
    assert not list(tmp_path.glob("*out*"))


def test_the_verb_exports_generates_and_refuses(
    folder: Path, workspace: Path, tmp_path: Path
) -> None:
    name, out = "small/small", tmp_path / "out"
    assert str(out) in said("export", name, "-o", out, "--workspace", workspace)
    greedy = ("the", "--max-tokens", "8", "--temperature", "0", "--workspace")
    here, there = (
        said("generate", model, *greedy, place).rpartition("→")[0]
        for model, place in ((name, workspace), (out, tmp_path))
    )
    assert here == there != ""
    assert "all of" in said("experts", "show", out, "--workspace", tmp_path)
    again = tmp_path / "again"
    said("export", out, "-o", again, "--workspace", tmp_path)  # an exported one is one as any other
    assert (again / "e0/README.md").read_bytes() == (out / "e0/README.md").read_bytes()
    refused = {
        (name, "-o", out): "is there already",
        (name, "-o", "x", "--step", "3"): "experts each have steps",
        (name, "-o", "x", "--moe"): "the training text of expert `e0` is gone",
        (name, "-o", "x", "--dtype", "bf16"): "add `--moe`",
        (workspace / "runs/e0/model", "-o", "x"): "is a Hugging Face folder already",
        ("smal/small", "-o", "x"): "did you mean `small/small`?",
    }
    for arguments, why in refused.items():
        with pytest.raises(UserError) as caught:
            said("export", *arguments, "--workspace", workspace)
        assert why in str(caught.value)
    damaged = tmp_path / "runs/bad"
    damaged.mkdir(parents=True)
    (damaged / "run.json").write_text("{")
    with pytest.raises(UserError, match="is damaged"):
        said("export", "bad", "-o", tmp_path / "x", "--workspace", tmp_path)
