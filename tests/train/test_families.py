"""Runs that start from tiny models of well-known families, with a vocabulary to extend."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMultimodalLM

from tests.conftest import MakeRecipe
from tests.models.families import FAMILIES, save_tiny, tiny
from tests.models.published import PUBLISHED, publish, stored
from tests.models.shortened import shortened
from tests.train.making import NEW, PIECES, base_of, child_of, held_out_nats, losses
from tongues.core.errors import UserError
from tongues.runs.record import read_run
from tongues.text.tokens import prepare_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work
from tongues.use.export.run import Changes, export_run

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


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_folder_is_continued_and_written_back_in_its_layout(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path, name: str
) -> None:
    own = workspace / "tokens/small/tokenizer.json"
    extended = name != "Qwen3-30B-A3B"  # that one has every token already
    if extended:
        shortened(own, NEW, tmp_path / "shorter.json")
        own = tmp_path / "shorter.json"
    base = publish(name, PIECES - NEW * extended, workspace / "base", own)
    plan = child_of(make_recipe, base, "train.milestones=[50%]", *SHORT)
    directory = train(plan, workspace)
    model = directory / "model"
    before, after = stored(base), stored(model)
    assert before.keys() == after.keys()
    assert {file.name for file in base.iterdir()} < {file.name for file in model.iterdir()}
    config = json.loads((model / "config.json").read_text())
    text = config.get("text_config", config)
    assert text["vocab_size"] == (448 if extended else PIECES)  # filled up to a multiple of 64
    assert text["attention_dropout"] == 0.1
    auto = AutoModelForMultimodalLM if "vision_config" in config else AutoModelForCausalLM
    again = auto.from_pretrained(model, dtype=torch.float32).eval()
    first, *_, last = losses(directory)
    assert last < first
    assert last == pytest.approx(float(held_out_nats(again, workspace)[0].mean()), rel=1e-5)
    assert read_run(directory).family == again.config.get_text_config().model_type
    half = read_run(directory).steps // 2
    for step, place in ((None, tmp_path / "end"), (half, tmp_path / "half")):
        export_run(directory, workspace, place, Changes(step=step))
        exported = stored(place)
        assert exported.keys() == before.keys()
        for key, weight in before.items():
            assert exported[key].dtype == weight.dtype, key
            if any(part in key for part in ("vision", "multi_modal", "layers.61")):
                assert torch.equal(exported[key], weight), key
        auto.from_pretrained(place)


def test_tokenizer_ids_beyond_the_rows_are_accepted_if_text_never_has_them(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    """As gemma-3-1b: 262,145 tokenizer ids, the last of a special token, and 262,144 rows."""
    own = workspace / "tokens/small/tokenizer.json"
    base = publish("gemma-3-1b", PIECES, workspace / "base", own)
    tokenizer = json.loads(own.read_text())
    added = {"id": PIECES, "content": "<image_soft_token>", "special": True}
    added |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer["added_tokens"].append(added)
    (base / "tokenizer.json").write_text(json.dumps(tokenizer))
    recipe = make_recipe(
        "name=surplus",
        f"tokens.base={base}",
        f"train.base={{model: {base}, languages: [qac]}}",
        "model.shape=null",
        *SHORT,
    )
    prepare_tokens(recipe, workspace, progress=lambda line: None)
    directory = train(run_of_recipe(open_work(recipe)), workspace)
    assert read_run(directory).params["embedding"] == PIECES * 32
    assert len(stored(directory / "model")["model.embed_tokens.weight"]) == PIECES
