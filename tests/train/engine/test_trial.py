from typing import Any

import pytest
import torch

from tests.train.engine.plain_kernels import CONTEXT, END, made
from tongues.tokens.frame import TextFrame
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.engine.trial import differences, exact_products

MATMUL: Any = torch.backends.cuda.matmul


@pytest.mark.parametrize("before", ["highest", "high", "medium"])
def test_a_trial_multiplies_in_float32_whatever_was_set(before: str) -> None:
    seen: list[tuple[str, str]] = []

    def watch(*given: object) -> None:
        seen.append((torch.get_float32_matmul_precision(), MATMUL.fp32_precision))

    model = made("llama")
    model.register_forward_pre_hook(watch)
    processor = Processor(torch.device("cpu"), bfloat16=False, threads=1)
    options = {"context": CONTEXT, "frame": TextFrame(END, END), "tell": lambda line: None}
    try:
        torch.set_float32_matmul_precision(before)
        named = MATMUL.fp32_precision
        fit_scorer(model, processor, recompute=False, compiled=False, **options)
        assert torch.get_float32_matmul_precision() == before
        assert MATMUL.fp32_precision == named
    finally:
        torch.set_float32_matmul_precision("highest")
    assert len(seen) >= 2 and set(seen) == {("highest", "ieee")}


def test_what_the_newer_names_say_is_restored_too() -> None:
    """PyTorch's older name cannot be asked after its newer one was set."""
    try:
        MATMUL.fp32_precision = "tf32"
        with exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
            assert MATMUL.fp32_precision == "ieee"
        assert MATMUL.fp32_precision == "tf32"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_gradients_differ_by_kind_of_weights() -> None:
    right = {"layers.0.q": torch.ones(4), "layers.1.q": torch.ones(4), "norm": torch.zeros(2)}
    assert differences(right, right) == {"layers.#.q": 0.0, "norm": 0.0}
    found = right | {"layers.1.q": torch.full((4,), 1.5)}
    assert differences(found, right)["layers.#.q"] == pytest.approx((1 / 8) ** 0.5)
    assert differences(right | {"norm": torch.ones(2)}, right)["norm"] == float("inf")
    assert max(differences({"norm": torch.zeros(2)}, right).values()) == float("inf")
