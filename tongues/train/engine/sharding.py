"""One model in shares: each process holds its part of every weight, moment and gradient (FSDP2).

All of it does nothing, or hands its argument back, where a process is alone.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import PreTrainedModel

from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.scorer import Scorer

__all__ = ["full_tensor", "gather_model", "kept_buffers", "reshard", "set_rows", "shard"]
__all__ += ["synchronize"]


def shard(scorer: Scorer, processes: Processes, bfloat16: bool) -> None:
    """Share out the weights, layer by layer; gradients become sums over the processes.

    Comes after layers are compiled or set to be recomputed, and before the optimizer is made.
    bfloat16: layers are sent in it; gradients are always summed in float32. Embeddings and the
    output matrix stay float32, so that what flows between layers is what one process computes.
    """
    if processes.count == 1:
        return
    mesh = init_device_mesh(processes.device.type, (processes.count,))
    exact = MixedPrecisionPolicy(reduce_dtype=torch.float32, cast_forward_inputs=False)
    narrow = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
    for block in decoder_layers(scorer.model):
        fully_shard(block, mesh=mesh, mp_policy=narrow if bfloat16 else exact)
    fully_shard(scorer, mesh=mesh, mp_policy=exact)
    for method in ("hidden_states", "nats"):
        register_fsdp_forward_method(scorer, method)
    for module in _shared(scorer):
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)


def synchronize(scorer: Scorer, now: bool) -> None:
    """Whether the next backward pass sums gradients over the processes.

    Only a batch's last part does; the parts before it are added up where they were computed.
    """
    if isinstance(scorer, FSDPModule):
        scorer.set_requires_gradient_sync(now)


def reshard(scorer: Scorer) -> None:
    """Free the gathered weights that a forward pass without a backward pass leaves in memory."""
    for module in _shared(scorer):
        module.reshard()


def full_tensor(tensor: Tensor) -> Tensor:
    """A sharded tensor, gathered; every process must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


@torch.no_grad()
def set_rows(matrix: Tensor, numbers: Tensor, rows: Tensor) -> None:
    """Replace rows of a matrix; every process has all the new ones and must call it."""
    if not isinstance(matrix, DTensor):
        matrix[numbers.to(matrix.device)] = rows.to(matrix)
        return
    full = matrix.full_tensor()
    full[numbers.to(full.device)] = rows.to(full)
    shares = distribute_tensor(full, matrix.device_mesh, matrix.placements, src_data_rank=None)
    matrix.to_local().copy_(shares.to_local())


def gather_model(
    scorer: Scorer, processes: Processes, into: PreTrainedModel | None = None
) -> PreTrainedModel | None:
    """The whole model in the first process, None in the others.

    into: a model of the same weights to fill in; None: a new one. A lone process fills in none.
    """
    reshard(scorer)
    model = scorer.model
    if processes.count == 1:
        return model
    gathered = (into or type(model)(model.config)) if processes.first else None
    weights = dict(gathered.named_parameters()) if gathered else {}
    if gathered:
        gathered.generation_config = model.generation_config
    for name, weight in model.named_parameters():
        content = full_tensor(weight.detach())
        if name in weights:
            weights[name].data.copy_(content)
    if gathered:
        gathered.load_state_dict(kept_buffers(model), strict=False)
    return gathered


def kept_buffers(model: PreTrainedModel) -> dict[str, Tensor]:
    """A model's persistent buffers, such as the balance of a router; by name."""
    kept = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name in kept}


def _shared(scorer: Scorer) -> Iterator[FSDPModule]:
    return (module for module in scorer.modules() if isinstance(module, FSDPModule))
