from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.conftest import MakeRecipe
from tongues.errors import UserError
from tongues.files import read_lines
from tongues.runs import read_record
from tongues.tokens import open_tokens
from tongues.train import run_of_recipe
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.export import export_checkpoint
from tongues.train.run import train
from tongues.train.validation import held_out, validate


def test_a_milestone_becomes_a_folder_with_the_loss_it_had(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    settings = ("train.milestones=[25%]", "train.precision=float32")
    directory = train(replace(run_of_recipe(make_recipe(*settings)), name="small"), workspace)
    tokens = open_tokens(workspace / "tokens" / "small")
    rows = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qab"]
    steps = rows[-1]["step"]
    said = "## Evaluation\n"
    assert export_checkpoint(directory, None, workspace, tmp_path / "newest", said) == steps
    folder = tmp_path / "newest"
    card = (directory / "model" / "README.md").read_text()
    assert (folder / "README.md").read_text() == f"{card}\n{said}"
    model = AutoModelForCausalLM.from_pretrained(folder)
    own = AutoModelForCausalLM.from_pretrained(directory / "model")
    for found, expected in zip(model.parameters(), own.parameters(), strict=True):
        assert torch.equal(found, expected)
    assert len(AutoTokenizer.from_pretrained(folder)) == 400
    early = round(0.25 * steps)
    assert export_checkpoint(directory, early, workspace, tmp_path / "early") == early
    assert f"step {early} of {steps}" in (tmp_path / "early" / "README.md").read_text()
    with pytest.raises(UserError, match="is there already"):
        export_checkpoint(directory, early, workspace, tmp_path / "early")
    scorer = Scorer(
        AutoModelForCausalLM.from_pretrained(tmp_path / "early"),
        Processor(torch.device("cpu"), bfloat16=False, threads=1),
        None,
        chunked=True,
    )
    text = {"qab": held_out(tokens.valid("qab"), tokens.token_bytes, 64)}
    loss = validate(scorer, text, Processes())["qab"].nats_per_token
    assert rows[-1]["loss"] < loss < rows[0]["loss"]
    with pytest.raises(UserError, match="no checkpoint of step 3") as caught:
        export_checkpoint(directory, 3, workspace, tmp_path / "other")
    assert str(early) in caught.value.hint


def test_a_run_without_checkpoints_or_tokens_says_so(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    plan = replace(run_of_recipe(make_recipe("train.budget=5k tokens")), name="small")
    directory = train(plan, workspace)
    with pytest.raises(UserError, match="has no checkpoints") as caught:
        export_checkpoint(directory, 3, workspace, tmp_path / "out")
    assert "`model`" in caught.value.hint
    kept = replace(run_of_recipe(make_recipe("train.milestones=[50%]")), name="kept")
    directory = train(kept, workspace)
    step = round(read_record(directory)["steps"] * 0.5)
    with pytest.raises(UserError, match="tokens that the run read"):
        export_checkpoint(directory, step, tmp_path / "elsewhere", tmp_path / "out")
