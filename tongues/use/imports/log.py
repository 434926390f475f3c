"""What a trainer's log says of a run, and the registry of trainers whose logs are read."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tongues.core.errors import UserError
from tongues.core.registry import Registry

LARGEST = 2**28  # bytes of a log; a million steps take a tenth


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """A line of a log; what it does not say is None."""

    step: int
    loss: float  # nats per token, as the trainer averages it
    learning_rate: float | None = None
    norm: float | None = None  # of the gradient
    tokens: int | None = None  # read up to here


@dataclass(frozen=True, slots=True)
class LoggedHeldOut:
    """The loss on held-out text after a step; text: as the trainer names it, empty for the one."""

    step: int
    text: str
    loss: float  # nats per token


@dataclass(frozen=True, slots=True)
class TrainerLog:
    """A run by another trainer.

    steps: that it was to take; step: that it took. checkpoints: Hugging Face folders by step.
    seconds: of training; None where it is not said.
    """

    trainer: str
    steps: int
    step: int
    losses: tuple[LoggedStep, ...]
    held_out: tuple[LoggedHeldOut, ...]
    checkpoints: dict[int, Path]
    seconds: float | None = None


class Trainer(Protocol):
    """A trainer whose logs are read."""

    @property
    def name(self) -> str:
        """Such as `trainer`."""
        ...

    @property
    def summary(self) -> str:
        """One sentence for help and docs: who writes such logs."""
        ...

    def recognises(self, folder: Path) -> bool:
        """Whether a folder is one of its runs."""
        ...

    def read(self, folder: Path) -> TrainerLog:
        """The run in a folder that it recognises; a UserError says what is wrong with the log."""
        ...


TRAINERS: Registry[Trainer] = Registry("trainer", "tongues.trainers")


def read_log(folder: Path) -> TrainerLog:
    """The run in a folder, by the first trainer that recognises it."""
    for trainer in TRAINERS:
        if trainer.recognises(folder):
            return trainer.read(folder)
    known = "; ".join(f"{one.name}: {one.summary}" for one in TRAINERS)
    raise UserError("holds no log that is known", where=str(folder), hint=f"read are {known}")


def read_limited(file: Path) -> str:
    """The text of a log."""
    try:
        if (size := file.stat().st_size) > LARGEST:
            raise UserError(f"is too large for a log: {size:,} bytes", where=str(file))
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read ({error})", where=str(file)) from None


def log_rows(file: Path) -> list[dict[str, Any]]:
    """The JSON objects of a log, one a line; a last line that is cut off is left out."""
    lines = read_limited(file).splitlines()
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise UserError(f"is not JSON ({error})", where=f"{file}:{number}") from None
        if isinstance(row, dict):
            rows.append(row)
    return rows


def finite(row: Mapping[str, Any], key: str) -> float | None:
    """A number of a log; None where it is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object of a log."""
    try:
        plain = json.loads(read_limited(file))
    except (ValueError, RecursionError) as error:
        raise UserError(f"is not JSON ({error})", where=str(file)) from None
    if not isinstance(plain, dict):
        raise UserError("is not a JSON object", where=str(file))
    return plain
