"""One model in shares: each process holds its part of every weight, moment and gradient (FSDP2).

A process that has a GPU for itself holds all of it, in the same way: weights in float32, from which
those that compute are gathered in bfloat16. So one rule of precision holds for one GPU and many. On
a processor, all of it does nothing, or hands its argument back, where a process is alone.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed
from torch._C._distributed_c10d import HashStore
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.scorer import Scorer, use_head
from tongues.train.gpu_memory import stays_gathered


def make_mesh(
    processes: Processes, kind: str, shards: int | None = None, offload: bool = False
) -> DeviceMesh | None:
    """The processes that share one copy of the model; a row for each copy where there are several.

    kind: of device. shards: how many share a copy, neighbours by rank, so that weights are gathered
    inside a node; None: all of them. None for a process that is alone on a processor, unless it is
    to offload.
    """
    count = processes.count
    if count == 1 and kind == "cpu" and not offload:
        return None
    if not distributed.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if kind == "cuda" else "gloo"
        for library in ("GLOO", "NCCL"):  # alone, also on a machine that no network knows
            os.environ.setdefault(f"{library}_SOCKET_IFNAME", "lo")
        distributed.init_process_group(backend, store=HashStore(), rank=0, world_size=1)
    if shards is None or shards == count:
        return init_device_mesh(kind, (count,), mesh_dim_names=("shards",))
    if count % shards:
        what = f"{count} processes cannot be divided into groups of {shards}"
        raise UserError(what, where="train.shards", hint="name a divisor, or leave it out")
    return init_device_mesh(kind, (count // shards, shards), mesh_dim_names=("copies", "shards"))


def shard(
    scorer: Scorer, mesh: DeviceMesh | None, *, bfloat16: bool, offload: bool = False
) -> None:
    """Share out the weights, layer by layer; gradients become sums over the processes.

    Comes after layers are compiled or set to be recomputed, and before the optimizer is made.
    mesh: None where a process is alone on a processor. bfloat16: layers and the output matrix are
    gathered in it, as they are multiplied; gradients are always summed in float32. On GPUs
    embeddings are too, so that what flows between layers is bfloat16, as torchtitan and nanochat
    have it: their kernels sum a frequent token's gradients in float32 and round once. On processors
    embeddings stay float32, so that several compute what one does. offload: shares, moments and
    gradients stay in the host's memory.
    """
    if mesh is None:
        return
    on_gpus = mesh.device_type == "cuda"
    policy = CPUOffloadPolicy(pin_memory=on_gpus) if offload else OffloadPolicy()
    exact = MixedPrecisionPolicy(reduce_dtype=torch.float32, cast_forward_inputs=False)
    narrow = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
    narrow = narrow if bfloat16 else exact
    exact = narrow if on_gpus else exact
    again = not _stays_gathered(scorer.model, mesh)
    for block in decoder_layers(scorer.model):
        fully_shard(
            block, mesh=mesh, reshard_after_forward=again, mp_policy=narrow, offload_policy=policy
        )
    first: Any = scorer.model.get_input_embeddings()
    last: Any = scorer.model.get_output_embeddings()
    if last is not None and last.weight is not first.weight:
        # Apart, neither is held through the whole step; one matrix for both is, with the root.
        fully_shard(first, mesh=mesh, mp_policy=exact, offload_policy=policy)
        fully_shard(
            last, mesh=mesh, reshard_after_forward=False, mp_policy=narrow, offload_policy=policy
        )
        last.use = partial(use_head, last)
        register_fsdp_forward_method(last, "use")
    fully_shard(scorer, mesh=mesh, mp_policy=exact, offload_policy=policy)
    for method in ("hidden_states", "nats"):
        register_fsdp_forward_method(scorer, method)
    for module in _shared(scorer):
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
        if not on_gpus:  # where nothing is gathered while a layer computes
            module.set_modules_to_backward_prefetch([module])


def _stays_gathered(model: PreTrainedModel, mesh: DeviceMesh) -> bool:
    """Whether layers are gathered once for both passes, as a GPU's memory allows."""
    if mesh.device_type != "cuda":
        return False
    memory = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    return stays_gathered(model.num_parameters(), memory)


def is_sharded(scorer: Scorer) -> bool:
    """Whether this process has only its shares of the weights, or has them as such."""
    return isinstance(scorer, FSDPModule)


def synchronize(scorer: Scorer, now: bool) -> None:
    """Whether the next backward pass sums gradients over the copies of the model.

    Only a batch's last part does. Within a copy each part does: so no process ever holds more than
    its share of the gradient, and a layer's.
    """
    if isinstance(scorer, FSDPModule):
        scorer.set_requires_all_reduce(now)


def reshard(scorer: Scorer) -> None:
    """Free the gathered weights that a forward pass without a backward pass leaves in memory."""
    for module in _shared(scorer):
        module.reshard()


def full_tensor(tensor: Tensor) -> Tensor:
    """A sharded tensor, gathered; every process must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local_rows(tensor: Tensor) -> tuple[Tensor, int]:
    """The rows of a tensor that this process has, and the number of the first."""
    if not isinstance(tensor, DTensor):
        return tensor, 0
    mesh, placements = tensor.device_mesh, tensor.placements
    _, offset = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    return tensor.to_local(), offset[0]


@torch.no_grad()
def set_rows(matrix: Tensor, numbers: Tensor, rows: Tensor) -> None:
    """Replace rows of a matrix; every process has all the new ones."""
    local, start = local_rows(matrix)
    ours = (numbers >= start) & (numbers < start + len(local))
    local[numbers[ours].to(local.device) - start] = rows[ours.to(rows.device)].to(local)


def gather_layers(scorer: Scorer, processes: Processes) -> Iterator[dict[str, Tensor]]:
    """The weights and kept buffers by name, on the CPU, a layer at a time or one outside of them.

    Every process must go through all of it; dictionaries are empty in all but the first.
    """
    reshard(scorer)
    model = scorer.model
    numbers: dict[int, int] = {}
    for number, layer in enumerate(decoder_layers(model)):
        numbers |= {id(tensor): number for tensor in (*layer.parameters(), *layer.buffers())}
    groups = defaultdict[int | str, dict[str, Tensor]](dict)
    for name, tensor in named_weights(model).items():
        groups[numbers.get(id(tensor), name)][name] = tensor.detach()
    for group in groups.values():
        processes.wait()  # for the first, which writes the one before
        whole = {name: full_tensor(tensor) for name, tensor in group.items()}
        yield {name: _written(tensor) for name, tensor in whole.items()} if processes.first else {}


def _written(tensor: Tensor) -> Tensor:
    """As it is written: on the CPU, and in float32 where it was held in bfloat16 (`parts.py`)."""
    return tensor.to("cpu", torch.float32 if tensor.dtype == torch.bfloat16 else tensor.dtype)


def gather_model(
    scorer: Scorer, processes: Processes, into: PreTrainedModel
) -> PreTrainedModel | None:
    """A whole model of the same weights, filled with them; None in all but the first process."""
    state = into.state_dict() if processes.first else {}
    for group in gather_layers(scorer, processes):
        for name, content in group.items():
            state[name].copy_(content)
    return into if processes.first else None


def kept_buffers(model: PreTrainedModel) -> dict[str, Tensor]:
    """A model's persistent buffers, such as the balance of a router; by name."""
    kept = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name in kept}


def named_weights(model: PreTrainedModel) -> dict[str, Tensor]:
    """The parameters and persistent buffers of a model by name; tied ones once."""
    return {**dict(model.named_parameters()), **kept_buffers(model)}


def _shared(scorer: Scorer) -> Iterator[FSDPModule]:
    return (module for module in scorer.modules() if isinstance(module, FSDPModule))
