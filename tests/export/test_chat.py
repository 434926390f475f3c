import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.conftest import MakeRecipe
from tests.models.families import save_tiny, tiny
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.core.roles import Roles
from tongues.text.tokens import load_tokenizer, open_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work
from tongues.use.export.add_chat import Trial, choose
from tongues.use.export.chat import Residual, adopt_chat, adopt_tokens
from tongues.use.export.run import Changes, export_run

ROWS = 416  # 400 tokens, padded
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NEW = ("zzq", "qqz", "zqz")
Three = tuple[Path, Path, Path]


def add_tokens(folder: Path, names: tuple[str, ...], *, special: bool) -> None:
    """Put tokens behind a vocabulary of 400, as an extension or as instruction tuning does."""
    plain = read_json(folder / "tokenizer.json")
    for number, name in enumerate(names, 400):
        plain["model"]["vocab"][name] = number
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        if special:
            about = {"id": number, "content": name, **flags, "special": True}
            plain["added_tokens"].append(about)
    write_json(folder / "tokenizer.json", plain)


def perturb(folder: Path, seed: int, size: float) -> None:
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(seed)
    for name in sorted(weights):
        weights[name] += size * torch.randn(weights[name].shape, generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.fixture(params=["llama", "llama-tied", "gpt2"])
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def make_three(at: Path, tokenizer: Path, family: str) -> Three:
    """A base, a model trained on with new tokens, and one tuned with special tokens of its own."""
    base = save_tiny(tiny(family, ROWS), at / "base", tokenizer)
    write_json(base / "tokenizer_config.json", {"eos_token": "<|end|>"})
    for name, seed, size in (("trained", 1, 1e-3), ("instruct", 2, 1e-3)):
        shutil.copytree(base, at / name)
        perturb(at / name, seed, size)
    trained, instruct = at / "trained", at / "instruct"
    add_tokens(trained, NEW, special=False)
    add_tokens(instruct, ("<|im_start|>", "<|im_end|>"), special=True)
    settings = {"eos_token": "<|im_end|>", "pad_token": "<|end|>", "chat_template": TEMPLATE}
    write_json(instruct / "tokenizer_config.json", settings)
    generation = {"eos_token_id": [0, 401], "temperature": 0.7, "do_sample": True}
    write_json(instruct / "generation_config.json", generation)
    return base, trained, instruct


@pytest.fixture
def three(tmp_path: Path, tokens: Path, family: str) -> Three:
    return make_three(tmp_path, open_tokens(tokens).tokenizer_path, family)


@pytest.fixture
def llamas(tmp_path: Path, tokens: Path) -> Three:
    return make_three(tmp_path, open_tokens(tokens).tokenizer_path, "llama")


def expected_rows(own: Tensor, instruct: Tensor, base: Tensor, weight: float) -> Tensor:
    """By hand: 1–399 are old, 400–402 new, 0 special, and 403–404 those of the instruct model."""
    rows = own.clone()
    for row in range(1, 400):
        rows[row] = own[row] + weight * (instruct[row] - base[row])
    rows[0], rows[403], rows[404] = instruct[0], instruct[400], instruct[401]
    return rows


def test_the_residual_is_added_exactly(three: Three, family: str) -> None:
    base, trained, instruct = three
    before = [load_file(folder / "model.safetensors") for folder in (trained, instruct, base)]
    assert adopt_tokens(trained, instruct) == ["<|im_start|>", "<|im_end|>"]
    for weight in (0.5, 1.0):
        out = trained.parent / f"out-{weight}"
        shutil.copytree(trained, out)
        with Residual(trained, instruct, base) as residual:
            residual.write(out, weight)
        after = load_file(out / "model.safetensors")
        assert after.keys() == before[0].keys()
        by_row = 0
        for name, (own, tuned, plain) in {x: [w[x] for w in before] for x in after}.items():
            if own.ndim == 2 and len(own) == ROWS:
                by_row += 1
                torch.testing.assert_close(after[name], expected_rows(own, tuned, plain, weight))
            else:
                torch.testing.assert_close(after[name], own + weight * (tuned - plain))
        assert by_row == (2 if family == "llama" else 1)  # tied heads are stored once
        model: Any = AutoModelForCausalLM.from_pretrained(out)
        tied = model.get_input_embeddings().weight is model.get_output_embeddings().weight
        assert tied == (family != "llama")


def test_more_rows_are_made_where_there_is_no_room(llamas: Three) -> None:
    base, trained, instruct = llamas
    for folder, rows in ((base, 400), (trained, 403), (instruct, 402)):
        weights = load_file(folder / "model.safetensors")
        cut = {name: w[:rows].clone() if len(w) == ROWS else w for name, w in weights.items()}
        save_file(cut, folder / "model.safetensors", metadata={"format": "pt"})
        config = read_json(folder / "config.json")
        write_json(folder / "config.json", config | {"vocab_size": rows})
    adopt_tokens(trained, instruct)
    tuned = load_file(instruct / "model.safetensors")["lm_head.weight"]
    with Residual(trained, instruct, base) as residual:
        residual.write(trained, 1.0)
    model: Any = AutoModelForCausalLM.from_pretrained(trained)
    assert model.config.vocab_size == 405
    assert torch.equal(model.get_output_embeddings().weight[403:], tuned[400:402])


def test_template_and_ends_go_by_their_tokens(llamas: Three) -> None:
    _, trained, instruct = llamas
    ids = {name: load_tokenizer(trained).token_to_id(name) for name in NEW}
    adopt_tokens(trained, instruct)
    assert adopt_tokens(trained, instruct) == []
    adopt_chat(trained, instruct)
    tokenizer: Any = AutoTokenizer.from_pretrained(trained)
    assert {name: tokenizer.convert_tokens_to_ids(name) for name in NEW} == ids
    assert tokenizer.eos_token == "<|im_end|>" and tokenizer.pad_token == "<|end|>"
    turns = [{"role": "user", "content": "a"}]
    asked = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True)
    assert (asked["input_ids"][0], asked["input_ids"].count(404)) == (403, 1)
    generation = read_json(trained / "generation_config.json")
    assert generation["eos_token_id"] == [0, 404] and generation["temperature"] == 0.7
    (instruct / "tokenizer_config.json").unlink()
    with pytest.raises(UserError, match="no chat template"):
        adopt_chat(trained, instruct)


def other_rope(folder: Path) -> None:
    config = read_json(folder / "config.json")
    rope = {"rope_type": "default", "rope_theta": 5e5}
    write_json(folder / "config.json", config | {"rope_parameters": rope, "rope_theta": 5e5})


def other_shape(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = torch.ones(31)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


WRONG: dict[str, Callable[[Path], object]] = {
    "`rope_parameters`": other_rope,
    "`intermediate_size`": lambda at: tiny("llama", ROWS, intermediate_size=48).save_pretrained(at),
    "`tie_word_embeddings`": lambda at: tiny("llama-tied", ROWS).save_pretrained(at),
    "is not a tuning of": lambda at: perturb(at, 3, 1.0),
    r"norm.weight` has the shape \[31\], not \[32\]": other_shape,
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_does_not_belong_together_is_refused_with_the_reason(
    reason: str, llamas: Three
) -> None:
    base, trained, instruct = llamas
    WRONG[reason](instruct)
    with pytest.raises(UserError, match=reason):
        Residual(trained, instruct, base)
    with pytest.raises(UserError, match="the base itself"):
        Residual(trained, base, base)


def test_long_training_is_cautioned_by_layer(llamas: Three) -> None:
    base, trained, instruct = llamas
    with Residual(trained, instruct, base) as residual:
        assert [each.rpartition("(")[2] for each in residual.cautions] == ["chat_too_small)"]
    weights = load_file(trained / "model.safetensors")
    for name in weights:
        if ".layers.1." in name:
            weights[name] += 0.01
    save_file(weights, trained / "model.safetensors", metadata={"format": "pt"})
    with Residual(trained, instruct, base) as residual:
        assert "moved layer 1 more than 3 times" in residual.cautions[0]


def test_the_weight_is_the_largest_that_costs_little() -> None:
    trials = [Trial(x / 4, {"sw": 1.0}, 0.004 * x) for x in range(5)]
    assert choose(trials) == (trials[2], "")
    costly = [replace(trial, rise=0.1 * trial.weight) for trial in trials]
    chosen, caution = choose(costly)
    assert chosen.weight == 0.25 and "raises the held-out loss by 2.5%" in caution


def test_a_run_of_the_base_learns_to_chat(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    tokenizer = open_tokens(workspace / "tokens" / "small").tokenizer_path
    base, other, instruct = make_three(tmp_path / "models", tokenizer, "llama")
    plan = run_of_recipe(
        open_work(make_recipe("train.budget=2k tokens", "train.learning_rate=1e-5"))
    )
    roles = Roles(("qaa",), ("en",))
    plan = replace(plan, name="more", strategy="cpt", base=str(base), roles=roles, shape=None)
    directory = train(plan, workspace)
    lines: list[str] = []
    changes = Changes(instruct=instruct, dtype="bf16")
    export_run(directory, workspace, tmp_path / "chat", changes, say=lines.append)
    table = next(line for line in lines if line.startswith("weight  ")).splitlines()
    assert [row.split()[0] for row in table] == ["weight", "0", "0.25", "0.5", "0.75", "1"]
    assert any(re.fullmatch(r"weight (1|0\.\d+)", line) for line in lines)
    card = (tmp_path / "chat" / "README.md").read_text()
    assert "times what instruction tuning changed from `base` to `instruct`" in card
    assert str(tmp_path) not in card and ModelCard(card).data
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "chat")
    assert model.generation_config.eos_token_id == [0, 401] and model.dtype == torch.bfloat16
    assert json.loads((tmp_path / "chat/config.json").read_text())["eos_token_id"] == [0, 401]
    for changed, reason in ((other, "other weights than those"), (None, "neither a run")):
        shutil.rmtree(base)
        if changed:
            shutil.copytree(changed, base)
        with pytest.raises(UserError, match=reason):
            export_run(directory, workspace, tmp_path / "none", Changes(instruct=instruct))
