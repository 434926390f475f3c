"""A safetensors file whose tensors are written one at a time, in any order."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

_DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_DTYPES |= {torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8"}
_DTYPES |= {torch.uint8: "U8", torch.bool: "BOOL"}


class TensorFile:
    """The bytes that safetensors' own `save_file` writes, with one tensor in memory at a time.

    shapes: of all tensors to write. A context: when it ends without an error, all are there.
    """

    def __init__(
        self,
        path: Path,
        shapes: Mapping[str, tuple[torch.dtype, torch.Size]],
        about: Mapping[str, str],
    ) -> None:
        header: dict[str, object] = {"__metadata__": dict(about)}
        end, self._starts = 0, dict[str, int]()
        order = sorted(shapes, key=lambda name: (-shapes[name][0].itemsize, name))
        for name in order:
            dtype, shape = shapes[name]
            start, end = end, end + shape.numel() * dtype.itemsize
            place = {"shape": list(shape), "data_offsets": [start, end]}
            header[name] = {"dtype": _DTYPES[dtype], **place}
            self._starts[name] = start
        written = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        written += b" " * (-len(written) % 8)
        self._begin = 8 + len(written)
        self._file = path.open("wb")
        self._file.write(len(written).to_bytes(8, "little") + written)
        self._shapes, self._left = shapes, set(shapes)

    def write(self, name: str, tensor: Tensor) -> None:
        """Write a tensor to its place."""
        dtype, shape = self._shapes[name]
        assert (tensor.dtype, tensor.shape) == (dtype, shape), name
        self._file.seek(self._begin + self._starts[name])
        content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        self._file.write(content.numpy().data)
        self._left.discard(name)

    def __enter__(self) -> "TensorFile":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._file.close()
        assert error is not None or not self._left, f"not written: {sorted(self._left)}"
