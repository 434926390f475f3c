"""All that a run needs to go on, whole and checked, or not there at all."""

import hashlib
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from tongues.files import read_json, whole_directory, write_json

__all__ = ["Position", "load_checkpoint", "save_checkpoint"]

_KEPT = 2


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run has come; with weights and moments it is the run's whole state.

    The mixture is a function of the step, and nothing else in training draws random numbers.
    """

    step: int
    seconds: float  # of training so far, over all sittings
    loss_sum: float  # of the steps since the last logged one


def save_checkpoint(
    directory: Path, model: nn.Module, optimizer: torch.optim.Optimizer, position: Position
) -> None:
    """Write `directory/step-N/`; the two newest are kept."""
    with whole_directory(directory / f"step-{position.step:08d}") as aside:
        file = aside / "state.safetensors"
        content = save(_state(model, optimizer))
        file.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        write_json(aside / "position.json", asdict(position) | {"sha256": digest})
    for old in sorted(directory.glob("step-*"))[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(
    directory: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[Position | None, list[Path]]:
    """Put back the newest whole checkpoint; also tells which damaged ones were passed over."""
    damaged: list[Path] = []
    for place in sorted(directory.glob("step-*"), reverse=True):
        state, position = _read(place)
        if position is not None:
            _restore(model, optimizer, state)
            return position, damaged
        damaged.append(place)
    return None, damaged


def _read(place: Path) -> tuple[dict[str, Tensor], Position | None]:
    """The tensors and the position of a checkpoint; no position when it is damaged."""
    try:
        stored = read_json(place / "position.json")
        digest = stored.pop("sha256")
        content = (place / "state.safetensors").read_bytes()
        if hashlib.sha256(content).hexdigest() == digest:
            return load(content), Position(**stored)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {}, None


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = {f"weights/{name}": weight.detach() for name, weight in model.named_parameters()}
    for name, weight in model.named_parameters():
        for key, value in optimizer.state.get(weight, {}).items():
            state[f"{key}/{name}"] = value
    return state


def _restore(model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Tensor]) -> None:
    moments: dict[str, dict[str, Tensor]] = {}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(state.pop(f"weights/{name}"))
    for path, value in state.items():
        key, _, name = path.partition("/")
        moments.setdefault(name, {})[key] = value
    for name, weight in model.named_parameters():
        if name in moments:
            optimizer.state[weight] = {
                key: value.to(weight.device) for key, value in moments[name].items()
            }
