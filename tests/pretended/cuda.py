"""What torch says and does of GPUs, where it sees the pretended one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch import distributed
from torch._dynamo import eval_frame

from tests.pretended.marks import DEVICE

__all__ = ["replacements"]

_MEMORY = 80 * 10**9  # bytes
_NAME = "NVIDIA H100 80GB HBM3"
_PROPERTIES = SimpleNamespace(
    name=_NAME,
    total_memory=_MEMORY,
    major=9,
    minor=0,
    multi_processor_count=132,
    is_integrated=0,
    uuid="00000000-0000-0000-0000-000000000000",
)
_said: dict[str, Any] = {
    "is_available": True,
    "is_initialized": True,
    "is_bf16_supported": True,
    "device_count": 1,
    "current_device": 0,
    "get_device_name": _NAME,
    "get_device_capability": (9, 0),
    "get_device_properties": _PROPERTIES,
    "mem_get_info": (_MEMORY, _MEMORY),
    "memory_stats": {},
    "is_current_stream_capturing": False,
    **dict.fromkeys(("memory_allocated", "memory_reserved"), 0),
    **dict.fromkeys(("max_memory_allocated", "max_memory_reserved"), 0),
    **dict.fromkeys(("synchronize", "set_device", "init", "_lazy_init", "empty_cache")),
    **dict.fromkeys(("ipc_collect", "reset_peak_memory_stats", "manual_seed", "manual_seed_all")),
}
_init_autocast = torch.autocast.__init__
_init_group, _new_group = distributed.init_process_group, distributed.new_group
_run = threading.Thread.run
_callback_of: Any = vars(eval_frame)["_callback_from_stance"]


def replacements(
    watched: Callable[[], AbstractContextManager[Any]],
) -> Iterator[tuple[Any, str, Any]]:
    """All that is replaced of torch's modules; watched: the context of every new thread."""
    for name, answer in _said.items():
        yield torch.cuda, name, lambda *args, answer=answer, **named: answer
    for name in ("Stream", "Event", "current_stream", "stream"):
        yield torch.cuda, name, getattr(torch.cpu, name)
    yield torch.cuda, "device", lambda *args: nullcontext()
    yield torch.cuda, "get_rng_state", lambda *args: torch.get_rng_state()
    yield torch.cuda, "set_rng_state", lambda state, *args: torch.set_rng_state(state)
    yield torch.accelerator, "is_available", lambda: True
    yield torch.accelerator, "current_accelerator", lambda *args, **named: torch.device("cuda")
    yield torch.accelerator, "current_device_index", lambda: DEVICE.index
    yield torch.accelerator, "device_count", lambda: 1
    stream = SimpleNamespace(is_capturing=lambda: False)
    yield torch.accelerator, "current_stream", lambda *args: stream
    yield torch.autocast, "__init__", _begin_autocast
    for name in ("is_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype"):
        yield torch, name, _of_processor(getattr(torch, name))
    yield eval_frame, "_callback_from_stance", _never_compiled
    yield distributed, "init_process_group", _without_nccl(_init_group)
    yield distributed, "new_group", _without_nccl(_new_group)

    def run(thread: threading.Thread) -> None:
        with watched():
            _run(thread)

    yield threading.Thread, "run", run


def _begin_autocast(context: torch.autocast, device_type: str, *args: Any, **named: Any) -> None:
    _init_autocast(context, "cpu" if device_type == "cuda" else device_type, *args, **named)


def _of_processor(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*("cpu" if each == "cuda" else each for each in args))

    return call


def _without_nccl(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(backend: str | None = None, *args: Any, **named: Any) -> Any:
        return function("gloo" if "nccl" in (backend or "") else backend, *args, **named)

    return call


def _never_compiled(callback: Any) -> Any:
    """What dynamo calls to compile; None or False: it is to compute as written."""
    found = _callback_of(callback)
    if callable(found):
        raise RuntimeError("no compiler has kernels for a pretended GPU")
    return found
