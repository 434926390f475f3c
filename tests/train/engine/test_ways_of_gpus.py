"""The ways of attention on GPUs, beside transformers' own: their sums, and how they are tried.

Their kernels are not run: see `plain_kernels`.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from tests.models.published import DEEPSEEK
from tests.train.engine.plain_kernels import (
    CONTEXT,
    END,
    PlainVarlen,
    made,
    plain_flex,
    plain_varlen,
    windows,
)
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine import fitting, flex, varlen
from tongues.train.engine.attention import FLEX, NARROW_FLEX
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer, positions
from tongues.train.engine.trial import differences, take_gradients
from tongues.train.engine.varlen import VARLEN

__all__ = ["plain_flex", "plain_varlen"]

EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("llama", {}),
    "norms of q and k": ("qwen3", {}),
    "a window in all layers": ("mistral", {"sliding_window": 8}),
    "windows": ("gemma3_text", {"sliding_window": 8}),
    "soft caps": ("gemma2", {"sliding_window": 8, "attn_logit_softcapping": 0.5}),
    "sinks": ("gpt_oss", EXPERTS | {"sliding_window": 8}),
    "values of another width": ("deepseek_v3", DEEPSEEK | {"v_head_dim": 12}),
}
FLASH = ("plain", "norms of q and k", "a window in all layers", "windows")
FRAME = TextFrame(END, END)
GPU = {narrow: Processor(torch.device("cuda"), narrow, 1) for narrow in (False, True)}


def family(name: str) -> PreTrainedModel:
    kind, settings = FAMILIES[name]
    return made(kind, **settings)


def gradients(
    model: PreTrainedModel, way: str, *, apart: bool = True, narrow: bool = False
) -> dict[str, torch.Tensor]:
    processor = Processor(torch.device("cpu"), bfloat16=narrow, threads=1)
    scorer = Scorer(model, processor, FRAME, apart=apart)
    scorer.balance_weight = 0.0
    model.set_attn_implementation(way)
    batch = windows()
    batch[0, 10], batch[0, 11], batch[1, 30] = END, END, END
    objective, _ = scorer(batch)
    (objective / batch.numel()).backward()
    return take_gradients(scorer)


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        ("plain", True),
        ("windows", True),
        ("soft caps", True),
        ("sinks", True),
        ("sinks", False),
        ("values of another width", True),
    ],
)
@pytest.mark.usefixtures("plain_flex")
def test_flex_gives_each_familys_own_gradients(name: str, apart: bool) -> None:
    model = family(name)
    right, found = (gradients(model, way, apart=apart) for way in ("eager", FLEX))
    assert max(differences(found, right).values()) < 1e-5
    rounded = gradients(model, NARROW_FLEX, apart=apart)
    assert 1e-4 < max(differences(rounded, right).values()) < 0.1


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("name", FLASH)
def test_flash_for_documents_gives_each_familys_own_gradients(
    name: str, apart: bool, plain_varlen: PlainVarlen, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = family(name)
    right = gradients(model, "eager", apart=apart)
    off = differences(gradients(model, VARLEN, apart=apart), right)
    assert 1e-4 < max(off.values()) < 0.03
    assert {dtype for dtype, _ in plain_varlen.calls} == {torch.bfloat16}
    assert ((7, 0) in {window for _, window in plain_varlen.calls}) == ("window" in name)
    narrow = gradients(model, VARLEN, apart=apart, narrow=True)  # norms give float32 then
    assert max(differences(narrow, right).values()) < 0.06
    # Nothing but rounding is between them.
    monkeypatch.setattr(varlen, "_NARROW", torch.float32)
    exact = gradients(model, VARLEN, apart=apart)
    assert max(differences(exact, right).values()) < 1e-5


@pytest.mark.parametrize("name", ["soft caps", "sinks"])
@pytest.mark.usefixtures("plain_varlen")
def test_flash_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(ValueError, match="no dropout, soft caps, sinks"):
        gradients(family(name), VARLEN)


def test_flex_is_compiled_once_for_a_shape_also_where_layers_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        compiled.append(1)
        return graph.forward

    monkeypatch.setattr(flex, "_block_mask", torch.compile(flex.create_block_mask, backend=backend))
    model = family("plain")
    model.set_attn_implementation(FLEX)
    attended = torch.compiler.disable(lambda *given, **named: (given[0], None))
    monkeypatch.setattr(flex, "_attention", attended)
    for seed in range(3):
        batch = windows(seed)[:, :-1]
        batch[:, 5 + seed] = END
        with torch.compiler.set_stance("force_eager"):
            model(input_ids=batch, position_ids=positions(batch, END), use_cache=False)
    assert sum(compiled) == 1


def test_ways_are_named_by_device_precision_and_documents() -> None:
    def named(narrow: bool, packed: bool) -> tuple[str, ...]:
        return fitting.attention_ways(GPU[narrow], packed=packed, long=packed)

    assert named(True, True) == (VARLEN, NARROW_FLEX, "sdpa")
    assert named(True, False) == ("sdpa", NARROW_FLEX)
    assert named(False, True) == (FLEX, "sdpa")
    assert named(False, False) == ("sdpa", FLEX)


def fitted(
    monkeypatch: pytest.MonkeyPatch, name: str, *, narrow: bool = True, apart: bool = True
) -> tuple[str, str, list[str]]:
    """The attention and the loss that a GPU would get, and what is told."""
    ways = fitting.attention_ways(GPU[narrow], packed=apart, long=False)
    monkeypatch.setattr(fitting, "attention_ways", lambda *given, **named: ways)
    told: list[str] = []
    processor = Processor(torch.device("cpu"), bfloat16=narrow, threads=1)
    model = family(name)
    weights = copy.deepcopy(model.state_dict())
    windows_of_layers = getattr(model.config, "sliding_window", None)
    scorer, choices = fit_scorer(
        model,
        processor,
        context=CONTEXT,
        frame=FRAME,
        apart=apart,
        recompute=False,
        compiled=False,
        tell=told.append,
    )
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    assert getattr(model.config, "sliding_window", None) == windows_of_layers
    used = getattr(scorer.model.config, "_attn_implementation", "")
    assert used.removeprefix("tongues_") == choices.attention
    return choices.attention, choices.loss, told


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.usefixtures("plain_varlen", "plain_flex")
def test_each_family_gets_the_fastest_way_that_is_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention, loss, told = fitted(monkeypatch, name)
    assert attention == ("varlen" if name in FLASH else "flex_bfloat16")
    assert loss == ("full" if name == "soft caps" else "chunked")
    refused = [line for line in told if "`varlen`" in line]
    assert len(refused) == (name not in FLASH)


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.usefixtures("plain_flex")
def test_caps_take_flex_before_whole_matrices_where_documents_are_joined_too(
    narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention, _, told = fitted(monkeypatch, "soft caps", narrow=narrow, apart=False)
    assert attention == ("flex_bfloat16" if narrow else "flex")
    assert any("`sdpa`: Gemma2ForCausalLM does not support" in line for line in told)


FAULTS: dict[str, dict[str, Any]] = {
    "scale": {"scale": 1.25},
    "a longer window": {"window": 1},
    "a shorter window": {"window": -1},
    "documents see one another": {"joined": True},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("plain_flex")
def test_a_wrong_kernel_is_refused(
    fault: str, plain_varlen: PlainVarlen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FAULTS[fault].items():
        setattr(plain_varlen, name, value)
    attention, _, told = fitted(monkeypatch, "windows")
    assert attention == "flex_bfloat16"
    line = "attention is not computed by `varlen`: loss or gradients are not this model's own"
    assert line in told


@pytest.mark.usefixtures("plain_flex")
def test_a_window_longer_than_the_trial_is_tried_shorter(
    plain_varlen: PlainVarlen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAMILIES, "windows", ("gemma3_text", {"sliding_window": 4096}))
    plain_varlen.window = 3
    assert fitted(monkeypatch, "windows")[0] != "varlen"
    plain_varlen.window = 0
    assert fitted(monkeypatch, "windows")[0] == "varlen"


@pytest.mark.parametrize("wrong", [0.7, None])
@pytest.mark.usefixtures("plain_flex")
def test_a_wrong_or_missing_soft_cap_is_refused(
    wrong: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = flex.flexible_attention

    def uncapped(*given: Any, softcap: float | None, **named: Any) -> Any:
        return right(*given, softcap=wrong, **named)

    monkeypatch.setattr(flex, "flexible_attention", uncapped)
    assert fitted(monkeypatch, "soft caps")[0] == "eager"


@pytest.mark.usefixtures("plain_varlen")
def test_without_a_compiler_flex_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCompiler(Exception):
        pass

    def fails(*given: object, **named: object) -> None:
        raise NoCompiler("Failed to find C compiler.\nPlease specify via CC.")

    monkeypatch.setattr(flex, "_attention", fails)
    monkeypatch.setattr(flex, "_block_mask", fails)
    attention, _, told = fitted(monkeypatch, "plain", narrow=False)
    assert attention == "sdpa"
    assert "attention is not computed by `flex`: Failed to find C compiler." in told
