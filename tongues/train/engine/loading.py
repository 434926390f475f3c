"""A model that each process loads or draws its own share of, and a small copy of it for trials."""

from copy import deepcopy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.models.sources import WeightSource
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.sharding import local_rows, named_weights


def first_layers(model: PreTrainedModel) -> PreTrainedModel:
    """A copy with two layers, or as many as show every kind of them; without memory as the model.

    Layers of one kind have weights of the same shapes, and see the same tokens.
    """
    layers, modules = decoder_layers(model), model.named_modules()
    stack = next(
        (name for name, x in modules if isinstance(x, nn.ModuleList) and list(x) == layers), None
    )
    if stack is None:
        return deepcopy(model)
    seen = getattr(model.config, "layer_types", None) or [""] * len(layers)
    kinds = [
        (reach, *((name, weight.shape) for name, weight in layer.named_parameters()))
        for reach, layer in zip(seen, layers, strict=True)
    ]
    kept = max(2, 1 + max(map(kinds.index, kinds)))
    # The others are not copied: of a large base they would fill the memory.
    copy: Any = deepcopy(model, {id(layer): nn.Identity() for layer in layers[kept:]})
    del copy.get_submodule(stack)[kept:]
    return copy


@torch.no_grad()
def fill_weights(
    module: nn.Module,
    model: PreTrainedModel,
    source: WeightSource,
    device: torch.device,
    processes: Processes,
    where: str,
) -> None:
    """Give memory to a model on the meta device, whole or in shares, and its weights to that.

    module: the model, or what contains it. All processes must call it: weights that are not finite
    in one of them are a UserError in all, at `where`.
    """
    module.to_empty(device=device)
    model.tie_weights()
    tensors: dict[str, Any] = named_weights(model)
    faults: list[bool] = []
    for name, tensor in tensors.items():
        local, start = local_rows(tensor.detach())
        if local.ndim == 0:
            local.copy_(source.rows(name))
        elif len(local):
            local.copy_(source.rows(name, start, start + len(local)))
        faults.append(not bool(local.isfinite().all()))
        tensor._is_hf_initialized = True
    counts = processes.sum([float(fault) for fault in faults])
    for name, count in zip(tensors, counts, strict=True):
        if count:
            what = f"`{name}` holds NaN or infinite values"
            raise UserError(what, where=where, hint="take the model from another place")
    parts: Any = model.modules()
    for part in parts:
        part._is_hf_initialized = False
    model.initialize_weights()  # buffers that are stored nowhere, such as rotary frequencies
