"""Machines: accelerators with their speed, memory, power and price, and this machine."""

import os
import sys
from dataclasses import dataclass
from functools import cache
from glob import glob
from pathlib import Path
from shutil import which
from typing import Any, Literal, Self

from tongues.core.errors import UserError, nearest

_PRICED = "June 2025, on demand, roughly"
USUAL_MFU = 0.4  # share of the peak that a well-kept training run of a decoder reaches
# times what the accelerators draw: hosts, network and cooling (a DGX H100 is rated at 10.2 kW for
# 5.6 kW of GPUs, and draws less)
OVERHEAD = 1.5
_NO_BFLOAT16 = ("v100",)
# What a driver of NVIDIA, of Tegra, of AMD, or Windows under Linux puts there.
_SIGNS = ("/dev/nvidia*", "/proc/driver/nvidia", "/dev/nvhost*", "/dev/kfd", "/dev/dxg")
# In names that contain a known one, spaces left out: slices, and cards of another peak.
_VARIANTS = ("mig", "laptop", "max-q", "nvl", "gb200", "h100pcie", "rtx4090d", "v100-pcie")
_VARIANTS += ("rtx3090ti",)
# A device with a smaller share of the memory of its type is a slice, or one die of two.
_WHOLE = 0.75


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator."""

    name: str
    peak: float  # dense bfloat16 operations a second, as its maker states them
    memory: float  # bytes
    price: float  # US$ an hour
    watts: float  # at full load, as its maker states them
    priced: str = _PRICED  # when, and where the price is from


@dataclass(frozen=True, slots=True)
class VisibleGpu:
    """A GPU of this machine, or a slice of one. name: as its driver says; memory: bytes."""

    name: str
    memory: float


LARGER_MACHINE = ("h100", 8)  # type and number, that is named where this machine is too small

GPUS = {
    name: Gpu(name, peak, gigabytes * 1e9, price, watts)
    for name, peak, gigabytes, price, watts in (
        ("v100", 125e12, 32, 0.60, 300),  # float16: it has no bfloat16
        ("a100-40", 312e12, 40, 1.20, 400),
        ("a100", 312e12, 80, 1.60, 400),
        ("a6000", 155e12, 48, 0.50, 300),
        ("rtx3090", 71e12, 24, 0.22, 350),  # GA102 white paper, sums in float32
        ("rtx4090", 165e12, 24, 0.40, 450),
        ("rtx6000ada", 364e12, 48, 0.80, 300),
        ("l40s", 362e12, 48, 0.90, 350),
        ("h100", 989e12, 80, 2.50, 700),
        ("h200", 989e12, 141, 3.20, 700),
        ("gh200", 989e12, 96, 2.00, 900),
        ("b200", 2250e12, 192, 5.00, 1000),
        ("mi250x", 383e12, 128, 1.20, 560),
        ("mi300x", 1307e12, 192, 2.20, 750),
    )
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What computes a run: processes, one for each GPU, or a single one on a processor.

    memory: bytes that each process has. bfloat16: whether it multiplies in bfloat16. gpu: the type,
    where it is known. elsewhere: whether it was only named, and is not this machine.
    """

    name: str
    device: Literal["cpu", "cuda"]
    memory: float
    processes: int = 1
    bfloat16: bool = True
    gpu: Gpu | None = None
    elsewhere: bool = False

    @classmethod
    def of_gpus(cls, gpu: Gpu, count: int) -> Self:
        """Several GPUs of one type, among which training divides a model."""
        narrow = gpu.name not in _NO_BFLOAT16
        return cls(f"{count} {gpu.name}", "cuda", gpu.memory, count, narrow, gpu, elsewhere=True)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Accelerators of one type, the share of the peak they reach, and their price."""

    gpu: Gpu
    count: int
    mfu: float  # model FLOPs utilisation, 0 to 1
    price: float  # US$ an hour and accelerator

    @property
    def machine(self) -> Machine:
        """Its processes and their memory."""
        return Machine.of_gpus(self.gpu, self.count)

    def flops(self, hours: float) -> float:
        """The operations it does in a number of hours."""
        return self.count * self.gpu.peak * self.mfu * 3600 * hours

    def hours(self, flops: float) -> float:
        """The hours it takes for a number of operations."""
        return flops / self.flops(1)

    def cost(self, hours: float) -> float:
        """The price of all of it for a number of hours, in US$."""
        return self.count * self.price * hours

    def energy(self, hours: float) -> float:
        """The kWh of all of it for a number of hours, the building's share included."""
        return OVERHEAD * self.count * self.gpu.watts * hours / 1000


def find_gpu(name: str) -> Gpu:
    """The accelerator of that name, or a UserError with the nearest one."""
    if name.lower() not in GPUS:
        raise UserError(f"no GPU is called `{name}`", where="--gpu", hint=nearest(name, GPUS))
    return GPUS[name.lower()]


def known_gpu(name: str, memory: float | None = None) -> Gpu | None:
    """The accelerator that a driver calls `name`, such as `NVIDIA A100-SXM4-40GB`.

    memory: bytes that PyTorch sees there. None for others, for slices of one (MIG), and for
    variants of another peak, such as an H100 on PCIe.
    """
    words = name.lower().replace(" ", "")
    if any(variant in words for variant in _VARIANTS):
        return None
    # A key such as `a100-40` names a type and its memory.
    fits = (key for key in GPUS if all(part in words for part in key.split("-")))
    gpu = GPUS.get(max(fits, key=len, default=""))
    too_small = gpu is not None and memory is not None and memory < _WHOLE * gpu.memory
    return None if too_small else gpu


def visible_gpus() -> tuple[VisibleGpu, ...]:
    """The GPUs that PyTorch sees from this process, in its order.

    Without any sign of an accelerator PyTorch is not imported for it, which takes seconds.
    """
    torch = _torch()
    if torch is None or not torch.cuda.is_available():
        return ()
    numbers = range(torch.cuda.device_count())
    each = [torch.cuda.get_device_properties(number) for number in numbers]
    return tuple(VisibleGpu(gpu.name, float(gpu.total_memory)) for gpu in each)


def this_machine() -> Machine:
    """Its visible GPUs, as many as torchrun has processes; without any, its processor.

    Its memory is that of the smallest one. Never run on GPUs.
    """
    gpus = visible_gpus()
    if not gpus:
        return Machine("this machine", "cpu", host_memory(), bfloat16=_has_bfloat16())
    return Machine(
        "this machine",
        "cuda",
        min(gpu.memory for gpu in gpus),
        int(os.environ.get("WORLD_SIZE", "1")),
        _torch().cuda.is_bf16_supported(including_emulation=False),
        known_gpu(gpus[0].name, gpus[0].memory) if len({gpu.name for gpu in gpus}) == 1 else None,
    )


def host_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _torch() -> Any:
    """PyTorch, where it is imported already or may see an accelerator; else None."""
    signs = which("nvidia-smi") is not None or any(glob(sign) for sign in _SIGNS)
    if sys.modules.get("torch") is None and not signs:
        return None
    try:
        import torch
    except (ImportError, OSError):  # without it nothing computes on a GPU
        return None
    return torch


@cache
def _has_bfloat16() -> bool:
    info = Path("/proc/cpuinfo")  # as Linux says
    flags = info.read_text(encoding="utf-8", errors="replace") if info.is_file() else ""
    return "avx512_bf16" in flags or "amx_bf16" in flags
