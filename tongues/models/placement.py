"""Where models that are only used compute, and in what type: the one choice of all verbs."""

from dataclasses import dataclass

import torch

from tongues.core.cores import threads_for
from tongues.core.errors import UserError
from tongues.core.hardware import host_memory

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Placement:
    """The devices of models, each on one of them by turns, and the type of their weights."""

    devices: tuple[torch.device, ...] = (torch.device("cpu"),)
    dtype: torch.dtype = torch.float32

    @property
    def memory(self) -> int:
        """Bytes of memory of the machine, or of the GPU that has least."""
        gpus = [device for device in self.devices if device.type == "cuda"]
        if gpus:
            return min(torch.cuda.get_device_properties(gpu).total_memory for gpu in gpus)
        return host_memory()


def choose_placement(device: str | None = None, dtype: str | None = None) -> Placement:
    """Where models compute; a UserError where that cannot be.

    device: `cpu`, `cuda` for every GPU, `cuda:1` for one; None: every GPU, or the processor where
    there is none. dtype: `fp32`, `bf16` or `fp16`; None: bf16 on GPUs that have it, else fp32.
    On a processor, with no more threads than the cores that are granted.
    """
    torch.set_num_threads(min(torch.get_num_threads(), threads_for()))
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [f"cuda:{number}" for number in range(count)]
    kinds = {"cpu": ["cpu"], "cuda": gpus, **{name: [name] for name in gpus}}
    name = device or ("cuda" if gpus else "cpu")
    if not kinds.get(name):
        kind, _, number = name.partition(":")
        what = f"`{name}` is not a device that models are used on"
        if kind == "cuda" and (number.isdecimal() or name == "cuda"):
            seen = f"{count} GPUs" if count else "no GPU"
            what = f"`{name}`: torch sees {seen} here"
        hint = " or ".join(f"`{known}`" for known, devices in kinds.items() if devices)
        raise UserError(what, where="--device", hint=f"use {hint}")
    if dtype is not None and dtype not in _DTYPES:
        hint = " or ".join(f"`{kind}`" for kind in _DTYPES)
        raise UserError(f"`{dtype}` is not a type of weights", where="--dtype", hint=hint)
    narrow = name != "cpu" and torch.cuda.is_bf16_supported(including_emulation=False)
    chosen = _DTYPES[dtype or ("bf16" if narrow else "fp32")]
    return Placement(tuple(map(torch.device, kinds[name])), chosen)
