"""A base that loses tokens which its text does not use, or gets another tokenizer."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

from tests.conftest import RECIPE
from tongues.core.errors import UserError
from tongues.models.huggingface import load_model
from tongues.plan.check import check_recipe
from tongues.recipe import load_recipe
from tongues.runs.record import read_run
from tongues.text.tokens import load_tokenizer, open_tokens, prepare_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.transplant import transplanted
from tongues.train.work import open_work


@pytest.fixture
def base(trained: Path) -> Path:
    """A model of the small recipe."""
    return trained / "model"


def continued(workspace: Path, base: Path, tokens: str) -> tuple[Path, list[str]]:
    """A run on other tokens from that base, and what it printed."""
    file, printed = workspace / "child.yaml", list[str]()
    own = load_tokenizer(workspace / "tokens/small")
    shard = open_tokens(workspace / "tokens/small").shard("qaa", "train")
    documents = [shard.tokens[a:b].tolist() for a, b in pairwise(shard.bounds.tolist())]
    with (workspace / "qaa.jsonl").open("w") as texts:
        for number, text in enumerate(own.decode_batch(documents)):
            texts.write(json.dumps({"text": text, "id": str(number)}) + "\n")
    text = re.sub(
        "  synthetic:.*?tokens:", "  files: {qaa: TEXT}\ntokens:", RECIPE, flags=re.DOTALL
    )
    text = re.sub("tokens: {.*}", f"tokens: {{{tokens}, held_out: 2000 tokens}}", text)
    text = text.replace("TEXT", str(workspace / "qaa.jsonl")).replace("name: small", "name: child")
    text = text.replace("budget: 20k tokens", "budget: 2k tokens")
    file.write_text(text.replace("model: {shape: 0.1M}", "model: {}"))
    recipe = load_recipe(file, (f"train.base={{model: {base}, languages: [qab]}}",))
    prepare_tokens(recipe, workspace, printed.append, overwrite=True)
    return train(run_of_recipe(open_work(recipe)), workspace, tell=printed.append), printed


def input_rows(folder: Path) -> torch.Tensor:
    return load_model(folder).get_input_embeddings().get_parameter("weight").detach()


def bits(printed: list[str]) -> dict[str, tuple[float, float]]:
    """Before and after, by language."""
    found = [re.fullmatch(r"  (\w+): ([\d.]+) → ([\d.]+)", line) for line in printed]
    return {match[1]: (float(match[2]), float(match[3])) for match in found if match}


def test_a_trimmed_base_keeps_its_embeddings_and_its_loss(workspace: Path, base: Path) -> None:
    directory, printed = continued(workspace, base, f"base: {base}, trim: true, sample: 2 kB")
    (folder,) = (workspace / "bases").iterdir()
    old, new = load_tokenizer(base), load_tokenizer(folder)
    assert new.get_vocab_size() < old.get_vocab_size() == 400
    weights = [input_rows(place) for place in (base, folder)]
    for token, number in new.get_vocab().items():
        assert torch.equal(weights[1][number], weights[0][old.token_to_id(token)])
    assert len(weights[1]) % 64 == 0
    for before, after in bits(printed).values():
        assert after == pytest.approx(before, rel=0.1)
    model = load_model(directory / "model")
    end = open_tokens(workspace / "tokens/child").frame.end
    assert model.config.eos_token_id == end
    assert read_run(directory).params["total"] == model.num_parameters()
    named = (f"train.base={{model: {base}, languages: [qab]}}",)
    ((_, derived),) = check_recipe(
        open_work(load_recipe(workspace / "child.yaml", named), workspace)
    ).runs
    assert derived.parameters["total"] == model.num_parameters()


def test_two_bases_of_one_name_stay_apart(workspace: Path, base: Path) -> None:
    tokens = f"base: {base}, trim: true, sample: 2 kB"
    continued(workspace, base, tokens)
    weights = base / "model.safetensors"
    state = load_file(weights)
    save_file({name: 2 * tensor for name, tensor in state.items()}, weights, {"format": "pt"})
    transplanted(base, open_tokens(workspace / "tokens/child"), workspace, print)
    one, other = (input_rows(folder) for folder in (workspace / "bases").iterdir())
    assert not torch.equal(one, other)


def test_another_tokenizer_composes_what_the_base_does_not_have(
    workspace: Path, base: Path
) -> None:
    with pytest.raises(UserError, match="another tokenizer"):
        continued(workspace, base, "vocab_size: 500")
    printed = continued(workspace, base, "vocab_size: 500, replace: true")[1]
    assert any("400 tokens become 500" in line for line in printed)
    losses = bits(printed)
    assert losses.keys() == {"qaa"}
    folder = next(path for path in (workspace / "bases").iterdir())
    old, new = load_tokenizer(base), load_tokenizer(folder)
    weights = [input_rows(place) for place in (base, folder)]
    for token, number in new.get_vocab().items():
        known = old.token_to_id(token)
        parts = [known] if known is not None else [part.id for part in old.model.tokenize(token)]
        torch.testing.assert_close(weights[1][number], weights[0][parts].mean(0))
    # The loss after is that of the folder itself, on the beginnings of held-out documents.
    tokens = open_tokens(workspace / "tokens/child")
    shard, model = tokens.shard("qaa", "valid"), load_model(folder)
    nats = size = scored = 0.0
    for start, end in zip(shard.bounds[:-1], shard.bounds[1:], strict=True):
        text = new.decode(shard.tokens[start:end].tolist(), skip_special_tokens=True)
        ids = torch.tensor(new.encode(text, add_special_tokens=False).ids[:64])
        if len(ids) > 1 and scored < 8192:
            logits = model(ids[None, :-1]).logits[0]
            nats += cross_entropy(logits, ids[1:], reduction="sum").item()
            size += len(b"".join(new.decode([n]).encode() for n in ids[1:].tolist()))
            scored += len(ids)
    assert losses["qaa"][1] == pytest.approx(nats / 0.6931 / size, rel=0.02)
