"""Offline runs of wandb, by which torchtitan, nanotron, OLMo-core and others log."""

import json
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.use.imports.log import LOSS, TRAINERS, Trainer, TrainerLog, read_limited, read_losses

_NAME = "wandb"
_HEADER, _BLOCK = 7, 2**15  # bytes of wandb's own at the start; of a block of LevelDB's log
_WHOLE, _LAST = 1, 4  # kinds of a record's part, by LevelDB's log format


def _read(folder: Path) -> TrainerLog | None:
    """The run of the only `.wandb` file in or below a folder; checkpoints are elsewhere."""
    files = sorted(folder.rglob("*.wandb"))
    if not files:
        return None
    if len(files) > 1:
        raise UserError("holds several runs", where=str(folder), hint="name the folder of one")
    losses, held_out = read_losses(_history(files[0]))
    if not losses:
        hint = f"known are {', '.join(LOSS)}"
        raise UserError("logs no loss by a name that is known", where=str(files[0]), hint=hint)
    last = max(line.step for line in losses)
    return TrainerLog(_NAME, last, last, losses, held_out, {})


def _history(file: Path) -> Iterator[dict[str, Any]]:
    """What was logged, a row a call; by wandb's own messages."""
    require("wandb", "import")
    Record: Any = import_module("wandb.proto.wandb_internal_pb2").Record
    damaged: Any = import_module("google.protobuf.message").DecodeError
    try:
        for data in leveldb_records(read_limited(file)):
            record = Record.FromString(data)
            if record.HasField("history"):
                items = record.history.item
                yield {x.key or "/".join(x.nested_key): json.loads(x.value_json) for x in items}
    except (ValueError, RecursionError, struct.error, damaged) as error:
        raise UserError(f"is damaged ({error})", where=str(file)) from None


def leveldb_records(log: bytes) -> Iterator[bytes]:
    """The records of a LevelDB log; the last may be half written, and is left out."""
    at, parts = _HEADER, b""
    while at + 7 <= len(log):
        if _BLOCK - at % _BLOCK < 7:
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", log, at)
        if at + 7 + length > len(log):
            return
        parts += log[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (_WHOLE, _LAST):
            yield parts
            parts = b""


_SUMMARY = "wandb's offline folder: torchtitan, OLMo-core, nanotron"
TRAINERS.add(Trainer(_NAME, _SUMMARY, _read))
