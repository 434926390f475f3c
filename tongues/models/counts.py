"""Exact parameters, floating-point operations and bytes of a shape."""

from tongues.models.shapes import Shape
from tongues.runs import Parameters

__all__ = ["count_parameters", "flops_per_token", "training_bytes"]


def count_parameters(shape: Shape, vocabulary: int, tied_embeddings: bool = False) -> Parameters:
    """Every parameter of the Hugging Face model of this shape, to the last one."""
    attention = 4 * shape.hidden * shape.heads * shape.head_width
    feed_forward = 3 * shape.hidden * shape.feed_forward
    non_embedding = shape.layers * (attention + feed_forward + 2 * shape.hidden) + shape.hidden
    embedding = vocabulary * shape.hidden * (1 if tied_embeddings else 2)
    return Parameters(
        total=non_embedding + embedding, embedding=embedding, non_embedding=non_embedding
    )


def flops_per_token(shape: Shape, vocabulary: int, context: int) -> int:
    """Operations of one training step, per token: matrix products, forward and backward.

    Counts 2 a multiplication-addition and backward as twice forward: the layers' matrices, the
    output matrix and causal attention (a position sees (context + 1) / 2 on average). Norms,
    softmax, rotations and the input look-up are left out. The short rule is 6 x parameters.
    """
    width = shape.heads * shape.head_width
    matrices = shape.layers * (4 * shape.hidden * width + 3 * shape.hidden * shape.feed_forward)
    attention = shape.layers * width * (context + 1)  # 2 products of (context + 1) / 2 each
    return 6 * (matrices + vocabulary * shape.hidden + attention)


def training_bytes(
    shape: Shape, vocabulary: int, tied_embeddings: bool, batch: int, context: int, bfloat16: bool
) -> int:
    """About what a step needs at its peak, besides the 0.45 GB of Python and PyTorch.

    Weights, gradients and two AdamW moments in float32 (16 bytes a parameter), what Llama's layers
    keep for the backward pass, and the logits with their gradient. Measured on a CPU, the
    allocator holds a fifth more; the tests hold the result to within a quarter.
    """
    parameters = count_parameters(shape, vocabulary, tied_embeddings)["total"]
    if bfloat16:  # float32 residuals and norms, bfloat16 products, attention's own matrix
        layer = 48 * shape.hidden + 8 * shape.feed_forward + 6 * shape.heads * context
        logits = 16 * vocabulary
    else:
        layer = 60 * shape.hidden + 16 * shape.feed_forward
        logits = 12 * vocabulary
    return round(1.2 * (16 * parameters + batch * (shape.layers * layer + logits)))
