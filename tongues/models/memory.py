"""Bytes that training a model takes at its peak, from what its layers keep for their gradient."""

from dataclasses import dataclass

from tongues.models.anatomy import Anatomy

__all__ = ["PYTHON", "state_bytes", "step_bytes"]

PYTHON = 360_000_000  # bytes of a process with PyTorch and transformers, before its model
_ROWS = 128  # queries whose scores are computed, and kept, together
_AGAIN = 2  # layers' worth that computing one anew takes: what it keeps, and its backward pass


@dataclass(frozen=True, slots=True)
class _Kept:
    """Bytes a layer keeps of each token, counted in a Llama's saved tensors; the rest measured."""

    feed_forward: int  # for each of its units
    hidden: int  # for each channel of the residual stream
    heads: int  # for each channel of the heads
    scores: int  # for each pair of a query and a key that is computed, in each head
    scattered: float  # what the allocator holds of it
    besides: int  # of logits, the compiler's own, evaluations: bytes in all


_KEPT = {  # by bfloat16 and compiled
    (True, False): _Kept(
        feed_forward=8, hidden=28, heads=8, scores=6, scattered=1.4, besides=290_000_000
    ),
    (True, True): _Kept(
        feed_forward=6, hidden=12, heads=8, scores=4, scattered=1.05, besides=345_000_000
    ),
    (False, False): _Kept(
        feed_forward=16, hidden=28, heads=16, scores=4, scattered=1.4, besides=290_000_000
    ),
    (False, True): _Kept(
        feed_forward=12, hidden=20, heads=16, scores=4, scattered=1.05, besides=345_000_000
    ),
}


def state_bytes(anatomy: Anatomy) -> int:
    """Weights and AdamW's two moments, in float32; gradients are not in it."""
    return 12 * anatomy.parameters["total"]


def step_bytes(
    anatomy: Anatomy,
    tokens: int,
    context: int,
    *,
    bfloat16: bool,
    compiled: bool = False,
    recompute: bool = False,
    scores: bool = True,
) -> int:
    """What a forward and backward pass over `tokens` at a time needs besides the state.

    recompute: layers keep their input alone. scores: attention keeps its matrix, as it does on a
    CPU; fused attention on a GPU does not.
    """
    kept = _KEPT[bfloat16, compiled]
    width = anatomy.heads * anatomy.head_width
    matrices = (anatomy.products - anatomy.vocabulary * anatomy.hidden) / anatomy.hidden
    units = max(0.0, matrices / anatomy.layers - 4 * width) / 3  # of a gated feed-forward
    rest = kept.feed_forward * units + kept.hidden * anatomy.hidden + kept.heads * width
    seen = (context + min(_ROWS, context)) / 2 if scores else 0.0
    attention = kept.scores * anatomy.heads * seen * len(anatomy.windows) / anatomy.layers
    layers = anatomy.layers * (rest + attention)
    if recompute:
        layers = anatomy.layers * 4 * anatomy.hidden + _AGAIN * (rest + attention)
    narrow = 2 * anatomy.products if bfloat16 else 0  # the weights once more
    ends = 16 * anatomy.hidden  # embeddings, last norm, and their gradients
    return round(kept.scattered * (tokens * (layers + ends) + narrow)) + kept.besides
