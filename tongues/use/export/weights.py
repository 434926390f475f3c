"""The weights of Hugging Face folders, one tensor at a time: read, changed, written in shards."""

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.models.folders import INDEX, read_config, stored_headers, weight_files

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
_NAMES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}  # as config.json has them
_STORED = {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}  # as safetensors has them
_FLOATS = {*_STORED.values(), "F64"}
_SHARD = 5_000_000_000  # bytes of one file, as the hub and older transformers cut them


class StoredWeights(AbstractContextManager["StoredWeights"]):
    """The tensors of a folder by name; each is read when it is asked for, and kept by nobody.

    A context: leaving it closes the files.
    """

    def __init__(self, folder: Path) -> None:
        headers = stored_headers(folder)
        self.types = {name: kind for name, (kind, _) in headers.items()}
        self.shapes = {name: shape for name, (_, shape) in headers.items()}
        self._open, self._place = ExitStack(), dict[str, Any]()
        for file in weight_files(folder):
            stored = self._open.enter_context(safe_open(file, framework="pt"))
            self._place |= dict.fromkeys(stored.keys(), stored)

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def tensor(self, name: str) -> Tensor:
        """One tensor, as it is stored."""
        return self._place[name].get_tensor(name)


def write_weights(folder: Path, weights: Iterable[tuple[str, Tensor]], shard: int = _SHARD) -> None:
    """Write tensors as they come, in files of `shard` bytes; those that were there are replaced.

    No more than one file's tensors are in memory.
    """
    old = weight_files(folder) if (folder / "model.safetensors").is_file() else []
    old = old or sorted(folder.glob("model-*.safetensors"))
    parts: list[list[str]] = []
    total, held = 0, dict[str, Tensor]()

    def write() -> None:
        part = folder / f"part-{len(parts)}.safetensors"
        save_file(held, part, metadata={"format": "pt"})
        parts.append(list(held))
        held.clear()

    for name, weight in weights:
        size = weight.numel() * weight.element_size()
        if held and sum(w.numel() * w.element_size() for w in held.values()) + size > shard:
            write()
        held[name] = weight.contiguous()
        total += size
    write()
    for file in (*old, folder / INDEX):
        file.unlink(missing_ok=True)
    names = ["model.safetensors"]
    if len(parts) > 1:
        names = [f"model-{n:05d}-of-{len(parts):05d}.safetensors" for n in range(1, len(parts) + 1)]
        by_name = {weight: file for file, own in zip(names, parts, strict=True) for weight in own}
        write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": by_name})
    for number, file in enumerate(names):
        (folder / f"part-{number}.safetensors").rename(folder / file)


def dtype_name(folder: Path | None) -> str | None:
    """The type in which a folder says its weights are stored; None where there is no such folder.

    Where it says nothing, float32, as transformers reads it.
    """
    if folder is None or not (folder / "config.json").is_file():
        return None
    config = read_config(folder)
    text = config.get("text_config") or {}
    named = (each.get(key) for each in (config, text) for key in ("dtype", "torch_dtype"))
    return _NAMES.get(next((str(name) for name in named if name), "float32"))


def store_as(folder: Path, dtype: str, base: Path | None = None) -> bool:
    """Round the weights of a folder to a type; whether any of them changed its type.

    What the base stores in float32 while its config.json names another type, such as a router's
    bias, stays in float32.
    """
    kept = _in_float32(base, dtype) if dtype != "fp32" else set[str]()
    with StoredWeights(folder) as stored:
        others = _FLOATS - {_STORED[dtype]}
        rounded = {name for name, of in stored.types.items() if of in others} - kept
        if rounded:
            write_weights(folder, _rounded(stored, rounded, dtype))
    config = read_json(folder / "config.json")
    full = next(full for full, short in _NAMES.items() if short == dtype)
    config = {key: value for key, value in config.items() if key != "torch_dtype"}
    text = json.dumps(config | {"dtype": full}, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    return bool(rounded)


def _rounded(stored: StoredWeights, rounded: set[str], dtype: str) -> Iterator[tuple[str, Tensor]]:
    for name in stored.shapes:
        weight = stored.tensor(name)
        if name in rounded:
            finite = bool(weight.isfinite().all())
            weight = weight.to(DTYPES[dtype])
            if finite and not weight.isfinite().all():
                what = f"`{name}` has values that {dtype} cannot hold"
                raise UserError(what, where="--dtype", hint="take `bf16`, whose range is wider")
        yield name, weight


def _in_float32(base: Path | None, dtype: str) -> set[str]:
    """The weights that a base of another type stores in float32."""
    if base is None or dtype_name(base) in (None, "fp32"):
        return set()
    return {name for name, (kind, _) in stored_headers(base).items() if kind == "F32"}
