"""Folders laid out as well-known models are published: continued, and written back as they were."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMultimodalLM

from tests.conftest import MakeRecipe
from tests.models.published import PUBLISHED, publish, stored
from tests.models.shortened import shortened
from tests.train.making import NEW, PIECES, child_of, held_out_nats, losses
from tests.train.test_families import SHORT
from tongues.export.run import Changes, export_run
from tongues.runs import read_run
from tongues.tokens import prepare_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train


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
    directory = train(run_of_recipe(recipe), workspace)
    assert read_run(directory).params["embedding"] == PIECES * 32
    assert len(stored(directory / "model")["model.embed_tokens.weight"]) == PIECES
