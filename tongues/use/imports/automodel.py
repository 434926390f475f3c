"""Logs of NeMo AutoModel: `training.jsonl` and `validation_*.jsonl` of its checkpoint folder."""

import math
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.use.imports.log import (
    TRAINERS,
    Trainer,
    TrainerLog,
    finite,
    log_rows,
    read_limited,
    read_losses,
)

_NAME = "automodel"
_CHECKPOINT = re.compile(r"epoch_\d+_step_(\d+)")
_STEPS = re.compile(rb"^\s*max_steps:\s*(\d+)\s*$", re.MULTILINE)


def _read(folder: Path) -> TrainerLog | None:
    """The run in the folder that its settings call `checkpoint_dir`."""
    file = folder / "training.jsonl"
    if not file.is_file():
        return None
    rows = _by_step(file)
    if not rows:
        raise UserError("has no steps", where=str(file))
    counts = accumulate(int(finite(row, "num_tokens_per_step") or 0) for row in rows.values())
    training = [
        {**row, "step": step, "tokens": tokens}
        for (step, row), tokens in zip(rows.items(), counts, strict=True)
    ]
    losses, held_out = read_losses([*training, *_held_out(folder)])
    return TrainerLog(
        trainer=_NAME,
        steps=_planned(folder) or max(rows),
        step=max(rows),
        losses=losses,
        held_out=held_out,
        checkpoints=dict(_checkpoints(folder)),
        seconds=None if len(rows) < 2 else _seconds(rows),
    )


def _by_step(file: Path) -> dict[int, dict[str, Any]]:
    """Rows by the number of steps that are done; it counts from 0.

    Of a step that was done again after a stop the last line counts.
    """
    numbered = [(finite(row, "step"), row) for row in log_rows(file)]
    return {int(step) + 1: row for step, row in numbered if step is not None and step >= 0}


def _held_out(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("validation*.jsonl")):
        text = file.stem.removeprefix("validation").removeprefix("_")
        name = f"held out/{text}" if text else "eval_loss"
        for step, row in _by_step(file).items():
            yield {"step": step, name: row.get("val_loss")}


def _checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    for place in folder.glob("epoch_*_step_*"):
        match, model = _CHECKPOINT.fullmatch(place.name), place / "model/consolidated"
        if match and (model / "config.json").is_file():
            yield int(match[1]) + 1, model


def _planned(folder: Path) -> int | None:
    """Steps by the settings next to a checkpoint."""
    for file in sorted(folder.glob("epoch_*_step_*/config.yaml")):
        if match := _STEPS.search(read_limited(file)):
            return int(match[1])
    return None


def _seconds(rows: dict[int, dict[str, Any]]) -> float | None:
    """By its tokens and its speed, step by step."""
    each = [(finite(row, "num_tokens_per_step"), finite(row, "tps")) for row in rows.values()]
    taken = [tokens / speed for tokens, speed in each if tokens and speed]
    return math.fsum(taken) or None


TRAINERS.add(Trainer(_NAME, "NeMo AutoModel", _read))
