"""The ways of attention on GPUs, beside transformers' own: their sums, and how they are tried.

Their kernels are not run: see `plain_kernels`.
"""

import copy
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from tests.models.published import DEEPSEEK
from tests.train.engine.plain_kernels import CONTEXT, END, PlainVarlen, made, plain_varlen, windows
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine import fitting, varlen
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.trial import differences, take_gradients
from tongues.train.engine.varlen import VARLEN

__all__ = ["plain_varlen"]

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


def test_ways_are_named_by_device_precision_and_documents() -> None:
    def named(narrow: bool, packed: bool) -> tuple[str, ...]:
        return fitting.attention_ways(GPU[narrow], packed=packed, long=packed)

    assert named(True, True) == (VARLEN, "sdpa")
    assert named(True, False) == named(False, True) == named(False, False) == ("sdpa",)


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
    assert used.removeprefix("tongues_") == choices["attention"]
    return choices["attention"], choices["loss"], told


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.usefixtures("plain_varlen")
def test_each_family_gets_the_fastest_way_that_is_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention, loss, told = fitted(monkeypatch, name)
    own = "sdpa" if name == "values of another width" else "eager"
    assert attention == ("varlen" if name in FLASH else own)
    assert loss == ("full" if name == "soft caps" else "chunked")
    refused = [line for line in told if "`varlen`" in line]
    assert len(refused) == (name not in FLASH)


FAULTS: dict[str, dict[str, Any]] = {
    "scale": {"scale": 1.25},
    "a longer window": {"window": 1},
    "a shorter window": {"window": -1},
    "documents see one another": {"joined": True},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_kernel_is_refused(
    fault: str, plain_varlen: PlainVarlen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FAULTS[fault].items():
        setattr(plain_varlen, name, value)
    attention, _, told = fitted(monkeypatch, "windows")
    assert attention == "sdpa"
    line = "attention is not computed by `varlen`: loss or gradients are not this model's own"
    assert line in told


def test_a_window_longer_than_the_trial_is_tried_shorter(
    plain_varlen: PlainVarlen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAMILIES, "windows", ("gemma3_text", {"sliding_window": 4096}))
    plain_varlen.window = 3
    assert fitted(monkeypatch, "windows")[0] != "varlen"
    plain_varlen.window = 0
    assert fitted(monkeypatch, "windows")[0] == "varlen"
