import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from tongues.models import SHAPES
from tongues.models.huggingface import build_model
from tongues.recipe import Train
from tongues.train.engine.optimizer import make_optimizer, set_rate

SETTINGS = Train.model_validate({"budget": "1M tokens", "weight_decay": 0.5})
VOCABULARY = 300


def small(tied: bool = False) -> PreTrainedModel:
    return build_model(SHAPES["0.05M"], VOCABULARY, 16, tied_embeddings=tied, seed=1)


def step(model: PreTrainedModel, optimizer: torch.optim.Optimizer) -> None:
    tokens = torch.randint(10, 20, (2, 16), generator=torch.Generator().manual_seed(1))
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def weights_of(model: PreTrainedModel) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def decays(model: PreTrainedModel) -> dict[str, float]:
    """The decay of each weight, by its name; each is in one group."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    groups = make_optimizer(model, SETTINGS, 1e-3).param_groups
    ids = [id(weight) for group in groups for weight in group["params"]]
    assert sorted(ids) == sorted(names)
    return {names[id(w)]: group["weight_decay"] for group in groups for w in group["params"]}


def test_matrices_decay_and_neither_norms_nor_embeddings() -> None:
    found = decays(small())
    assert found["model.embed_tokens.weight"] == 0.0
    assert found["lm_head.weight"] == 0.5
    assert found["model.layers.0.mlp.up_proj.weight"] == 0.5
    assert found["model.layers.1.input_layernorm.weight"] == 0.0
    assert decays(small(tied=True))["model.embed_tokens.weight"] == 0.0
    config = GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2)
    found = decays(GPT2LMHeadModel(config))
    assert found["transformer.wpe.weight"] == found["transformer.wte.weight"] == 0.0
    assert found["transformer.h.0.attn.c_attn.bias"] == 0.0


@pytest.mark.parametrize("tied", [False, True])
def test_the_row_of_a_piece_that_never_comes_stays(tied: bool) -> None:
    model = small(tied)
    optimizer = make_optimizer(model, SETTINGS, 1e-2)
    before = weights_of(model)["model.embed_tokens.weight"]
    step(model, optimizer)
    after = weights_of(model)["model.embed_tokens.weight"]
    assert not torch.equal(after[10:20], before[10:20])
    assert tied or torch.equal(after[20:], before[20:])


def test_a_step_is_that_of_adamw_as_published() -> None:
    model = small()
    optimizer = make_optimizer(model, SETTINGS, 1e-2)
    weight = model.get_parameter("lm_head.weight")
    before = weight.detach().clone()
    tokens = torch.randint(10, 20, (2, 16), generator=torch.Generator().manual_seed(1))
    model(input_ids=tokens, labels=tokens).loss.backward()
    assert weight.grad is not None
    gradient = weight.grad.clone()
    optimizer.step()
    # After one step both moments, their bias taken off, are the gradient and its square.
    expected = before * (1 - 1e-2 * 0.5) - 1e-2 * gradient / (gradient.abs() + 1e-8)
    assert torch.allclose(weight, expected, atol=1e-6)


def test_moments_in_bfloat16_take_half_and_steps_stay_those_of_adamw() -> None:
    narrow = SETTINGS.model_copy(update={"optimizer_states": "bfloat16"})
    one, two = small(), small()
    exact, rounded = make_optimizer(one, SETTINGS, 1e-2), make_optimizer(two, narrow, 1e-2)
    start = weights_of(one)
    for model, optimizer in ((one, exact), (two, rounded)):
        step(model, optimizer)
    # After one step the moments are not yet read back: only sums in another order differ.
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    for _ in range(10):
        for model, optimizer in ((one, exact), (two, rounded)):
            step(model, optimizer)
    for name, weight in one.named_parameters():
        moved = (weight - start[name]).norm()
        assert (weight - two.get_parameter(name)).norm() < 0.03 * moved, name
    sizes = [
        sum(value.nbytes for state in optimizer.state.values() for value in state.values())
        for optimizer in (exact, rounded)
    ]
    assert sizes[1] == pytest.approx(sizes[0] / 2, rel=0.01)


def test_weights_without_a_gradient_are_in_no_group() -> None:
    model = small()
    for weight in model.get_submodule("model.layers.0").parameters():
        weight.requires_grad_(False)
    optimizer = make_optimizer(model, SETTINGS, 1e-2)
    set_rate(optimizer, 4e-3)
    rates = {id(w): g["lr"] for g in optimizer.param_groups for w in g["params"]}
    for name, weight in model.named_parameters():
        assert rates.get(id(weight)) == (None if "layers.0" in name else 4e-3), name
