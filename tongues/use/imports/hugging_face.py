"""Logs of transformers' Trainer, and of all that is built on it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.use.imports.log import (
    TRAINERS,
    LoggedHeldOut,
    LoggedStep,
    TrainerLog,
    finite,
    read_object,
)

_STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_HELD_OUT = re.compile(r"eval_(?:(.+)_)?loss")  # `eval_sw_loss` of several texts, or `eval_loss`


class HuggingFace:
    """Reads `trainer_state.json` of a run's folder, or of its newest checkpoint."""

    name = "trainer"
    summary = "transformers' Trainer, TRL, axolotl, LLaMA-Factory, unsloth, ms-swift"

    def recognises(self, folder: Path) -> bool:
        """Whether it or one of its checkpoints has a state."""
        return next(_states(folder), None) is not None

    def read(self, folder: Path) -> TrainerLog:
        """The run as the state of most steps has it."""
        states = [(file, read_object(file)) for file in _states(folder)]
        file, state = max(states, key=lambda pair: _whole(pair[1], "global_step", pair[0]))
        rows = state.get("log_history")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UserError("has no `log_history`", where=str(file))
        losses = [
            LoggedStep(
                step=_whole(row, "step", file),
                loss=row["loss"],
                learning_rate=finite(row, "learning_rate"),
                norm=finite(row, "grad_norm"),
                tokens=_tokens(row),
            )
            for row in rows
            if finite(row, "loss") is not None
        ]
        held_out = [
            LoggedHeldOut(_whole(row, "step", file), match[1] or "", row[key])
            for row in rows
            for key in row
            if (match := _HELD_OUT.fullmatch(key)) and finite(row, key) is not None
        ]
        seconds = [finite(row, "train_runtime") for row in rows]
        return TrainerLog(
            trainer=self.name,
            steps=_whole(state, "max_steps", file),
            step=_whole(state, "global_step", file),
            losses=tuple(losses),
            held_out=tuple(held_out),
            checkpoints=_checkpoints(folder),
            seconds=next((value for value in reversed(seconds) if value), None),
        )


def _states(folder: Path) -> Iterator[Path]:
    places = [folder / _STATE, *sorted(folder.glob(f"checkpoint-*/{_STATE}"))]
    yield from (place for place in places if place.is_file())


def _checkpoints(folder: Path) -> dict[int, Path]:
    """Folders with a model, by step."""
    named = ((_CHECKPOINT.fullmatch(path.name), path) for path in folder.glob("checkpoint-*"))
    return {int(match[1]): path for match, path in named if match and _has_model(path)}


def _has_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def _tokens(row: Mapping[str, Any]) -> int | None:
    """Counted where the run was asked to: `include_num_input_tokens_seen`."""
    tokens = finite(row, "num_input_tokens_seen")
    return int(tokens) if tokens else None


def _whole(row: Mapping[str, Any], key: str, file: Path) -> int:
    value = finite(row, key)
    if value is None or value < 0 or value != int(value):
        raise UserError(f"`{key}` is no number of steps: {row.get(key)!r}", where=str(file))
    return int(value)


TRAINERS.add(HuggingFace())
