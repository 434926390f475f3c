"""Which device the tensors of a storage would be on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

__all__ = ["CPU", "DEVICE", "EITHER", "GPU", "device_of", "is_pinned", "mark_for", "mark_of"]
__all__ += ["pin", "pretended", "set_mark"]

DEVICE = torch.device("cuda", 0)
GPU, CPU = "gpu", "cpu"
# Made inside an operation of torch's own, which takes the device of its arguments: the processor.
EITHER = "either"
_NAME = "pretended_device"  # attribute of a storage; it lives as long as the storage
_PINNED = "pretended_pinned"
_LOCAL = "_local_tensor"  # of a sharded tensor
_torch: Any = vars(torch)["_C"]
_real: Callable[[Tensor], torch.device] = vars(_torch.TensorBase)["device"].__get__


def pretended(tensor: Tensor) -> bool:
    """Whether it has memory on the processor, which may be pretended to be a GPU's."""
    tensor = _local(tensor)
    return _real(tensor).type == "cpu" and tensor.layout == torch.strided


def mark_of(tensor: Tensor) -> str:
    """GPU, CPU or EITHER."""
    local = _local(tensor)
    return getattr(local.untyped_storage(), _NAME, CPU) if pretended(local) else EITHER


def set_mark(tensor: Tensor, mark: str) -> None:
    """Mark the storage of a tensor, and so of all its views."""
    local = _local(tensor)
    if pretended(local):
        setattr(local.untyped_storage(), _NAME, mark)


def pin(tensor: Tensor) -> Tensor:
    """`Tensor.pin_memory`: a copy, unless it is pinned already."""
    if mark_of(tensor) == GPU:
        raise RuntimeError("cannot pin a cuda:0 tensor: only those on the CPU can be pinned")
    if is_pinned(tensor):
        return tensor
    pinned = tensor.clone()
    setattr(pinned.untyped_storage(), _PINNED, True)
    return pinned


def is_pinned(tensor: Tensor) -> bool:
    """Whether it has been pinned."""
    return hasattr(_local(tensor).untyped_storage(), _PINNED)


def mark_for(device: Any) -> str:
    """The mark that stands for a device, as torch takes it: a name, a number or a device."""
    kind = "cuda" if isinstance(device, int) else torch.device(device).type
    return {"cuda": GPU, "cpu": CPU}.get(kind, EITHER)


def device_of(tensor: Tensor) -> torch.device:
    """The device that a tensor says it is on."""
    return DEVICE if mark_of(tensor) == GPU else _real(tensor)


def _local(tensor: Tensor) -> Tensor:
    """What a sharded or vectorized tensor is made of."""
    while _torch._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _torch._functorch.get_unwrapped(tensor)
    return getattr(tensor, _LOCAL) if isinstance(tensor, DTensor) else tensor
