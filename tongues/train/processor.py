"""Settings of the machine that make small models train fast."""

import ctypes
import os

import torch

__all__ = ["Processor", "attention_for", "autocast", "set_up"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


class Processor:
    """Where a run computes: `device`, and whether in bfloat16 beside float32 weights."""

    def __init__(self, device: torch.device, bfloat16: bool) -> None:
        self.device, self.bfloat16 = device, bfloat16


def set_up(precision: str, threads: int | None) -> Processor:
    """Choose device, precision and threads, and keep big blocks in glibc's heap.

    glibc maps and unmaps every large tensor anew, and the page faults cost a small model up to
    two fifths of its speed; with high thresholds the blocks are used again.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return Processor(device, precision == "bfloat16" or (precision == "auto" and _fast(device)))


def autocast(processor: Processor) -> torch.autocast:
    """The context in which a forward pass runs."""
    return torch.autocast(processor.device.type, dtype=torch.bfloat16, enabled=processor.bfloat16)


def attention_for(processor: Processor) -> str:
    """Transformers' attention that is fastest: its plain products in bfloat16 on a CPU."""
    return "eager" if processor.device.type == "cpu" and processor.bfloat16 else "sdpa"


def _fast(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 in hardware."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
