"""Runs that start from tiny models of well-known families, with a vocabulary to extend."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from tests.conftest import MakeRecipe
from tests.models.families import FAMILIES, save_tiny, tiny
from tests.models.shortened import shortened
from tongues.errors import UserError
from tongues.files import read_lines
from tongues.runs import read_run
from tongues.tokens import open_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.run import train

PIECES, LACKED = 400, 60
SHORT = ("train.budget=3k tokens", "train.eval_languages=[qab]", "train.precision=float32")


def child_of(make_recipe: MakeRecipe, parent: Path, *overrides: str) -> RunPlan:
    recipe = make_recipe(
        f"train.base={{model: {parent}, languages: [qac]}}", "model.shape=null", *SHORT, *overrides
    )
    return replace(run_of_recipe(recipe), name="child")


def plain_loss(model: nn.Module, workspace: Path) -> float:
    """Nats per token on held-out text, by the model alone."""
    text = torch.tensor(open_tokens(workspace / "tokens/small").valid("qab").astype("int64"))
    count = (len(text) - 1) // 64
    tokens, wanted = text[: 64 * count].view(-1, 64), text[1 : 64 * count + 1]
    with torch.no_grad():
        return float(cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), wanted))


@pytest.mark.parametrize("name", FAMILIES)
def test_any_family_is_continued_with_new_pieces_and_loads_elsewhere(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path, name: str
) -> None:
    rows = 390 if name == "qwen3" else PIECES - LACKED  # more rows than pieces, as Qwen's has
    own = workspace / "tokens/small/tokenizer.json"
    shortened(own, LACKED, tmp_path / "shorter.json")
    parent = save_tiny(tiny(name, rows), workspace / "parent", tmp_path / "shorter.json")
    directory = train(child_of(make_recipe, parent), workspace)
    record = read_run(directory)
    family = FAMILIES[name][0]
    assert record.family == family
    assert record.shape.startswith(f"{family}-")
    assert record.vocabulary_extension is not None
    model = AutoModelForCausalLM.from_pretrained(directory / "model").eval()
    assert record.params["total"] == model.num_parameters()
    assert model.config.vocab_size == 448
    first, *_, last = (row["loss"] for row in read_lines(directory / "evals.jsonl"))
    assert last < first
    assert last == pytest.approx(plain_loss(model, workspace), rel=1e-5)
    assert family in (directory / "model/README.md").read_text()


def test_a_matrix_with_rows_to_spare_stays_as_large(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    own = workspace / "tokens/small/tokenizer.json"
    parent = save_tiny(tiny("qwen3", 512), workspace / "parent", own)
    directory = train(child_of(make_recipe, parent), workspace)
    record = read_run(directory)
    assert record.vocabulary_extension is None
    assert record.params["embedding"] == 512 * 32
    again = replace(child_of(make_recipe, parent), base="child", name="grandchild")
    assert read_run(train(again, workspace)).params == record.params
    assert read_run(workspace / "runs/grandchild").shape == record.shape


def test_a_context_longer_than_the_parent_has_positions_is_refused(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    own = workspace / "tokens/small/tokenizer.json"
    parent = save_tiny(tiny("gpt2", PIECES), workspace / "parent", own)
    longer = child_of(make_recipe, parent, "train.context=128 tokens")
    with pytest.raises(UserError, match="longer than the base's 64") as caught:
        train(longer, workspace)
    assert caught.value.where == "train.context"


def test_a_tokenizer_that_is_not_the_models_is_refused(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    own = workspace / "tokens/small/tokenizer.json"
    parent = save_tiny(tiny("llama", PIECES - 1), workspace / "parent", own)
    with pytest.raises(UserError, match="400 tokens and its model 399 rows"):
        train(child_of(make_recipe, parent), workspace)
    save_tiny(tiny("llama", 10 * PIECES), parent, own)
    with pytest.raises(UserError, match="400 tokens and its model 4,000 rows"):
        train(child_of(make_recipe, parent), workspace)


def test_a_shape_may_be_said_if_it_is_the_parents(make_recipe: MakeRecipe, workspace: Path) -> None:
    own = workspace / "tokens/small/tokenizer.json"
    parent = save_tiny(tiny("llama", PIECES), workspace / "parent", own)
    plan = child_of(make_recipe, parent, "model.shape=0.1M")
    with pytest.raises(UserError, match=r"another shape than 0\.1M") as caught:
        train(plan, workspace)
    assert "leave it out" in caught.value.hint


def test_a_parent_with_weights_that_are_no_numbers_is_refused(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    model = tiny("llama", PIECES)
    model.get_input_embeddings().get_parameter("weight").data[7, 3] = torch.nan
    own = workspace / "tokens/small/tokenizer.json"
    parent = save_tiny(model, workspace / "parent", own)
    with pytest.raises(UserError, match=r"embed_tokens\.weight` holds NaN") as caught:
        train(child_of(make_recipe, parent), workspace)
    assert caught.value.where == str(parent)
