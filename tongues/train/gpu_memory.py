"""Bytes of a training run on each of the GPUs that share its weights; computed, not measured.

Activations are in `rules.layer_bytes`. The shares themselves are measured on the CPU, with gloo
instead of NCCL (benchmarks/sharded_memory.txt).
"""

from tongues.models import Anatomy
from tongues.recipe import Train

WEIGHT, _GRADIENT = 4, 4  # bytes of a parameter in float32
# Of a parameter of a layer that is being computed: its weights and those of the next one in
# bfloat16, its gradient, and that in float32 as it is sent.
_LAYER = 10
# Of the output matrix, in its loss: itself and its gradient in bfloat16, that in float32.
_OUTPUT = 8
# Of one matrix for both ends, which stays gathered through the step: itself and its gradient in
# bfloat16, and that as it is sent and as the loss sums it, in float32.
_TIED = 12
_NARROW = 2  # of a weight that stays gathered in bfloat16
_LITTLE = 0.1  # of a GPU's memory, up to which weights stay gathered


def share_bytes(
    anatomy: Anatomy,
    processes: int,
    moments: int,
    *,
    shards: int | None = None,
    offload: bool = False,
    memory: float = 0.0,
) -> int:
    """Weights, moments and gradients of each process, and what it gathers of them while computing.

    moments: bytes of a parameter's. shards: how many processes share one copy; None: all. offload:
    shares are in the host's memory, and here is only what is gathered. memory: bytes of each GPU.
    """
    divided = min(shards or processes, processes)
    trained, total = trained_parameters(anatomy), anatomy.parameters["total"]
    frozen = total + anatomy.updates - trained
    weights = WEIGHT * trained + anatomy.frozen_width * frozen
    share = (weights + (moments + _GRADIENT) * trained) / divided
    gathered = _LAYER * anatomy.parameters["non_embedding"] / anatomy.layers
    if stays_gathered(total, memory):
        gathered += _NARROW * anatomy.parameters["non_embedding"]
    matrix = anatomy.parameters["embedding"] / (1 if anatomy.tied_embeddings else 2)
    gathered += (_TIED if anatomy.tied_embeddings else _OUTPUT) * matrix
    return round(gathered + (0 if offload else share))


def stays_gathered(parameters: int, memory: float) -> bool:
    """Whether a GPU keeps all weights in bfloat16 between their uses in a pass.

    memory: of the GPU, bytes. Small models on slow links would else wait for them in each backward
    pass once more.
    """
    return _NARROW * parameters <= _LITTLE * memory


def moments_bytes(settings: Train) -> int:
    """Of what the optimizer keeps of a parameter."""
    return settings.optimizer.moments(settings.optimizer_states)


def trained_parameters(anatomy: Anatomy) -> int:
    """Parameters that have a gradient, low-rank updates included."""
    return anatomy.parameters["total"] if anatomy.trained is None else anatomy.trained
