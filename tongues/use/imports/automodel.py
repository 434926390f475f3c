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
    LoggedHeldOut,
    LoggedStep,
    TrainerLog,
    finite,
    log_rows,
    read_limited,
)

_LOG = "training.jsonl"
_HELD_OUT = re.compile(r"validation(?:_(.+))?\.jsonl")
_CHECKPOINT = re.compile(r"epoch_\d+_step_(\d+)")
_STEPS = re.compile(r"^\s*max_steps:\s*(\d+)\s*$", re.MULTILINE)


class AutoModelLog:
    """Reads the folder that its settings call `checkpoint_dir`; its steps are counted from 0."""

    name = "automodel"
    summary = "NeMo AutoModel"

    def recognises(self, folder: Path) -> bool:
        """Whether it has the log of training."""
        return (folder / _LOG).is_file()

    def read(self, folder: Path) -> TrainerLog:
        """The run; of a step that was done again after a stop the last line counts."""
        rows = dict(_by_step(folder / _LOG))
        if not rows:
            raise UserError("has no steps", where=str(folder / _LOG))
        read = accumulate(int(finite(row, "num_tokens_per_step") or 0) for row in rows.values())
        losses = [
            LoggedStep(
                step=step,
                loss=row["loss"],
                learning_rate=finite(row, "lr"),
                norm=finite(row, "grad_norm"),
                tokens=tokens or None,
            )
            for (step, row), tokens in zip(rows.items(), read, strict=True)
            if finite(row, "loss") is not None
        ]
        held_out = [
            LoggedHeldOut(step, match[1] or "", row["val_loss"])
            for file in sorted(folder.iterdir())
            if (match := _HELD_OUT.fullmatch(file.name))
            for step, row in dict(_by_step(file)).items()
            if finite(row, "val_loss") is not None
        ]
        checkpoints = dict(_checkpoints(folder))
        return TrainerLog(
            trainer=self.name,
            steps=_planned(folder) or max(rows),
            step=max(rows),
            losses=tuple(losses),
            held_out=tuple(held_out),
            checkpoints=checkpoints,
            seconds=None if len(rows) < 2 else _seconds(rows),
        )


def _by_step(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows by the number of steps that are done."""
    for row in log_rows(file):
        step = finite(row, "step")
        if step is not None and step >= 0:
            yield int(step) + 1, row


def _checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    for place in folder.glob("epoch_*_step_*"):
        match, model = _CHECKPOINT.fullmatch(place.name), place / "model/consolidated"
        if match and (model / "config.json").is_file():
            yield int(match[1]) + 1, model


def _planned(folder: Path) -> int | None:
    """Steps by the settings that lie with a checkpoint."""
    for file in sorted(folder.glob("epoch_*_step_*/config.yaml")):
        if match := _STEPS.search(read_limited(file)):
            return int(match[1])
    return None


def _seconds(rows: dict[int, dict[str, Any]]) -> float | None:
    """By its tokens and its speed, step by step."""
    each = [(finite(row, "num_tokens_per_step"), finite(row, "tps")) for row in rows.values()]
    taken = [tokens / speed for tokens, speed in each if tokens and speed]
    return math.fsum(taken) or None


TRAINERS.add(AutoModelLog())
