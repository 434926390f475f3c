"""Runs that start from tiny models of well-known families, with a vocabulary to extend."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.conftest import MakeRecipe
from tests.models.families import FAMILIES, save_tiny, tiny
from tests.train.making import NEW, PIECES, base_of, child_of, held_out_nats, losses
from tongues.errors import UserError
from tongues.runs import read_run
from tongues.train.run import train

SHORT = ("train.budget=3k tokens", "train.eval_languages=[qab]", "train.precision=float32")


@pytest.mark.parametrize("name", FAMILIES)
def test_any_family_is_continued_with_new_pieces_and_loads_elsewhere(
    make_recipe: MakeRecipe, workspace: Path, name: str
) -> None:
    rows = 390 if name == "qwen3" else PIECES - NEW  # more rows than pieces, as Qwen's has
    base = base_of(workspace, name, NEW, rows)
    directory = train(child_of(make_recipe, base, *SHORT), workspace)
    record = read_run(directory)
    family = FAMILIES[name][0]
    assert record.family == family
    assert record.shape.startswith(f"{family}-")
    assert record.vocabulary_extension is not None
    model = AutoModelForCausalLM.from_pretrained(directory / "model").eval()
    assert record.params["total"] == model.num_parameters()
    assert model.config.vocab_size == 448
    first, *_, last = losses(directory)
    assert last < first
    assert last == pytest.approx(float(held_out_nats(model, workspace)[0].mean()), rel=1e-5)
    assert family in (directory / "model/README.md").read_text()


def test_a_matrix_with_rows_to_spare_stays_as_large(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = child_of(make_recipe, base_of(workspace, "qwen3", rows=512), *SHORT)
    record = read_run(train(plan, workspace))
    assert record.vocabulary_extension is None
    assert record.params["embedding"] == 512 * 32
    again = read_run(train(replace(plan, base="child", name="grandchild"), workspace))
    assert (again.params, again.shape) == (record.params, record.shape)


def test_a_base_that_does_not_fit_is_refused(make_recipe: MakeRecipe, workspace: Path) -> None:
    own = workspace / "tokens/small/tokenizer.json"

    def refused(says: str, *overrides: str) -> UserError:
        with pytest.raises(UserError, match=says) as caught:
            train(child_of(make_recipe, base, *SHORT, *overrides), workspace)
        return caught.value

    base = base_of(workspace, "gpt2")
    longer = refused("longer than the base's 64", "train.context=128 tokens")
    assert longer.where == "train.context"
    for rows in (PIECES - 1, 10 * PIECES):
        save_tiny(tiny("llama", rows), base, own)
        refused(f"400 tokens and its model {rows:,} rows")
    save_tiny(tiny("llama", PIECES), base, own)
    assert "leave it out" in refused(r"another shape than 0\.1M", "model.shape=0.1M").hint
    model = tiny("llama", PIECES)
    model.get_input_embeddings().get_parameter("weight").data[7, 3] = torch.nan
    save_tiny(model, base, own)
    assert refused(r"embed_tokens\.weight` holds NaN").where == str(base)
