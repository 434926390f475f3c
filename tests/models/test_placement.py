"""Where models that are used compute: the devices there are, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.evaluate.runner import EvalSpec
from tongues.experts.ensemble.ensemble import (
    ExpertModels,
    expert_log_probs,
    open_alone,
    open_ensemble,
)
from tongues.experts.ensemble.generate import generate
from tongues.experts.ensemble.model import open_model
from tongues.experts.ensemble.routing import parse_routing
from tongues.models.placement import Placement, choose_placement
from tongues.text import Document


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experts and an ensemble of them."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("placed")
    tokenizer = make_tokenizer(place / "tokens")
    folders = [place / f"runs/e{number}/model" for number in range(2)]
    for number, folder in enumerate(folders):
        make_expert(folder, tokenizer, seed=number)
    make_ensemble(place, folders, place / "tokens/tokenizer.json")
    return place


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs, as torch would report them."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)


def names(placement: Placement) -> list[str]:
    return [str(device) for device in placement.devices]


@pytest.mark.usefixtures("gpus")
def test_every_gpu_is_used_where_there_are_some() -> None:
    assert names(choose_placement()) == names(choose_placement("cuda")) == ["cuda:0", "cuda:1"]
    assert choose_placement().dtype == torch.bfloat16
    assert names(choose_placement("cuda:1", "fp32")) == ["cuda:1"]
    assert choose_placement("cuda:1", "fp32").dtype == torch.float32
    assert choose_placement("cpu") == Placement()
    with pytest.raises(UserError, match="torch sees 2 GPUs") as caught:
        choose_placement("cuda:2")
    assert "`cuda:1`" in caught.value.hint


@pytest.mark.parametrize(
    ("device", "dtype", "reason"), inputs("rows")["test_what_cannot_be_is_refused_with_the_reason"]
)
def test_what_cannot_be_is_refused_with_the_reason(
    place: Path, monkeypatch: pytest.MonkeyPatch, device: str, dtype: str | None, reason: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=reason):
        open_model("e0", place, device=device, dtype=dtype)


def test_experts_are_spread_over_the_devices(place: Path) -> None:
    folders = [place / f"runs/e{number % 2}/model" for number in range(3)]
    devices = (torch.device("cpu"), torch.device("meta"))
    models = ExpertModels(folders, placement=Placement(devices, torch.bfloat16))
    assert [models[number].device.type for number in range(3)] == ["cpu", "meta", "cpu"]
    assert {weight.dtype for weight in models[0].parameters()} == {torch.bfloat16}
    assert models.home.type == "cpu"
    assert 2 * models.bytes[0] == ExpertModels(folders).bytes[0]


def test_a_narrower_type_predicts_nearly_the_same(place: Path) -> None:
    folder = place / "runs/e0/model"
    document = [np.arange(3, 40, dtype=np.int64)]
    exact, narrow = (
        expert_log_probs(open_alone(folder, "e0", choose_placement("cpu", dtype)), document)[0]
        for dtype in ("fp32", "bf16")
    )
    assert 0 < np.abs(exact - narrow).max() < 0.2
    np.testing.assert_allclose(exact.mean(), narrow.mean(), atol=0.02)


def test_an_ensemble_generates_in_a_narrower_type(place: Path) -> None:
    (folder,) = (file.parent for file in place.rglob("ensemble.json"))
    ensemble = open_ensemble(folder, place, placement=choose_placement("cpu", "bf16"))
    (text,) = generate(ensemble, [np.array([4, 5, 6])], parse_routing("tfidf"), most=5)
    assert 1 <= len(text) <= 5
    assert ensemble.models[0].dtype == torch.bfloat16


def test_results_in_another_type_are_scored_again(place: Path) -> None:
    documents = [Document("1", "qaa", "a b", "1", "file")]
    spec = EvalSpec({"text": {"qaa": documents}})
    exact, again, narrow = (
        open_model(str(place / "runs/e0/model"), place, device="cpu", dtype=dtype)
        for dtype in ("fp32", None, "bf16")
    )
    (unit,) = spec.units(exact.name)
    assert spec.fingerprint(exact, unit) == spec.fingerprint(again, unit)
    assert spec.fingerprint(exact, unit) != spec.fingerprint(narrow, unit)
