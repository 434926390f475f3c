from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.conftest import MakeRecipe
from tongues.errors import UserError
from tongues.files import read_lines
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
    settings = ("train.milestones=[100%, 25%]", "train.precision=float32")
    directory = train(replace(run_of_recipe(make_recipe(*settings)), name="small"), workspace)
    tokens = open_tokens(workspace / "tokens" / "small")
    rows = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qab"]
    steps = rows[-1]["step"]
    assert export_checkpoint(directory, None, tokens.path, tmp_path / "newest") == steps
    folder = tmp_path / "newest"
    model = AutoModelForCausalLM.from_pretrained(folder)
    own = AutoModelForCausalLM.from_pretrained(directory / "model")
    for found, expected in zip(model.parameters(), own.parameters(), strict=True):
        assert torch.equal(found, expected)
    assert len(AutoTokenizer.from_pretrained(folder)) == 400
    assert f"step {steps} of {steps}" in (folder / "README.md").read_text()
    early = round(0.25 * steps)
    assert export_checkpoint(directory, early, tokens.path, tmp_path / "early") == early
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
        export_checkpoint(directory, 3, tokens.path, tmp_path / "other")
    assert str(early) in caught.value.hint


def test_a_run_without_checkpoints_says_where_its_model_is(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    plan = replace(run_of_recipe(make_recipe("train.budget=5k tokens")), name="small")
    directory = train(plan, workspace)
    with pytest.raises(UserError, match="has no checkpoints") as caught:
        export_checkpoint(directory, None, workspace / "tokens" / "small", tmp_path / "out")
    assert "`model`" in caught.value.hint
