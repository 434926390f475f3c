"""Models opened to be served: each is tried once before it is offered."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tongues.core.errors import UserError
from tongues.core.foreign.process import TextProcess
from tongues.experts.ensemble.caches import TokenSequence
from tongues.experts.ensemble.lineage import expert_folder, read_lineage
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.places import resolve_model
from tongues.train.base import model_folder

Rules = dict[Path, TextProcess]  # by the resolved folders of tokenizers

_TOKENS = 16  # that a model must read before it is offered; chosen


def open_served(
    names: Sequence[str],
    workspace: Path,
    *,
    say: Callable[[str], None],
    **options: Any,
) -> tuple[dict[str, Model], Rules]:
    """The models that can be served, by name; a UserError where none can.

    say: hears of each that cannot, and what serves a single model better. options: of `open_model`.
    """
    folders = {name: _rules_place(name, workspace) for name in names}
    rules = {folder: TextProcess(folder) for folder in folders.values()}
    for each in rules.values():
        each.start()  # they open while the models do
    opened: dict[str, Model] = {}
    faults: list[UserError] = []
    for name in names:
        try:
            rules[folders[name]].probe()
            model = open_model(name, workspace, **options)
            probe_step(model)
        except UserError as error:
            say(f"caution: `{name}` is not served: {error}")
            faults.append(error)
        else:
            opened[name] = model
    kept = {folders[name] for name in opened}
    for folder in rules.keys() - kept:
        rules[folder].close()
    if not opened:
        raise faults[0]
    if all(model.kind != "ensemble" for model in opened.values()):
        for name in opened:
            say(f"`{name}` is opened for a look; to serve it: {_other_server(folders[name])}")
    return opened, {folder: rules[folder] for folder in kept}


def _other_server(folder: Path) -> str:
    """The command of a server that is made for a single model."""
    file = next(iter(sorted(folder.glob("*.gguf"))), None)
    command = ["llama-server", "-m", str(file)] if file else ["vllm", "serve", str(folder)]
    return f"`{shlex.join(command)}`"


def _rules_place(name: str, workspace: Path) -> Path:
    """Where its rules for text are: the folder with its tokenizer."""
    kind, folder, _, _ = resolve_model(name, workspace)
    if kind != "ensemble":
        return model_folder(folder).resolve()
    return expert_folder(read_lineage(folder).experts[0], workspace).resolve()


@torch.inference_mode()
def probe_step(model: Model) -> None:
    """Let every expert predict once; a UserError where one cannot."""
    ensemble = model.ensemble
    count = min(_TOKENS, (ensemble.context or _TOKENS) - 1)
    ids = np.linspace(0, ensemble.vocabulary - 1, count).astype(np.int64)
    for number, place in enumerate(ensemble.models.folders):
        where, hint = str(place), "take the model from another place"
        text = TokenSequence([model.first, *ids.tolist()], 1 + count)
        lost: list[str] = []
        try:
            caches = model.writer(4 * _TOKENS * model.cache_bytes).caches
            logits = caches.logits(number, [text])
            weights = ensemble.models[number].named_parameters()
            lost = [name for name, x in weights if not x.sum(dtype=torch.float32).isfinite()]
        except UserError:
            raise
        except Exception as error:  # whatever a library raises on a folder that it does not expect
            what = f"cannot predict: {str(error)[:300] or type(error).__name__}"
            raise UserError(what, where=where, hint=hint) from None
        if lost or not logits.isfinite().all():
            what = f"`{lost[0]}` holds NaN or infinite values" if lost else "predicts NaN"
            raise UserError(what, where=where, hint=hint)
