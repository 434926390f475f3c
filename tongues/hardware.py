"""Machines: accelerators with their speed, memory, power and price, and this machine."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which
from typing import Literal, Self

from tongues.errors import UserError, nearest

__all__ = [
    "GPUS",
    "LARGER_MACHINE",
    "OVERHEAD",
    "USUAL_MFU",
    "Cluster",
    "Gpu",
    "Machine",
    "find_gpu",
]
__all__ += ["gpu_count", "gpu_memory", "host_memory", "this_machine"]

_PRICED = "June 2025, on demand, roughly"
USUAL_MFU = 0.4  # share of the peak that a well-kept training run of a decoder reaches
# times what the accelerators draw: hosts, network and cooling (a DGX H100 is rated at 10.2 kW for
# 5.6 kW of GPUs, and draws less)
OVERHEAD = 1.5
_NO_BFLOAT16 = ("v100",)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator."""

    name: str
    peak: float  # dense bfloat16 operations a second, as its maker states them
    memory: float  # bytes
    price: float  # US$ an hour
    watts: float  # at full load, as its maker states them
    priced: str = _PRICED  # when, and where the price is from


LARGER_MACHINE = ("h100", 8)  # type and number, that is named where this machine is too small

GPUS = {
    name: Gpu(name, peak, gigabytes * 1e9, price, watts)
    for name, peak, gigabytes, price, watts in (
        ("v100", 125e12, 32, 0.60, 300),  # float16: it has no bfloat16
        ("a100-40", 312e12, 40, 1.20, 400),
        ("a100", 312e12, 80, 1.60, 400),
        ("a6000", 155e12, 48, 0.50, 300),
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

    memory: bytes that each process has. bfloat16: whether it multiplies in bfloat16. gpu: the type.
    """

    name: str
    device: Literal["cpu", "cuda"]
    memory: float
    processes: int = 1
    bfloat16: bool = True
    gpu: Gpu | None = None

    @classmethod
    def of_gpus(cls, gpu: Gpu, count: int) -> Self:
        """Several GPUs of one type, among which training divides a model."""
        return cls(
            f"{count} {gpu.name}", "cuda", gpu.memory, count, gpu.name not in _NO_BFLOAT16, gpu
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """Accelerators of one type, the share of the peak they reach, and their price."""

    gpu: Gpu
    count: int
    mfu: float  # model FLOPs utilisation, 0 to 1
    price: float  # US$ an hour and accelerator
    grid: float = 445.0  # g of CO₂ a kWh: the world's average of 2024 (IEA, Electricity 2025)

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

    def hours_for(self, cost: float) -> float:
        """The hours that an amount of US$ pays."""
        return cost / self.cost(1)


def find_gpu(name: str, gpus: Mapping[str, Gpu] | None = None) -> Gpu:
    """The accelerator of that name, or a UserError with the nearest one."""
    known = GPUS if gpus is None else gpus
    if name.lower() not in known:
        raise UserError(f"no GPU is called `{name}`", where="--gpu", hint=nearest(name, known))
    return known[name.lower()]


def this_machine() -> Machine:
    """Its visible GPUs, as many as torchrun has processes; without any, its processor.

    GPUs are those that `nvidia-smi` names, so that nothing has to be imported; written by its
    manual, and never tried on GPUs.
    """
    if memory := gpu_memory(os.environ.get("CUDA_VISIBLE_DEVICES")):
        return Machine("this machine", "cuda", min(memory), int(os.environ.get("WORLD_SIZE", "1")))
    return Machine("this machine", "cpu", host_memory(), bfloat16=_has_bfloat16())


def gpu_count() -> int:
    """How many GPUs of this machine are visible."""
    return len(gpu_memory(os.environ.get("CUDA_VISIBLE_DEVICES")))


def host_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@cache
def gpu_memory(visible: str | None) -> tuple[float, ...]:
    """Bytes of each GPU that `CUDA_VISIBLE_DEVICES` leaves visible; None: all."""
    if not which("nvidia-smi"):
        return ()
    command = ["nvidia-smi", "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    memory: dict[str, float] = {}
    for index, uuid, size in (row for row in rows if len(row) == 3 and row[2].isdigit()):
        memory |= {index: float(size) * 2**20, uuid: float(size) * 2**20}
    if visible is None:
        return tuple(memory[row[0]] for row in rows if row[0] in memory)
    return tuple(memory[name.strip()] for name in visible.split(",") if name.strip() in memory)


@cache
def _has_bfloat16() -> bool:
    info = Path("/proc/cpuinfo")  # as Linux says
    flags = info.read_text(encoding="utf-8", errors="replace") if info.is_file() else ""
    return "avx512_bf16" in flags or "amx_bf16" in flags
