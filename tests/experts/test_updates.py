"""Experts of low rank: one base in memory, the predictions of whole experts, and more of them."""

from pathlib import Path
from shutil import copytree

import pytest
import torch
from click.testing import CliRunner

from tests.conftest import with_tokens
from tests.experts.test_train import Ask, ask, planned, seed_model
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.core.launch import open_launcher
from tongues.experts.ensemble.ensemble import (
    ExpertModels,
    expert_log_probs,
    map_model,
    open_ensemble,
)
from tongues.experts.ensemble.lineage import read_lineage
from tongues.experts.ensemble.updates import find_updates
from tongues.experts.train import train_experts
from tongues.verbs.main import command

__all__ = ["ask", "seed_model"]  # fixtures

LOW = "train.trainable={lora: {rank: 2}, embeddings: false}"
TOKENS = torch.randint(400, (2, 30), generator=torch.Generator().manual_seed(1))


def trained(ask: Ask, workspace: Path, *overrides: str, experts: str) -> Path:
    recipe = ask(experts, LOW, *overrides)
    (folder,) = train_experts(
        recipe, workspace, planned(recipe, workspace), launcher=open_launcher()
    )
    return folder


@pytest.fixture(scope="module")
def trained_once(ask: Ask, tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two experts of low rank, which tests copy."""
    workspace = with_tokens(tmp_path_factory.mktemp("low"), tokens)
    rate = "train.learning_rate=0.05"
    trained(ask, workspace, rate, experts="{partitions: [{by: languages}]}")
    return workspace


@pytest.fixture
def workspace(trained_once: Path, tmp_path: Path) -> Path:
    return Path(copytree(trained_once, tmp_path / "w", symlinks=True))


def test_experts_share_their_base_and_predict_as_whole_ones(workspace: Path) -> None:
    ensemble = open_ensemble(ensemble_folder(workspace), workspace)
    folders = ensemble.models.folders
    whole = [map_model(folder) for folder in folders]
    gaps = []
    for number, own in enumerate(whole):
        with torch.no_grad():
            wanted, made = own(TOKENS).logits, ensemble.models[number](TOKENS).logits
        torch.testing.assert_close(made, wanted, rtol=1e-5, atol=1e-5)
        gaps.append(wanted)
    assert (gaps[0] - gaps[1]).abs().max() > 0.1
    weights = [dict(ensemble.models[number].named_parameters()) for number in range(2)]
    for name, weight in weights[0].items():
        assert (weight is weights[1][name]) is not name.endswith(("down", "up"))
    held = {id(w): w.numel() * 4 for own in weights for w in own.values()}
    assert sum(held.values()) == ensemble.models.shared + sum(ensemble.models.bytes)
    one = sum(w.numel() * 4 for w in whole[0].parameters())
    assert ensemble.models.shared == one and max(ensemble.models.bytes) < one
    (folders[0].parent / "adapter/adapter_model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"adapter_model\.safetensors` has changed"):
        open_ensemble(ensemble_folder(workspace), workspace)


def test_other_servers_read_the_adapters(workspace: Path) -> None:
    from peft import PeftModel

    for whole in open_ensemble(ensemble_folder(workspace), workspace).models.folders[:2]:
        base = Path(read_json(whole.parent / "run.json")["base"]["model"])
        model = PeftModel.from_pretrained(map_model(base), str(whole.parent / "adapter")).eval()
        with torch.no_grad():
            torch.testing.assert_close(
                model(TOKENS).logits, map_model(whole)(TOKENS).logits, rtol=1e-4, atol=1e-4
            )


def test_an_exported_ensemble_has_the_adapters_and_how_other_servers_load_them(
    workspace: Path,
) -> None:
    names = ["small/languages-s1", "--workspace", str(workspace), "-o", str(workspace / "out")]
    done = CliRunner().invoke(command, ["export", *names])
    assert done.exception is None, done.output
    card = (workspace / "out/README.md").read_text()
    (words,) = (line.split() for line in card.splitlines() if line.startswith("vllm serve"))
    assert words[words.index("--max-lora-rank") + 1] == "8"
    for module in words[words.index("--lora-modules") + 1 :]:
        adapter = workspace / "out" / module.partition("=")[2]
        assert read_json(adapter / "adapter_config.json")["r"] == 2
        assert (adapter / "adapter_model.safetensors").is_file()
    read_lineage(workspace / "out")


def ensemble_folder(workspace: Path) -> Path:
    return workspace / "ensembles/small/languages-s1"


def test_an_added_expert_updates_its_donors_updates(ask: Ask, workspace: Path) -> None:
    (workspace / "tokens/more").symlink_to(workspace / "tokens/small", target_is_directory=True)
    experts = "{add_to: small/languages-s1, partitions: [{by: languages}]}"
    folder = trained(ask, workspace, "name=more", experts=experts)
    ensemble = open_ensemble(folder, workspace)
    updates = [find_updates(place, workspace) for place in ensemble.models.folders]
    assert [len(one.adapters) for one in updates if one] == [2, 2]
    likely = expert_log_probs(ensemble, [TOKENS[0].numpy()])[0]
    plain = ExpertModels(ensemble.models.folders)
    assert plain.shared == 0
    with torch.no_grad():
        for number in range(2):
            wanted, made = plain[number](TOKENS).logits, ensemble.models[number](TOKENS).logits
            torch.testing.assert_close(made, wanted, rtol=1e-5, atol=1e-5)
    assert likely.shape == (30, 3)  # and by the base


def test_what_cannot_be_shared_is_opened_whole(workspace: Path) -> None:
    model = open_ensemble(ensemble_folder(workspace), workspace).models.folders[0]
    assert find_updates(model, workspace)
    config = model.parent / "adapter/adapter_config.json"
    plain = read_json(config)
    write_json(config, plain | {"use_dora": True})
    assert find_updates(model, workspace) is None
    write_json(config, plain)
    base = Path(read_json(model.parent / "run.json")["base"]["model"])
    text = (base / "model.safetensors").read_bytes()
    (base / "model.safetensors").write_bytes(text[:-1] + bytes([text[-1] ^ 1]))
    assert find_updates(model, workspace) is None
    (base / "model.safetensors").write_bytes(text)
