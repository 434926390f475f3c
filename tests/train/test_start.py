"""A parent whose tokenizer lacks pieces: cut off a trained run's own."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.conftest import MakeRecipe
from tests.models.shortened import shortened
from tests.train.test_run import STOPPABLE, digests, train_and_stop
from tongues.errors import UserError
from tongues.files import read_lines
from tongues.models.huggingface import load_model, save_model
from tongues.runs import read_run
from tongues.train import RunPlan, run_of_recipe
from tongues.train.run import train

LACKED = 60


@pytest.fixture
def parent(make_recipe: MakeRecipe, workspace: Path) -> Path:
    """A folder with a model that lacks the last pieces of the tokenizer."""
    plan = replace(run_of_recipe(make_recipe()), name="whole")
    whole = train(plan, workspace) / "model"
    model = load_model(whole)
    model.resize_token_embeddings(400 - LACKED)
    save_model(model, workspace / "parent")
    shortened(whole / "tokenizer.json", LACKED, workspace / "parent" / "tokenizer.json")
    return workspace / "parent"


def child_of(make_recipe: MakeRecipe, parent: Path, *overrides: str, name: str) -> RunPlan:
    recipe = make_recipe(f"train.base={{model: {parent}, languages: [qac]}}", *overrides)
    return replace(run_of_recipe(recipe), name=name)


@pytest.mark.parametrize("way", ["mean", "similar", "plain"])
def test_a_parent_that_lacks_pieces_gets_them_and_every_way_is_told(
    make_recipe: MakeRecipe, workspace: Path, parent: Path, way: str
) -> None:
    told: list[str] = []
    plan = child_of(make_recipe, parent, f"model.new_embeddings={way}", name="child")
    directory = train(plan, workspace, tell=told.append)
    extension = read_run(directory).vocabulary_extension
    assert extension is not None
    assert (extension["new_tokens"], extension["initialization"]) == (LACKED, way)
    assert set(extension["losses"]) == {"mean", "similar", "plain"}
    assert sum("60 new tokens by" in line for line in told) == 3
    evals = read_lines(directory / "evals.jsonl")
    start = {row["lang"]: row["loss"] for row in evals if row["step"] == 0}
    assert extension["losses"][way] == start
    assert len({losses["qaa"] for losses in extension["losses"].values()}) == 3
    assert [row["loss"] for row in evals if row["lang"] == "qaa"][-1] < start["qaa"]
    assert load_model(directory / "model").config.vocab_size == 400


def test_a_stopped_run_with_new_tokens_ends_with_the_same_bytes(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    alone = train(child_of(make_recipe, parent, *STOPPABLE, name="alone"), workspace)
    plan = child_of(make_recipe, parent, *STOPPABLE, name="stopped")
    stopped = train_and_stop(plan, workspace)
    before = read_run(stopped).vocabulary_extension
    told: list[str] = []
    train(plan, workspace, tell=told.append)
    assert digests(stopped) == digests(alone)
    assert read_run(stopped).vocabulary_extension == before == read_run(alone).vocabulary_extension
    assert not any("new tokens" in line for line in told)


def test_a_parent_with_other_pieces_is_refused(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    text = (parent / "tokenizer.json").read_text()
    (parent / "tokenizer.json").write_text(text.replace('"a":', '"☃":'))
    with pytest.raises(UserError, match="another tokenizer") as caught:
        train(child_of(make_recipe, parent, name="child"), workspace)
    assert "tokens.base" in caught.value.hint


def test_the_rows_of_the_parent_stay_as_they_are(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    plan = child_of(
        make_recipe, parent, "train.learning_rate=1e-30", "train.weight_decay=0", name="child"
    )
    embedding = load_model(train(plan, workspace) / "model").get_input_embeddings()
    old = load_model(parent).get_input_embeddings().get_parameter("weight")
    assert torch.equal(embedding.get_parameter("weight")[: len(old)], old)
