import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tests.experts.ensemble.making import VOCABULARY, make_ensemble, texts
from tests.models.families import FAMILIES, tiny
from tongues.core.errors import UserError
from tongues.experts.ensemble.ensemble import (
    ExpertModels,
    expert_log_probs,
    map_model,
    open_alone,
    open_ensemble,
)
from tongues.experts.ensemble.lineage import describe_expert, read_lineage, write_lineage

STORED = [("float32", name) for name in FAMILIES]
STORED += [(way, name) for way in ("bfloat16", "sharded") for name in ("llama-tied", "gpt2")]


@pytest.mark.parametrize(("stored", "name"), STORED)
def test_any_family_opens_as_transformers_opens_it(tmp_path: Path, stored: str, name: str) -> None:
    model = tiny(name, VOCABULARY)
    if stored == "bfloat16":
        model.bfloat16()
    model.save_pretrained(tmp_path, max_shard_size="20kB" if stored == "sharded" else "1GB")
    own = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        expected, found = own(tokens).logits, map_model(tmp_path)(tokens).logits
    assert torch.equal(found, expected)


def test_weights_lie_in_their_file(folders: list[Path]) -> None:
    model, weights = map_model(folders[0]), load_file(folders[0] / "model.safetensors")
    assert not model.training
    for name, weight in model.named_parameters():
        assert torch.equal(weight, weights[name])
        assert not weight.requires_grad
    assert str(folders[0] / "model.safetensors") in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
def test_bytes_are_those_held_and_not_those_stored(tmp_path: Path, stored: str) -> None:
    tiny("llama-tied", VOCABULARY).to(getattr(torch, stored)).save_pretrained(tmp_path)
    models = ExpertModels([tmp_path])
    held = sum(weight.numel() * weight.element_size() for weight in models[0].parameters())
    assert models.bytes == (held,)


def test_the_least_recently_used_is_let_go_of(folders: list[Path]) -> None:
    size = (folders[0] / "model.safetensors").stat().st_size
    models = ExpertModels(folders, memory=2 * size)
    assert models.held == ()
    first = models[0]
    for number in (1, 0, 2):
        assert models[number].config.vocab_size == VOCABULARY
    assert models.held == (0, 2)
    assert models[0] is first
    tight = ExpertModels(folders, memory=1)
    assert [tight[number].num_parameters() for number in range(3)]
    assert tight.held == (2,)


def test_weights_that_are_not_the_models_are_refused(folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        (folders[0] / "config.json")
        .read_text()
        .replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )
    (tmp_path / "model.safetensors").write_bytes((folders[0] / "model.safetensors").read_bytes())
    with pytest.raises(UserError, match=r"not those of its config.json"):
        map_model(tmp_path)


def test_the_base_is_there_for_other_text_as_long_as_it_is(
    workspace: Path, folders: list[Path], tokenizer: Path, tmp_path: Path
) -> None:
    base = Path(shutil.copytree(folders[2], tmp_path / "base"))
    folder = make_ensemble(workspace, folders[:2], tokenizer, name="based")
    fallback = describe_expert(
        "seed", base, workspace, languages={}, parent=None, run=None, tokens=0
    )
    write_lineage(replace(read_lineage(folder), fallback=fallback), folder)
    based = open_ensemble(folder)
    assert (based.k, based.width) == (2, 3)
    (likely,) = expert_log_probs(based, texts(1, 40))
    assert likely.shape[1] == 3
    (alone,) = expert_log_probs(open_alone(base, "seed"), texts(1, 40))
    np.testing.assert_allclose(likely[:, 2], alone[:, 0], atol=1e-5)
    (base / "config.json").write_text((base / "config.json").read_text() + " ")
    with pytest.raises(UserError, match="`seed` is not what it was"):
        open_ensemble(folder)
    shutil.rmtree(base)
    assert open_ensemble(folder).width == 2
