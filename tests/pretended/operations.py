"""Each operation of torch's, as its kernels see it: counted, and refused across devices."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from traceback import extract_stack
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn import Parameter
from torch.utils._python_dispatch import TorchDispatchMode

from tests.pretended.marks import CPU, EITHER, GPU, mark_for, mark_of, set_mark

__all__ = ["Operation", "PretendedGpu", "Watch"]

_aten: Any = torch.ops.aten
_ACROSS = (_aten.copy_.default, _aten._foreach_copy_.default)
_ACROSS += (_aten._has_compatible_shallow_copy_type.default,)
# Operations that take a scalar on the processor though they are not pointwise.
_TAKE_SCALARS = (_aten.index_put_.default, _aten.index_put.default, _aten.fill_.Tensor)
_TAKE_SCALARS += (_aten.masked_fill.Tensor, _aten.masked_fill_.Tensor)
# Operations whose `indices` may be on the processor.
_INDEXED = (_aten.index.Tensor, _aten.index_put_.default, _aten.index_put.default)
_INDEXED += (_aten._unsafe_index.Tensor, _aten._index_put_impl_.default)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, with the types of the tensors that it is given."""

    name: str  # such as `mm`
    dtypes: tuple[torch.dtype, ...]
    device: str  # gpu or cpu


@dataclass(slots=True)
class PretendedGpu:
    """What was computed while a GPU was pretended."""

    operations: Counter[Operation] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)  # operations across devices, caught or not

    def dtypes(self, name: str) -> set[tuple[torch.dtype, ...]]:
        """The types with which an operation ran on the GPU."""
        return {op.dtypes for op in self.operations if op.name == name and op.device == GPU}


class Watch(TorchDispatchMode):
    """Sees the operations of a thread."""

    def __init__(self, gpu: PretendedGpu) -> None:
        super().__init__()
        self._gpu = gpu

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled meanwhile, and each call would cost more

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # what it is made of comes here then
        if any(kind not in (Tensor, Parameter) for kind in types):  # only shapes are computed
            return func(*args, **(kwargs or {}))
        named = dict(kwargs or {})
        named.pop("pin_memory", None)
        asked = named.get("device")
        if asked is not None and mark_for(asked) == GPU:
            named["device"] = torch.device("cpu")
        if func.overloadpacket is _aten.set_:  # the storage that is set keeps its mark
            return func(*args, **named)
        device = self._device_of(func, args, named)
        kernel = _KERNELS.get(func) or func
        result = kernel(*args, **named)
        if named.get("device") != asked:
            device = GPU
        if device != CPU:
            for tensor in _flat(result):
                set_mark(tensor, device)
        return result

    def _device_of(self, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> str:
        """Where an operation is computed; a RuntimeError where its arguments are not together."""
        name, arguments = _arguments(func)
        tensors, bound = list[tuple[Tensor, str]](), False
        for place, (argument, anywhere, scalars) in enumerate(arguments):
            value = args[place] if place < len(args) else named.get(argument)
            for tensor in _flat(value):
                mark = mark_of(tensor)
                tensors.append((tensor, mark))
                bound |= mark == CPU and not anywhere and not (scalars and tensor.ndim == 0)
        marks = {mark for _, mark in tensors}
        device = GPU if GPU in marks else CPU if CPU in marks else EITHER
        if func in _ACROSS:
            device = tensors[0][1]
        elif device == GPU and bound:
            shapes = ", ".join(f"{mark} {list(tensor.shape)}" for tensor, mark in tensors)
            what = f"{name}: {shapes}{_where()}"
            self._gpu.refused.append(what)
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu! ({what})"
            )
        if device == GPU and EITHER in marks:
            for tensor in (tensor for tensor, mark in tensors if mark == EITHER):
                set_mark(tensor, GPU)
        dtypes = tuple(tensor.dtype for tensor, _ in tensors)
        self._gpu.operations[Operation(name, dtypes, device)] += 1
        return device


@cache
def _arguments(func: Any) -> tuple[str, tuple[tuple[str, bool, bool], ...]]:
    """The name of an operation, and of each argument: its name, and whether it, or a scalar there,
    may be on the processor when others are not.
    """
    rules = list[tuple[str, bool, bool]]()
    for argument in func._schema.arguments:
        written = argument.alias_info is not None and argument.alias_info.is_write
        scalars = torch.Tag.pointwise in func.tags or func in _TAKE_SCALARS
        anywhere = func in _INDEXED and argument.name == "indices"
        rules.append((argument.name, anywhere, scalars and not written))
    return func._schema.name.removeprefix("aten::"), tuple(rules)


def _where() -> str:
    """The line of the project that is being run."""
    frames = [frame for frame in extract_stack() if "/tongues/" in frame.filename]
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _flat(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)


def _histc(counted: Tensor, *args: Any, **named: Any) -> Tensor:
    """CUDA's kernel counts whole numbers, the processor's only floats."""
    found: Tensor = _aten.histc.default(counted.float(), *args, **named)
    return found.to(counted.dtype)


_KERNELS = {_aten.histc.default: _histc}
