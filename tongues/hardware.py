"""Machines: accelerators with their speed, memory and price, and this machine."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from tongues.errors import UserError, nearest

__all__ = ["GPUS", "PRICED", "USUAL_MFU", "Cluster", "Gpu", "Machine", "find_gpu", "this_machine"]

PRICED = "June 2025"  # when the prices below were what renting on demand cost, roughly
USUAL_MFU = 0.4  # share of the peak that a well-kept training run of a decoder reaches
_NO_BFLOAT16 = ("v100",)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator."""

    name: str
    peak: float  # dense bfloat16 operations a second, as its maker states them
    memory: float  # bytes
    price: float  # US$ an hour, assumed


GPUS = {
    name: Gpu(name, peak, gigabytes * 1e9, price)
    for name, peak, gigabytes, price in (
        ("v100", 125e12, 32, 0.60),  # float16: it has no bfloat16
        ("a100-40", 312e12, 40, 1.20),
        ("a100", 312e12, 80, 1.60),
        ("a6000", 155e12, 48, 0.50),
        ("rtx4090", 165e12, 24, 0.40),
        ("rtx6000ada", 364e12, 48, 0.80),
        ("l40s", 362e12, 48, 0.90),
        ("h100", 989e12, 80, 2.50),
        ("h200", 989e12, 141, 3.20),
        ("gh200", 989e12, 96, 2.00),
        ("b200", 2250e12, 192, 5.00),
        ("mi250x", 383e12, 128, 1.20),
        ("mi300x", 1307e12, 192, 2.20),
    )
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What computes a run: processes, one for each GPU, or a single one on a processor.

    memory: bytes that each process has. bfloat16: whether it multiplies in bfloat16.
    """

    name: str
    device: Literal["cpu", "cuda"]
    memory: float
    processes: int = 1
    bfloat16: bool = True

    @classmethod
    def of_gpus(cls, gpu: Gpu, count: int) -> Self:
        """Several GPUs of one type, among which training divides a model."""
        return cls(f"{count} {gpu.name}", "cuda", gpu.memory, count, gpu.name not in _NO_BFLOAT16)


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

    def hours_for(self, cost: float) -> float:
        """The hours that an amount of US$ pays."""
        return cost / self.cost(1)


def find_gpu(name: str) -> Gpu:
    """The accelerator of that name, or a UserError with the nearest one."""
    if name.lower() not in GPUS:
        raise UserError(f"no GPU is called `{name}`", where="--gpu", hint=nearest(name, GPUS))
    return GPUS[name.lower()]


def this_machine() -> Machine:
    """The processor of this machine and all of its memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    info = Path("/proc/cpuinfo")  # as Linux says
    flags = info.read_text(encoding="utf-8", errors="replace") if info.is_file() else ""
    bfloat16 = "avx512_bf16" in flags or "amx_bf16" in flags
    return Machine("this machine", "cpu", memory, bfloat16=bfloat16)
