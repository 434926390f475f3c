"""What a trainer's log says of a run, and the registry of trainers whose logs are read."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.registry import Registry

_LARGEST = 2**28  # bytes of a log; a million steps take a tenth
# What trainers call things, by their sources: transformers' Trainer in its own log and by wandb (as
# tongues), torchtitan, OLMo-core, nanotron, NeMo AutoModel.
LOSS = ("loss", "train/loss", "loss_metrics/global_avg_loss", "train/CE loss", "lm_loss")
_STEP = ("train/global_step", "step", "_step")
_RATE = (
    *("learning_rate", "train/learning_rate", "lr", "lr/AdamW", "lr/AdamW/0"),
    "optim/LR (group 0)",
)
_NORM = ("grad_norm", "train/grad_norm", "train/norm", "optim/total grad norm")
_TOKENS = (
    *("num_input_tokens_seen", "train/num_input_tokens_seen"),
    *("n_tokens_seen", "tokens", "throughput/total tokens"),
)
# `eval_sw_loss` is of one of several texts, `eval_loss` of the only one.
_HELD_OUT = re.compile(
    r"eval[_/](?:(?P<transformers>.+)_)?loss|held out/(?P<tongues>.+)|validation_metrics/loss"
    r"|eval/lm/(?P<olmo>.+)/CE loss"
)


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
    seconds: of training; None where it is not logged.
    """

    trainer: str
    steps: int
    step: int
    losses: Sequence[LoggedStep]
    held_out: Sequence[LoggedHeldOut]
    checkpoints: Mapping[int, Path]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Trainer:
    """A trainer whose logs are read.

    summary: who writes such logs, for help and docs. read: the run in a folder, None where none of
    this trainer is there; a UserError says what is wrong with the log.
    """

    name: str
    summary: str
    read: Callable[[Path], TrainerLog | None]


TRAINERS: Registry[Trainer] = Registry("trainer", "tongues.trainers")


def read_log(folder: Path) -> TrainerLog:
    """The run in a folder, by the first trainer that has one there."""
    for trainer in TRAINERS:
        if log := trainer.read(folder):
            return log
    known = "; ".join(f"{one.name}: {one.summary}" for one in TRAINERS)
    raise UserError("holds no log that is known", where=str(folder), hint=f"read are {known}")


def read_losses(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[list[LoggedStep], list[LoggedHeldOut]]:
    """Losses in training and on held-out text; rows without a step or a loss are left out."""
    losses, held_out = list[LoggedStep](), list[LoggedHeldOut]()
    for row in rows:
        done, loss, tokens = (finite(row, *names) for names in (_STEP, LOSS, _TOKENS))
        if done is None or done < 0:
            continue
        step, read = int(done), int(tokens) if tokens else None
        if loss is not None:
            losses.append(LoggedStep(step, loss, finite(row, *_RATE), finite(row, *_NORM), read))
        for key in row:
            match, value = _HELD_OUT.fullmatch(key), finite(row, key)
            if match and value is not None:
                text = next(filter(None, match.groups()), "")
                held_out.append(LoggedHeldOut(step, text, value))
    return losses, held_out


def finite(row: Mapping[str, Any], *keys: str) -> float | None:
    """The first number of a log's row by these names; None where there is none."""
    for value in map(row.get, keys):
        # also an integer that is too large for a float is none
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
            return value
    return None


def read_limited(file: Path) -> bytes:
    """A log, if it can be one by its size."""
    try:
        if (size := file.stat().st_size) > _LARGEST:
            raise UserError(f"is too large for a log: {size:,} bytes", where=str(file))
        return file.read_bytes()
    except OSError as error:
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
