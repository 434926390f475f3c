"""How one way of computing a model is compared with another: by the gradients of its weights."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tongues.train.engine.scorer import Scorer


@contextmanager
def exact_products() -> Iterator[None]:
    """Products of float32 are float32, not TF32 or bfloat16, whatever was set before.

    Also where `TORCH_ALLOW_TF32_CUBLAS_OVERRIDE` is set: it says what PyTorch starts with.
    """
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # set by the newer names, which this older one cannot always express
        before = None
    backends: Any = torch.backends
    places = backends.cuda.matmul, backends.mkldnn.matmul
    settings = [place.fp32_precision for place in places]
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        if before is not None:
            torch.set_float32_matmul_precision(before)
        for place, setting in zip(places, settings, strict=True):
            place.fp32_precision = setting


def random_state(device: torch.device) -> Tensor:
    """The state of the random numbers that a model there draws."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def take_gradients(scorer: Scorer) -> dict[str, Tensor]:
    """The gradients of all weights by name, which the weights no longer have then."""
    named = scorer.named_parameters()
    taken = {name: weight.grad for name, weight in named if weight.grad is not None}
    scorer.zero_grad(set_to_none=True)
    return taken


def differences(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, float]:
    """How far gradients are from others, relative, of each kind of weights.

    All layers' weights of one name are a kind, since those of one layer may be few. Infinite where
    a weight has a gradient in one of the two alone.
    """
    if found.keys() != expected.keys():
        return {"weights with a gradient": math.inf}
    squares = defaultdict[str, list[float]](lambda: [0.0, 0.0])
    for name, right in expected.items():
        kind = squares[re.sub(r"\d+", "#", name)]
        kind[0] += float((found[name] - right).float().square().sum())
        kind[1] += float(right.float().square().sum())
    return {
        kind: math.sqrt(off / whole) if whole else (math.inf if off else 0.0)
        for kind, (off, whole) in squares.items()
    }
