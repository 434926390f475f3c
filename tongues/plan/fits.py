"""How a base can be trained on the GPUs named: in full, by low-rank updates, or with offloading.

Memory is `tongues.train.rules.run_bytes` with one sample at a time: the model of `check`, `train`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tongues.core.hardware import Cluster
from tongues.models import Anatomy, of_shape
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.budget import FORWARD_AND_BACKWARD
from tongues.recipe import Train
from tongues.runs.record import Parameters
from tongues.train.rules import USABLE, VOCABULARY, nearest_shape, run_bytes

_AMOUNTS = ("context", "batch", "micro_batch", "budget")
_CONTEXT = 2048  # tokens of a sample, of runs below a billion tokens
_HEAD = 128  # channels of a head, in nearly all bases
_MATRICES = 13.0  # widths of all matrices of a layer, in and out, as times the hidden width
_FROZEN = 4.0 / FORWARD_AND_BACKWARD  # of the operations, where weights have no gradient
_OFFLOADED = 1.5  # times the work: weights and gradients cross to the host; by bandwidth, not run
_HOST = 12.0  # bytes of a parameter in the host's memory: weight, gradient, moments in bfloat16
_HOSTS = 256e9  # bytes of a host's memory for each GPU, as clouds rent large machines


@dataclass(frozen=True, slots=True)
class TrainingMethod:
    """A way to train a base.

    name: in words. settings: keys of `train` that a recipe needs for it. memory: bytes on each GPU,
    about; None without a cluster. work: operations as a share of those of training all weights.
    all_weights: whether every weight learns. new_tokens: whether new tokens can be learned.
    caution: what it costs; empty where nothing.
    """

    name: str
    settings: dict[str, Any]
    memory: float | None = None
    work: float = 1.0
    all_weights: bool = True
    new_tokens: bool = True
    caution: str = ""

    @property
    def offloads(self) -> bool:
        """Whether weights stay in the host's memory."""
        return "offload" in self.settings


ALL_WEIGHTS = TrainingMethod("all weights", {})
LEAST_MEMORY = TrainingMethod("all weights", {"recompute": True})


def _methods(base_bytes: float) -> Iterator[tuple[TrainingMethod, int]]:
    """Every method with the rank of its updates, the best first."""
    yield ALL_WEIGHTS, 0
    states = {"optimizer_states": "bfloat16"}
    yield TrainingMethod("all weights, bfloat16 optimizer states", states), 0
    low = "It learns less than all weights, which the loss is of"
    for rank, embeddings in ((64, True), (16, False)):
        trained = {"lora": {"rank": rank}, "embeddings": embeddings}
        what = f"LoRA of rank {rank}{', embeddings too' if embeddings else ''}"
        settings: dict[str, Any] = {"trainable": trained} | (states if embeddings else {})
        yield TrainingMethod(what, settings, None, _FROZEN, False, embeddings, low), rank
    caution = f"{base_bytes / 1e9:.0f} GB stay in the host's memory"
    settings = states | {"offload": True}
    yield TrainingMethod("all weights, offloaded", settings, None, _OFFLOADED, caution=caution), 0


def method_for(
    base: BaseCheckpoint, cluster: Cluster | None, context: int = _CONTEXT
) -> TrainingMethod | None:
    """The first method that fits the GPUs, layers computed again if need be; None if none does."""
    whole = anatomy_of(base)
    for method, rank in _methods(_HOST * base.params):
        if cluster is None:
            return method
        if method.offloads and _HOST * base.params > _HOSTS * cluster.count:
            continue
        anatomy = _with_updates(whole, rank, embeddings=method.new_tokens) if rank else whole
        for again in ({}, {"recompute": True}):
            tried = replace(method, settings=method.settings | again)
            needed = method_bytes(anatomy, tried, cluster, context)
            if needed <= USABLE * cluster.gpu.memory:
                return replace(tried, memory=needed)
    return None


def largest_from_scratch(cluster: Cluster) -> float:
    """The parameters whose training fits the GPUs, all weights, to two digits."""
    low, high = math.log(1e6), math.log(1e13)
    while high - low > 0.01:
        middle = (low + high) / 2.0
        shaped = anatomy_of(BaseCheckpoint("", math.exp(middle)))
        fits = method_bytes(shaped, LEAST_MEMORY, cluster) <= USABLE * cluster.gpu.memory
        low, high = (middle, high) if fits else (low, middle)
    return float(f"{math.exp(low):.2g}")


def anatomy_of(base: BaseCheckpoint) -> Anatomy:
    """A decoder of a base's size: by its widths where the catalogue has them, else as our shapes.

    Beyond the largest shape its layers and widths grow with N^(1/3).
    """
    shape, count = nearest_shape(base.params, VOCABULARY)
    usual = of_shape(shape, VOCABULARY)
    grown = max(1.0, base.params / count) ** (1.0 / 3.0)
    hidden = base.hidden or _HEAD * round(grown * usual.hidden / _HEAD)
    layers = base.layers or round(grown * usual.layers)
    vocabulary = base.vocabulary or usual.vocabulary
    matrices = 1 if base.tied else 2
    embedding = min(matrices * vocabulary * hidden, round(0.9 * base.params))
    rest = round(base.params) - embedding
    return replace(
        usual,
        vocabulary=vocabulary,
        tied_embeddings=bool(base.tied),
        parameters=Parameters(total=rest + embedding, embedding=embedding, non_embedding=rest),
        products=rest + embedding // matrices,
        hidden=hidden,
        heads=max(1, hidden // _HEAD),
        head_width=_HEAD,
        layers=layers,
        windows=(None,) * layers,
    )


def _with_updates(anatomy: Anatomy, rank: int, *, embeddings: bool) -> Anatomy:
    updates = round(_MATRICES * anatomy.hidden * rank * anatomy.layers)
    trained = updates + (anatomy.parameters["embedding"] if embeddings else 0)
    return replace(anatomy, updates=updates, trained=trained, frozen_width=2)


def method_bytes(
    anatomy: Anatomy, method: TrainingMethod, cluster: Cluster, context: int = _CONTEXT
) -> float:
    """Bytes that each GPU holds at the peak, one sample at a time."""
    sample = dict.fromkeys(_AMOUNTS, f"{context} tokens")
    named = {key: value for key, value in method.settings.items() if key != "trainable"}
    settings = Train.model_validate(sample | named)
    batch = context * cluster.count
    flops = float(anatomy.flops_per_token(context)) * batch
    return float(run_bytes(anatomy, settings, batch, flops, cluster.machine))
