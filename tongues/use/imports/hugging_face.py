"""Logs of transformers' Trainer, and of all that is built on it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.use.imports.log import TRAINERS, Trainer, TrainerLog, finite, read_limited, read_losses

_NAME = "trainer"
_SUMMARY = "transformers' Trainer, TRL, axolotl, LLaMA-Factory, unsloth, ms-swift"
_STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def _read(folder: Path) -> TrainerLog | None:
    """The run by the state of most steps: of its folder, or of its newest checkpoint.

    Tokens are counted where the run was asked to, by `include_num_input_tokens_seen`.
    """
    places = [folder / _STATE, *sorted(folder.glob(f"checkpoint-*/{_STATE}"))]
    states = [(file, _state(file)) for file in places if file.is_file()]
    if not states:
        return None
    file, state = max(states, key=lambda pair: _whole(pair[1], "global_step", pair[0]))
    rows = state.get("log_history")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError("has no `log_history`", where=str(file))
    losses, held_out = read_losses(rows)
    seconds = [finite(row, "train_runtime") for row in rows]
    return TrainerLog(
        trainer=_NAME,
        steps=_whole(state, "max_steps", file),
        step=_whole(state, "global_step", file),
        losses=losses,
        held_out=held_out,
        checkpoints=_checkpoints(folder),
        seconds=next((value for value in reversed(seconds) if value), None),
    )


def _state(file: Path) -> dict[str, Any]:
    try:
        state = json.loads(read_limited(file))
    except (ValueError, RecursionError) as error:
        raise UserError(f"is not JSON ({error})", where=str(file)) from None
    if not isinstance(state, dict):
        raise UserError("is not a JSON object", where=str(file))
    return state


def _checkpoints(folder: Path) -> dict[int, Path]:
    """Folders with a model, by step."""
    places = [file.parent for file in folder.glob("checkpoint-*/config.json")]
    named = ((_CHECKPOINT.fullmatch(place.name), place) for place in places)
    return {int(match[1]): x for match, x in named if match and any(x.glob("*.safetensors"))}


def _whole(row: Mapping[str, Any], key: str, file: Path) -> int:
    value = finite(row, key)
    if value is None or value < 0 or value != int(value):
        raise UserError(f"`{key}` is not a number of steps: {row.get(key)!r}", where=str(file))
    return int(value)


TRAINERS.add(Trainer(_NAME, _SUMMARY, _read))
