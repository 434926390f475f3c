"""What Python asks of tensors and their makers, where the pretended device must show."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils import _device as devices

from tests.pretended.marks import (
    CPU,
    EITHER,
    GPU,
    device_of,
    is_pinned,
    mark_for,
    mark_of,
    pin,
    pretended,
    set_mark,
)

__all__ = ["replacements"]

Replacement = tuple[Any, str, Any]  # an owner, the name of its attribute, what is there meanwhile

_to, _numpy, _array = Tensor.to, Tensor.numpy, Tensor.__array__
_torch: Any = vars(torch)["_C"]
_group = _torch._group_tensors_by_device_and_dtype
_clone_storage = torch.UntypedStorage.clone
_makers: set[Any] = vars(devices)[
    "_device_constructors"
]()  # before they are replaced: torch looks for these
_LIKE = ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
_NEW = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")


def replacements() -> Iterator[Replacement]:
    """All that is replaced of tensors and of the functions that make them."""
    yield Tensor, "device", property(device_of)
    yield Tensor, "is_cuda", property(lambda tensor: device_of(tensor).type == "cuda")
    yield Tensor, "is_cpu", property(lambda tensor: device_of(tensor).type == "cpu")
    yield Tensor, "get_device", lambda tensor: 0 if mark_of(tensor) == GPU else -1
    yield Tensor, "to", _moved
    yield Tensor, "cpu", lambda tensor, **how: _moved(tensor, "cpu", **how)
    yield Tensor, "cuda", lambda tensor, device="cuda", *_, **how: _moved(tensor, device, **how)
    yield Tensor, "type_as", lambda tensor, other: _moved(tensor, other)
    yield Tensor, "numpy", _on_processor(_numpy)
    yield Tensor, "__array__", _on_processor(_array)
    yield Tensor, "pin_memory", pin
    yield Tensor, "is_pinned", is_pinned
    yield Tensor, "record_stream", lambda tensor, stream: None
    yield torch.UntypedStorage, "clone", _cloned
    yield _torch, "_group_tensors_by_device_and_dtype", _grouped
    for maker in _makers:
        if vars(torch).get(maker.__name__) is maker:
            yield torch, maker.__name__, _made(maker)
    for kind in _LIKE:
        yield torch, f"{kind}_like", _alike(getattr(torch, f"{kind}_like"))
    for name in _NEW:
        yield Tensor, name, _alike(getattr(Tensor, name))


def _moved(
    tensor: Tensor,
    *args: Any,
    device: Any = None,
    dtype: torch.dtype | None = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    **named: Any,
) -> Tensor:
    """`Tensor.to`: a copy where the pretended devices differ, though the real ones do not."""
    flags = list[bool]()
    for value in args:
        if isinstance(value, Tensor):
            other = value
        elif isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, bool):
            flags.append(value)
        elif value is not None:
            device = value
    if other is not None:
        device, dtype = other.device, other.dtype
    copy = flags[1] if len(flags) > 1 else copy
    here = mark_of(tensor)
    there = here if device is None else mark_for(device)
    if not pretended(tensor) or (device is not None and there == EITHER):  # such as meta's
        return _to(tensor, device, dtype or tensor.dtype, non_blocking, copy, **named)
    moved = _to(tensor, "cpu", dtype or tensor.dtype, False, copy or here != there, **named)
    if here != there:
        set_mark(moved, there)
    return moved


def _on_processor(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that CUDA tensors do not have."""

    def call(tensor: Tensor, *args: Any, **named: Any) -> Any:
        if mark_of(tensor) == GPU:
            raise TypeError(f"{function.__name__} of a cuda:0 tensor: use Tensor.cpu() first")
        return function(tensor, *args, **named)

    return call


def _made(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that makes tensors where it is told, and else on the processor."""

    def call(*args: Any, **named: Any) -> Tensor:
        device = named.get("device")
        source = args[0] if args and isinstance(args[0], Tensor) else None
        if source is not None and pretended(source):  # torch.as_tensor and others
            if device is not None:
                return function(_moved(source, device), *args[1:], **named | {"device": "cpu"})
            return function(*args, **named)
        named.pop("pin_memory", None)
        if device is None:
            made = function(*args, **named)
            if mark_of(made) == EITHER:  # a mode such as `torch.device("cuda")` says where
                set_mark(made, CPU)
            return made
        there = mark_for(device)
        made = function(*args, **named | ({"device": "cpu"} if there == GPU else {}))
        if there != EITHER:
            set_mark(made, there)
        return made

    return call


def _alike(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that makes tensors where it is told, and else where its argument is."""

    def call(tensor: Tensor, *args: Any, **named: Any) -> Tensor:
        device = named.get("device")
        there = mark_of(tensor) if device is None else mark_for(device)
        if there == EITHER or not pretended(tensor):
            return function(tensor, *args, **named)
        made = function(tensor, *args, **named | {"device": "cpu"})
        set_mark(made, there)
        return made

    return call


def _cloned(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    clone = _clone_storage(storage)
    vars(clone).update(vars(storage))
    return clone


def _grouped(*args: Any) -> dict[Any, Any]:
    """Lists of tensors by device and type, the first list's; with the numbers of the tensors."""
    groups: dict[Any, Any] = {}
    for (_, dtype), (lists, numbers) in _group(*args).items():
        for place, tensor in enumerate(lists[0]):
            new = [[] for _ in lists], []
            group = groups.setdefault((tensor.device, dtype), new)
            for into, values in zip(group[0], lists, strict=True):
                into.extend(values[place : place + 1])  # there may be none
            group[1].extend(numbers[place : place + 1])
    return groups
