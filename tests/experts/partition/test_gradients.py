import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from tongues.core.errors import UserError
from tongues.experts.partition import gradients
from tongues.experts.partition.gradients import (
    draw_windows,
    gradient_distances,
    similarity_distances,
)
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.text.tokens import Tokens, open_tokens

FEW, SHORT = 16, 32  # windows, and tokens of one


@pytest.fixture(scope="module")
def prepared(tokens: Path) -> Tokens:
    return open_tokens(tokens)


@pytest.fixture(scope="module")
def base_model(prepared: Tokens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    model = build_model(find_shape("0.05M"), prepared.vocabulary_size, 64, seed=1)
    save_model(model, folder)
    shutil.copy(prepared.tokenizer_path, folder)
    return folder


def apart(base_model: Path, prepared: Tokens, *languages: str, seed: int = 0) -> float:
    """How far apart two languages are."""
    how: dict[str, Any] = {"windows": FEW, "context": SHORT, "seed": seed}
    found, notes = similarity_distances(base_model, prepared, languages, **how)
    assert "16 windows of 32 tokens" in notes[0] and list(found) == [*languages]
    return found["qaa"]["qab"]


@pytest.fixture(scope="module")
def distance(prepared: Tokens, base_model: Path) -> float:
    return apart(base_model, prepared, "qaa", "qab")


def test_the_same_every_time_and_another_with_other_windows(
    prepared: Tokens, base_model: Path, distance: float
) -> None:
    assert distance == pytest.approx(apart(base_model, prepared, "qab", "qaa"), abs=1e-6)
    assert distance != apart(base_model, prepared, "qaa", "qab", seed=1)
    assert 0 <= distance < 0.5  # near languages, and all look alike to a random model


def test_distances_are_what_gradients_of_transformers_give(
    prepared: Tokens, base_model: Path, distance: float
) -> None:
    drawn = {lang: draw_windows(prepared, lang, FEW, SHORT, seed=0) for lang in ("qaa", "qab")}
    model = AutoModelForCausalLM.from_pretrained(base_model, dtype=torch.float32)

    def gradient(windows: torch.Tensor) -> torch.Tensor:
        model.zero_grad()
        logits = model(input_ids=windows[:, :-1]).logits
        cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten()).backward()
        layers = [weight.grad for weight in model.model.layers.parameters()]
        return torch.cat([grad.flatten() for grad in (*layers, model.model.norm.weight.grad)])

    one, other = ([gradient(windows[half::2]) for half in (0, 1)] for windows in drawn.values())
    scale = torch.stack([*one, *other]).square().mean(0).sqrt()
    step = 1 / (scale + 1e-3 * scale.mean())
    mean = ((one[0] + one[1]) * step) @ (other[0] + other[1]) / 4
    lengths = torch.sqrt(((one[0] * step) @ one[1]) * ((other[0] * step) @ other[1]))
    assert distance == pytest.approx(1 - float(mean / lengths), abs=1e-3)


def with_little_text(tokens: Tokens, lang: str, count: int) -> Tokens:
    """The same with the first tokens of a language alone."""
    shard = replace(tokens.shard(lang, "train"), tokens=tokens.train(lang)[:count])
    return replace(tokens, shards={**tokens.shards, (lang, "train"): shard})


def test_little_text_gives_as_many_windows_as_there_are(prepared: Tokens, base_model: Path) -> None:
    few = with_little_text(prepared, "qab", 20 * SHORT + 1)
    _, notes = similarity_distances(base_model, few, ["qaa", "qab"], context=SHORT)
    assert "20 windows of 32 tokens" in notes[0]


def test_noise_adds_no_distance() -> None:
    chance = np.random.default_rng(0)
    one, other = chance.standard_normal((2, 20_000))
    true = np.stack([one, one, 0.8 * one + 0.6 * other])  # at distances 0 and 0.2
    halves = (true + 2 * chance.standard_normal((2, *true.shape))).astype(np.float32)
    found = gradient_distances(["a", "b", "c"], halves)
    assert found["a"]["b"] == pytest.approx(0, abs=0.05)
    assert found["a"]["c"] == pytest.approx(0.2, abs=0.05)
    with pytest.raises(UserError, match="`a`: too few windows"):
        gradient_distances(["a"], np.stack([np.ones((1, 5)), -np.ones((1, 5))]))


def test_large_models_are_sampled(
    prepared: Tokens, base_model: Path, distance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "_KEPT", 20_000)
    assert apart(base_model, prepared, "qaa", "qab") == pytest.approx(distance, abs=0.05)


def test_what_is_wrong_is_named(prepared: Tokens, base_model: Path, tmp_path: Path) -> None:
    few = with_little_text(prepared, "qab", 2 * SHORT + 1)
    with pytest.raises(UserError, match="`qab` has 2 windows of 32 tokens") as caught:
        similarity_distances(base_model, few, ["qaa", "qab"], context=SHORT)
    assert "lower `train.context`" in caught.value.hint
    shutil.copytree(base_model, tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="holds no tokenizer"):
        similarity_distances(tmp_path / "model", prepared, ["qaa"], windows=FEW, context=SHORT)
