"""Runs that train a part of a base: embeddings, some layers, low-rank updates."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from tests.conftest import MakeRecipe
from tests.train.making import (
    NEW,
    PIECES,
    base_of,
    child_of,
    digests,
    losses,
    plan_of,
    start_two,
    train_and_stop,
)
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.core.randomness import derive_seed
from tongues.models.anatomy import embedding_matrices
from tongues.models.folders import stores_bfloat16
from tongues.models.huggingface import load_model
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens
from tongues.train import RunPlan, derive
from tongues.train.parts import narrow_frozen
from tongues.train.run import train
from tongues.train.start import make_mixture
from tongues.use.export.run import Changes, export_run

EXACT = ("train.precision=float32", "train.compile=off")
LORA = ("train.trainable={lora: {rank: 4}}", *EXACT)


def weights_in(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def plain_losses(plan: RunPlan, base: Path, workspace: Path, config: LoraConfig) -> list[float]:
    """The loss of each step of a plain loop with peft, on the run's batches."""
    tokens = open_tokens(workspace / "tokens/small")
    derived, settings = derive(plan, len(tokens.token_bytes), base), plan.settings
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    torch.manual_seed(derive_seed(settings.seed, "updates"))
    updated = get_peft_model(model, config)
    embedding = model.get_input_embeddings().weight
    embedding.requires_grad_(True)
    trained = [weight for weight in updated.parameters() if weight.requires_grad]
    matrices = [w for w in trained if w.ndim == 2 and w is not embedding]
    rest = [w for w in trained if w.ndim != 2 or w is embedding]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95))
    mixture, steps, found = make_mixture(plan, derived, tokens), derived.steps, []
    warm = max(1, round(settings.warmup * steps))
    for step in range(steps):
        windows = torch.from_numpy(mixture.batch(step).astype("int64"))
        logits = updated(input_ids=windows[:, :-1]).logits
        loss = cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        along = max(0, step - warm) / max(1, steps - 1 - warm)
        share = (step + 1) / warm if step < warm else 0.55 + 0.45 * math.cos(math.pi * along)
        for group in optimizer.param_groups:
            group["lr"] = derived.learning_rate * share
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def test_low_rank_updates_are_those_of_a_plain_loop_with_peft(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    base = base_of(workspace, "llama-tied")
    plan = child_of(make_recipe, base, *LORA)
    directory = train(plan, workspace)
    found = losses(directory, log="metrics.jsonl")
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear")
    config.task_type = "CAUSAL_LM"
    assert found == pytest.approx(plain_losses(plan, base, workspace, config), abs=1e-5)
    assert found[-1] < found[0] - 0.3


@pytest.mark.parametrize("name", ["llama-tied", "gpt2", "phi", "qwen2_moe"])
def test_the_finished_model_is_whole_and_its_adapter_fits_the_base(
    make_recipe: MakeRecipe, workspace: Path, name: str
) -> None:
    base = base_of(workspace, name)
    kept = ("train.replay={qab: 25%}", "train.max_forgetting={qab: 1%}", "train.budget=3k tokens")
    directory = train(child_of(make_recipe, base, *LORA, *kept, knows="qab"), workspace)
    assert read_run(directory).replay["qab"] > 0
    merged: Any = AutoModelForCausalLM.from_pretrained(directory / "model")
    assert type(merged) is type(load_model(base))
    assert weights_in(directory / "model").keys() == weights_in(base).keys()
    tied = len(embedding_matrices(merged)) == 1
    assert tied == merged.config.tie_word_embeddings
    again = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    again = PeftModel.from_pretrained(again, str(directory / "adapter"))
    ids = torch.arange(48).reshape(2, 24)
    found, expected = merged(input_ids=ids).logits, again(input_ids=ids).logits
    assert torch.allclose(found, expected, atol=1e-5)
    old = load_model(base)(input_ids=ids).logits
    assert (found - old).abs().max() > 1e-2
    assert read_json(directory / "adapter/adapter_config.json")["r"] == 4


def test_what_is_frozen_stays_bit_for_bit(make_recipe: MakeRecipe, workspace: Path) -> None:
    base = base_of(workspace, "llama")
    before = weights_in(base)
    parts = {"embeddings": ("embed", "lm_head"), "feed_forward": ("mlp",)}
    for part, names in parts.items():
        overrides = (f"train.trainable={part}", "train.budget=2k tokens")
        plan = child_of(make_recipe, base, *overrides, name=part)
        after = weights_in(train(plan, workspace) / "model")
        for key, weight in before.items():
            moves = any(name in key for name in names)
            assert torch.equal(weight, after[key]) != moves, (part, key)


def test_new_tokens_are_trained_and_a_stopped_run_ends_with_the_same_bytes(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    base = base_of(workspace, "llama-tied", NEW)
    settings = (*LORA, "train.budget=10k tokens")
    alone = train(child_of(make_recipe, base, *settings, name="alone"), workspace)
    often = "train.checkpoint_every=0.001 seconds"
    plan = child_of(make_recipe, base, *settings, often, name="stopped")
    stopped = train_and_stop(plan, workspace)
    (held, *_) = sorted((stopped / "checkpoints").glob("step-*"))
    names = load_file(next(held.glob("*.safetensors"))).keys()
    assert {name.partition("/")[2] for name in names} == {
        name.partition("/")[2]
        for name in names
        if "lora" in name or name.endswith("embed_tokens.weight")
    }
    train(plan, workspace)
    assert digests(stopped) == digests(alone)
    for file in ("adapter_model.safetensors", "adapter_config.json"):
        assert (stopped / "adapter" / file).read_bytes() == (alone / "adapter" / file).read_bytes()
    embedding = weights_in(alone / "model")["model.embed_tokens.weight"]
    assert (embedding[PIECES - NEW : PIECES].std(0) > 0).all()


def test_a_milestone_is_completed_from_the_base_and_from_no_other(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    base = base_of(workspace, "llama-tied", NEW)
    plan = child_of(
        make_recipe, base, *LORA, "train.milestones=[50%, 100%]", "train.budget=5k tokens"
    )
    directory = train(plan, workspace)
    steps = read_run(directory).steps
    (place,) = directory.glob(f"checkpoints/milestone-*{steps}")
    record = directory / "run.json"
    record.write_text(record.read_text().replace('"finished"', '"running"'))
    export_run(directory, workspace, tmp_path / "last", Changes(steps, dtype="fp32"))
    own, last = weights_in(directory / "model"), weights_in(tmp_path / "last")
    assert own.keys() == last.keys()
    assert all(torch.equal(own[name], last[name]) for name in own)
    half = Changes(round(steps / 2), dtype="fp32")
    export_run(directory, workspace, tmp_path / "half", half)
    assert not torch.equal(
        weights_in(tmp_path / "half")["model.layers.0.mlp.up_proj.weight"],
        own["model.layers.0.mlp.up_proj.weight"],
    )
    model = load_model(base)
    model.get_input_embeddings().get_parameter("weight").data[0] += 1
    model.save_pretrained(base)
    with pytest.raises(UserError, match="is not the base that the run continued from"):
        export_run(directory, workspace, tmp_path / "other", half)
    assert place.is_dir()


@pytest.mark.slow
def test_two_processes_do_as_one(
    recipe_file: Path, make_recipe: MakeRecipe, workspace: Path
) -> None:
    base = base_of(workspace, "llama-tied", NEW)
    one = train(child_of(make_recipe, base, *LORA, "train.budget=3k tokens", name="one"), workspace)
    known = f"train.base={{model: {base}, languages: [qac]}}"
    settings = (*LORA, "model.shape=null", known, "train.run=two", "train.budget=3k tokens")
    assert start_two(recipe_file, workspace, *settings).wait() == 0
    two = workspace / "runs/two"
    ours, theirs = (losses(run, log="metrics.jsonl") for run in (one, two))
    assert theirs == pytest.approx(ours, abs=1e-5)
    for folder in ("model/model", "adapter/adapter_model"):
        expected, found = (load_file(run / f"{folder}.safetensors") for run in (one, two))
        assert expected.keys() == found.keys()
        for name, weight in expected.items():
            assert torch.allclose(weight, found[name], atol=1e-4), name


def test_what_is_trained_is_counted_before_it_is(make_recipe: MakeRecipe, workspace: Path) -> None:
    base = base_of(workspace, "llama")
    whole = derive(child_of(make_recipe, base, *EXACT), PIECES, base)
    low = derive(child_of(make_recipe, base, *LORA), PIECES, base)
    assert whole.trained == whole.parameters["total"]
    # a layer: q and o 32 x 32, k and v 16 x 32, three of 64 x 32; rank 4
    updates = 2 * 4 * (2 * 64 + 2 * 48 + 3 * 96)
    assert low.trained == updates + whole.parameters["embedding"]
    assert low.parameters == whole.parameters
    assert low.checkpoint_bytes == 12 * low.trained
    frozen = whole.anatomy.products - PIECES * 32
    assert low.flops == whole.flops + (6 * updates - 2 * frozen) * whole.tokens


def test_parts_need_a_base_peft_and_embeddings_for_new_tokens(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="random weights trains all"):
        derive(plan_of(make_recipe, "train.trainable=lora"), PIECES)
    base = base_of(workspace, "llama", NEW)
    plan = child_of(make_recipe, base, "train.trainable={embeddings: false}")
    with pytest.raises(UserError, match="embeddings of new tokens must be trained"):
        train(plan, workspace)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UserError, match="`peft` is not installed") as caught:
        derive(plan, PIECES, base)
    assert caught.value.hint == "pip install 'tongues[lora]'"


def test_what_is_frozen_is_held_in_bfloat16_exactly_and_nothing_else_is(workspace: Path) -> None:
    folder = base_of(workspace, "llama")
    assert not stores_bfloat16(folder)
    load_model(folder).bfloat16().save_pretrained(folder)
    assert stores_bfloat16(folder)
    model, whole = load_model(folder), load_model(folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_(name == "lm_head.weight")
    narrow_frozen(model)
    for (name, weight), before in zip(model.named_parameters(), whole.parameters(), strict=True):
        assert (weight.dtype == torch.float32) == weight.requires_grad == (name == "lm_head.weight")
        assert torch.equal(weight.float(), before)
