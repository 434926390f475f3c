"""Offline runs of wandb, by which torchtitan, nanotron, OLMo-core and others log."""

import json
import re
import struct
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.use.imports.log import (
    LARGEST,
    TRAINERS,
    LoggedHeldOut,
    LoggedStep,
    TrainerLog,
    finite,
)

# What transformers (and tongues), torchtitan, OLMo-core and nanotron call things; by their sources.
_LOSS = ("train/loss", "loss_metrics/global_avg_loss", "train/CE loss", "lm_loss")
_STEP = ("train/global_step", "step", "_step")
_RATE = ("train/learning_rate", "lr", "optim/learning rate (group 0)", "learning_rate")
_NORM = ("train/grad_norm", "train/norm", "grad_norm", "optim/total grad norm")
_TOKENS = ("train/num_input_tokens_seen", "tokens", "throughput/total tokens")
_HELD_OUT = re.compile(
    r"eval/(?:(?P<transformers>.+)_)?loss|held out/(?P<tongues>.+)|validation_metrics/loss"
    r"|eval/lm/(?P<olmo>.+)/CE loss"
)
_HEADER, _BLOCK = 7, 2**15  # bytes of wandb's own at the start; of a block of LevelDB's log
_WHOLE, _LAST = 1, 4  # kinds of a record's part, by LevelDB's log format


class Wandb:
    """Reads the `.wandb` file of a run's folder."""

    name = "wandb"
    summary = "wandb's offline folder: torchtitan, OLMo-core, nanotron"

    def recognises(self, folder: Path) -> bool:
        """Whether it has such a file."""
        return next(folder.glob("*.wandb"), None) is not None

    def read(self, folder: Path) -> TrainerLog:
        """The run; checkpoints lie elsewhere."""
        (file, *more) = sorted(folder.glob("*.wandb"))
        if more:
            what, hint = "holds several runs", "name the folder of one"
            raise UserError(what, where=str(folder), hint=hint)
        rows = list(_history(file))
        losses, held_out = list[LoggedStep](), list[LoggedHeldOut]()
        for row in rows:
            step = int(_first(row, _STEP) or 0)
            if (loss := _first(row, _LOSS)) is not None:
                tokens = _first(row, _TOKENS)
                rate, norm = _first(row, _RATE), _first(row, _NORM)
                losses.append(LoggedStep(step, loss, rate, norm, int(tokens) if tokens else None))
            for key in row:
                match, value = _HELD_OUT.fullmatch(key), finite(row, key)
                if match and value is not None:
                    named = next(filter(None, match.groups()), "")
                    held_out.append(LoggedHeldOut(step, named, value))
        if not losses:
            hint = f"known are {', '.join(_LOSS)}"
            raise UserError("logs no loss by a name that is known", where=str(file), hint=hint)
        last = max(line.step for line in losses)
        return TrainerLog(self.name, last, last, tuple(losses), tuple(held_out), {})


def _first(row: dict[str, Any], keys: Sequence[str]) -> float | None:
    found = (finite(row, key) for key in keys)
    return next((value for value in found if value is not None), None)


def _history(file: Path) -> Iterator[dict[str, Any]]:
    """What was logged, a row a call; by wandb's own messages."""
    require("wandb", "import")
    Record: Any = import_module("wandb.proto.wandb_internal_pb2").Record
    if file.stat().st_size > LARGEST:
        raise UserError("is too large for a log", where=str(file))
    try:
        for data in _records(file.read_bytes()):
            record = Record.FromString(data)
            if record.HasField("history"):
                items = record.history.item
                yield {x.key or "/".join(x.nested_key): json.loads(x.value_json) for x in items}
    except (ValueError, RecursionError, struct.error) as error:
        raise UserError(f"is damaged ({error})", where=str(file)) from None
    except Exception as error:  # protobuf's own, which is no ValueError
        if type(error).__name__ != "DecodeError":
            raise
        raise UserError(f"is damaged ({error})", where=str(file)) from None


def _records(log: bytes) -> Iterator[bytes]:
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


TRAINERS.add(Wandb())
