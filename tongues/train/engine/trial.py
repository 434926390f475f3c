"""How one way of computing a model is compared with another: by the gradients of its weights."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tongues.train.engine.scorer import Scorer

# Times what computing the whole model in bfloat16 changes. Where attention alone was computed in
# it, the worst kind of weight had 0.3 to 0.7 of that in small dense models, up to 1.9 with experts
# (whose choice rounding flips), up to 2.3 in SmolLM2-135M; a scale 1.2 times too large 7.7 or more,
# a window one token too long 9.3, documents that saw one another 28.
_TIMES = 3.0
_ROUNDING = 2.0**-9  # of a number in bfloat16, at most
_WINDOW = 32  # tokens that layers with sliding windows see in a trial, so that the window shows


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


def rounds_alike(scorer: Scorer, windows: Tensor, attention: str) -> bool:
    """Whether a way of attention that computes in bfloat16 is off by no more than rounding is.

    scorer: computes in float32, all but that attention. It is compared with the model's own, and
    what rounding does is measured by that in bfloat16. Documents begin in the middle of samples.
    """
    precise = scorer.processor
    narrow = Scorer(scorer.model, replace(precise, bfloat16=True), scorer.frame, apart=scorer.apart)
    narrow.rows = scorer.rows
    windows = windows.clone()
    for sample, place in ((0, 3), (0, 7), (1, 2)):
        windows[sample, place * windows.shape[1] // 8] = scorer.frame.first
    with _short_windows(scorer.model):
        _, expected = gradients_by(scorer, windows, "eager")
        rounded = differences(gradients_by(narrow, windows, "eager")[1], expected)
        off = differences(gradients_by(scorer, windows, attention)[1], expected)
    return off.keys() == rounded.keys() and all(
        off[kind] <= _TIMES * max(_ROUNDING, least) for kind, least in rounded.items()
    )


def gradients_by(
    scorer: Scorer, windows: Tensor, attention: str
) -> tuple[Tensor, dict[str, Tensor]]:
    """Nats, and the gradients of all weights by name, by a way of attention."""
    scorer.model.set_attn_implementation(attention)
    scorer.zero_grad(set_to_none=True)
    objective, nats = scorer(windows)
    (objective / windows.numel()).backward()
    return nats, take_gradients(scorer)


@contextmanager
def _short_windows(model: PreTrainedModel) -> Iterator[None]:
    """Sliding windows shorter than a trial's samples; masks are made by the config's number."""
    config: Any = model.base_model.config
    window = getattr(config, "sliding_window", None)
    if not isinstance(window, int) or window <= _WINDOW:
        yield
        return
    config.sliding_window = _WINDOW
    try:
        yield
    finally:
        config.sliding_window = window
