from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.conftest import MakeRecipe
from tests.models.families import tiny
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.files import read_json, read_lines, write_json
from tongues.evaluate.losses import DocumentLosses
from tongues.runs.record import read_run, write_run
from tongues.text.tokens import open_tokens
from tongues.train import run_of_recipe
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.metadata import CardScores
from tongues.train.run import train
from tongues.train.step import cut_windows, validate
from tongues.train.work import open_work
from tongues.use.export.held_out import worse_than_base
from tongues.use.export.run import Changes, export_run, store_folder
from tongues.use.export.weights import StoredWeights, write_weights


def test_a_milestone_becomes_a_folder_with_the_loss_it_had(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    settings = ("train.milestones=[25%]", "train.precision=float32")
    directory = train(
        replace(run_of_recipe(open_work(make_recipe(*settings))), name="small"), workspace
    )
    tokens = open_tokens(workspace / "tokens" / "small")
    rows = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qab"]
    steps = rows[-1]["step"]
    sections: Any = {"evaluated": CardScores("## Evaluation\n")}
    lines: list[str] = []
    export_run(directory, workspace, tmp_path / "newest", Changes(), **sections, say=lines.append)
    assert lines == [f"step {steps}"]
    folder = tmp_path / "newest"
    card = (directory / "model" / "README.md").read_text()
    exported = (folder / "README.md").read_text()
    start, cost, rest = exported.partition("## Cost\n")  # which the run knew at its end
    assert "of training" in cost + rest.partition("\n## ")[0]
    kept = start + rest[rest.index("\n## ") + 1 :]
    assert kept == f"{card}\n## Evaluation\n"
    model = AutoModelForCausalLM.from_pretrained(folder)
    own = AutoModelForCausalLM.from_pretrained(directory / "model")
    for found, expected in zip(model.parameters(), own.parameters(), strict=True):
        assert torch.equal(found, expected)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert len(tokenizer) == 400 and tokenizer.model_max_length == 64
    early = round(0.25 * steps)
    export_run(directory, workspace, tmp_path / "early", Changes(early), **sections)
    card = (tmp_path / "early" / "README.md").read_text()
    assert f"step {early} of {steps}" in card
    assert "## Evaluation" not in card  # of the model that it became
    assert "| qaa | 100.0% | 5.12k |" in card
    with pytest.raises(UserError, match="is there already"):
        export_run(directory, workspace, tmp_path / "early", Changes(early))
    scorer = Scorer(
        AutoModelForCausalLM.from_pretrained(tmp_path / "early"),
        Processor(torch.device("cpu"), bfloat16=False, threads=1),
        tokens.frame,
        chunked=True,
    )
    text = {"qab": cut_windows(tokens.valid("qab"), tokens.token_bytes, 64)}
    loss = validate(scorer, text, Processes())["qab"].nats_per_token
    assert rows[-1]["loss"] < loss < rows[0]["loss"]
    with pytest.raises(UserError, match="no checkpoint of step 3") as caught:
        export_run(directory, workspace, tmp_path / "other", Changes(3))
    assert str(early) in caught.value.hint


def test_a_run_without_checkpoints_or_tokens_says_so(
    make_recipe: MakeRecipe, trained: Path, workspace: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="has no checkpoints") as caught:
        export_run(trained, workspace, tmp_path / "out", Changes(3))
    assert "`model`" in caught.value.hint
    (tmp_path / "begun").mkdir()
    write_run(tmp_path / "begun", make_run(status="stopped"))
    with pytest.raises(UserError, match="has no checkpoints") as caught:
        export_run(tmp_path / "begun", workspace, tmp_path / "out", Changes())
    assert "`tongues train`" in caught.value.hint
    short = make_recipe("train.milestones=[50%]", "train.budget=5k tokens")
    kept = replace(run_of_recipe(open_work(short)), name="kept")
    directory = train(kept, workspace)
    step = round(read_run(directory).steps * 0.5)
    with pytest.raises(UserError, match="tokens that the run read"):
        export_run(directory, tmp_path / "elsewhere", tmp_path / "out", Changes(step))


def test_weights_are_stored_in_the_type_that_is_named(
    trained: Path, workspace: Path, tmp_path: Path
) -> None:
    exact = load_file(trained / "model/model.safetensors")
    for name, dtype in {"bf16": torch.bfloat16, "fp16": torch.float16}.items():
        lines: list[str] = []
        export_run(trained, workspace, tmp_path / name, Changes(dtype=name), say=lines.append)
        assert lines[1] == f"stored in {name}; training computed in fp32"
        stored = load_file(tmp_path / name / "model.safetensors")
        assert stored.keys() == exact.keys()
        for key, weight in stored.items():
            assert weight.dtype == dtype and torch.equal(weight, exact[key].to(dtype))
        assert AutoModelForCausalLM.from_pretrained(tmp_path / name).dtype == dtype
        assert "rounded from fp32" in (tmp_path / name / "README.md").read_text()
    export_run(trained, workspace, tmp_path / "same", Changes())
    assert read_json(tmp_path / "same/config.json")["dtype"] == "float32"


def test_the_base_names_the_type_and_what_it_keeps_in_float32(tmp_path: Path) -> None:
    base, model = tmp_path / "base", tmp_path / "model"
    for folder, dtype in ((base, "bfloat16"), (model, "float32")):
        tiny("llama", 50).save_pretrained(folder)
        write_json(folder / "config.json", read_json(folder / "config.json") | {"dtype": dtype})
    stored = {name: w.bfloat16() for name, w in load_file(base / "model.safetensors").items()}
    stored["model.norm.weight"] = stored["model.norm.weight"].float()
    save_file(stored, base / "model.safetensors")
    assert store_folder(model, None, base) == ["The weights are rounded from fp32 to bf16."]
    types = {name: w.dtype for name, w in load_file(model / "model.safetensors").items()}
    assert types.pop("model.norm.weight") == torch.float32
    assert set(types.values()) == {torch.bfloat16}
    assert store_folder(model, None, tmp_path / "gone") == []


def test_shards_hold_every_tensor_and_replace_what_was_there(tmp_path: Path) -> None:
    tiny("llama", 50).save_pretrained(tmp_path)
    exact = load_file(tmp_path / "model.safetensors")
    for shard in (20_000, 10**9):
        with StoredWeights(tmp_path) as stored:
            each = ((name, stored.tensor(name) * 2) for name in stored.shapes)
            write_weights(tmp_path, each, shard)
        exact = {name: weight * 2 for name, weight in exact.items()}
        files = sorted(tmp_path.glob("*.safetensors"))
        assert len(files) == (1 if shard == 10**9 else len({file.name for file in files}))
        assert (len(files) > 1) == (tmp_path / "model.safetensors.index.json").is_file()
        model = AutoModelForCausalLM.from_pretrained(tmp_path)
        for name, weight in model.state_dict().items():
            assert torch.equal(weight, exact[name])


def test_what_half_precision_cannot_hold_is_refused(tmp_path: Path) -> None:
    model: Any = tiny("llama", 50)
    torch.nn.init.constant_(model.get_input_embeddings().weight, 1e5)
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="fp16 cannot hold"):
        store_folder(tmp_path, "fp16")


def losses(**nats: float) -> dict[str, DocumentLosses]:
    """Two documents of 10 bytes for each language, of so many nats."""
    two = np.array([10, 10])
    return {
        lang: DocumentLosses(("a", "b"), np.array([each, each]), two, two, ("a", "b"), 0.0 * two)
        for lang, each in nats.items()
    }


def test_languages_that_got_worse_are_named() -> None:
    base, own = losses(de=10, en=10, sw=10, tr=10), losses(de=10.1, en=10.4, sw=11, tr=4)
    assert worse_than_base(own, base) == "It is worse than the base on de, en and sw."
    assert worse_than_base(base, base) == worse_than_base(losses(tr=4), base) == ""
