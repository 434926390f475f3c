"""What training a size takes on each accelerator, about."""

from tongues.models import SHAPES, Shape, of_shape
from tongues.models.memory import step_bytes

__all__ = ["CONTEXT", "VOCABULARY", "nearest_shape", "training_memory"]

VOCABULARY = 36_152  # of the published study, whose sizes the shapes are
CONTEXT = 2048
_STATE = 16  # bytes a parameter: float32 weights, gradients and AdamW's two moments


def nearest_shape(params: float, vocabulary: int) -> tuple[Shape, int]:
    """The shape whose exact count of parameters is nearest, by ratio, and that count."""
    counts = [(shape, of_shape(shape, vocabulary).parameters["total"]) for shape in SHAPES.values()]
    return min(counts, key=lambda one: max(one[1] / params, params / one[1]))


def training_memory(params: float, gpus: int) -> float:
    """Bytes on each of `gpus`: the training state in equal parts, and one sample's activations.

    The state is 16 bytes a parameter; activations are those of 2,048 tokens in the nearest shape
    we have, nothing recomputed, and grow with N^(2/3) beyond the largest.
    """
    shape, count = nearest_shape(params, VOCABULARY)
    anatomy = of_shape(shape, VOCABULARY)
    sample = step_bytes(anatomy, CONTEXT, CONTEXT, bfloat16=True, compiled=True, scores=False)
    larger = max(1.0, params / count) ** (2 / 3)
    return _STATE * params / gpus + sample * larger
