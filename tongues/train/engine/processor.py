"""The machine a run computes on: device, precision, threads, speed, and layers compiled for it."""

import ctypes
import gc
import os
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h numbers them
_LINE = 160  # characters of an error that are told; chosen: two lines of a terminal


@dataclass(frozen=True, slots=True)
class Processor:
    """Where a run computes."""

    device: torch.device
    bfloat16: bool  # layers are computed in it; weights are float32
    threads: int  # at most


def set_up(precision: str, threads: int, place: int = 0, *, shared: bool = False) -> Processor:
    """Choose device, precision and threads, and where glibc has big blocks.

    It maps and unmaps memory for every large tensor, and the page faults cost a small model up to
    two fifths of its speed; with high thresholds the blocks stay in its heap and are used again.
    Where processes share a model, memory counts more: layers come and go, and a heap with
    gaps between them takes two to three times what is in it (`shared`). place: which of this
    machine's GPUs, where there are any.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 1 << 20 if shared else 1 << 30)
        libc.mallopt(_M_TRIM_THRESHOLD, 1 << 20 if shared else (1 << 31) - 1)
    torch.set_num_threads(threads)
    device = torch.device("cpu")
    if torch.cuda.is_available():
        # Blocks that grow: after micro-batches of several sizes, fixed ones leave gaps. Read when
        # the first tensor is made there.
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
        device = torch.device("cuda", place)
        torch.cuda.set_device(device)
    bfloat16 = precision == "bfloat16" or (precision == "auto" and _fast(device))
    return Processor(device, bfloat16, threads)


def release_memory() -> None:
    """Give the system what nothing uses any more, which glibc and a GPU's allocator would keep."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def autocast(processor: Processor) -> torch.autocast:
    """The context in which a forward pass runs."""
    return torch.autocast(processor.device.type, dtype=torch.bfloat16, enabled=processor.bfloat16)


@cache
def ceiling(processor: Processor) -> float:
    """Operations a second of big matrix products in the run's precision, measured once a process.

    The best of several: on a busy core a product is seldom undisturbed if it takes long.
    """
    cpu = processor.device.type == "cpu"
    size, seconds = (1024 if processor.threads <= 16 else 2048, 0.1) if cpu else (8192, 0.3)
    dtype = torch.bfloat16 if processor.bfloat16 else torch.float32
    left = torch.ones(size, size, device=processor.device, dtype=dtype)
    right, out = left.clone(), torch.empty_like(left)
    best, end = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(left, right, out=out)
        if not cpu:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def _fast(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def decoder_layers(model: PreTrainedModel) -> list[nn.Module]:
    """The decoder's layers, in order."""
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


def compile_layers(model: PreTrainedModel, device: torch.device) -> str | None:
    """Compile each layer in place, in this process; or none, and return the reason.

    What is compiled is tried when its shapes are known (`engine/compiling.py`).
    """
    # No workers that outlive a killed run, unless they are asked for.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        torch.compile(torch.sin)(torch.ones(64, device=device))
    except Exception as error:  # a compiler, its headers, a place for its cache: all may be missing
        return reason_of(error)
    for layer in decoder_layers(model):
        layer.compile(dynamic=False)
    return None


def reason_of(error: Exception) -> str:
    """What an error says, in a line."""
    lines = str(error).split("\n")
    lines = [line.strip() for line in lines if line.strip()] or [type(error).__name__]
    said = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return said[:_LINE]


def uncompiled() -> AbstractContextManager[None]:
    """Compute as written for a while: shapes that come seldom are not worth compiling for."""
    return torch.compiler.set_stance("force_eager")
