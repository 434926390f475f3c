"""A trained model as a Hugging Face folder: at the end of a run, or at any of its checkpoints."""

import shutil
from pathlib import Path

from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.files import whole_directory
from tongues.models.huggingface import save_model
from tongues.runs import Record, read_record
from tongues.tokens import tokenizer_files
from tongues.tokens.store import read_manifest
from tongues.train.card import add_section, write_card
from tongues.train.checkpoint import list_checkpoints, load_weights, step_of

__all__ = ["export_checkpoint", "write_model"]


def write_model(model: PreTrainedModel, tokens: Path, record: Record, folder: Path) -> None:
    """Write weights, configuration, tokenizer and card; all of the folder or nothing.

    tokens: the folder of the tokens that the run read.
    """
    with whole_directory(folder) as aside:
        save_model(model, aside)
        for file in tokenizer_files(tokens):
            if not (aside / file.name).exists():  # what the model says of itself counts
                shutil.copyfile(file, aside / file.name)
        write_card(aside, record)


def export_checkpoint(
    directory: Path, step: int | None, workspace: Path, folder: Path, evaluated: str = ""
) -> int:
    """Write the model that a run was at a checkpoint; returns its step.

    directory: of the run, finished or not. step: of a checkpoint or milestone there; None: where
    it ended, or the newest. workspace: holds the tokens that the run read. evaluated: a section
    for the card of the finished model, not of what it was on the way.
    """
    record = read_record(directory)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError("is there already", where=str(folder), hint="name another by `-o`")
    if record["status"] == "finished" and step in (None, record["steps"]):
        with whole_directory(folder) as aside:
            for file in sorted((directory / "model").iterdir()):
                shutil.copyfile(file, aside / file.name)
            if evaluated:
                add_section(aside, evaluated)
        return record["steps"]
    places = {step_of(place): place for place in list_checkpoints(directory / "checkpoints")}
    if not places:
        hint = "a finished run's model lies in `model`; milestones are kept by `train.milestones`"
        raise UserError("has no checkpoints", where=str(directory), hint=hint)
    chosen = max(places) if step is None else step
    if chosen not in places:
        hint = f"there are {', '.join(map(str, places))}"
        raise UserError(f"has no checkpoint of step {step}", where=str(directory), hint=hint)
    so_far: Record = {
        **record,
        "run": f"{record['run']}, step {chosen} of {record['steps']}",
        "tokens": record["tokens"] * chosen // record["steps"],
        "flops": record["flops"] * chosen / record["steps"],
    }
    try:
        model = load_weights(places[chosen])
    except UserError as error:
        others = ", ".join(str(other) for other in places if other != chosen) or "no others"
        hint = f"there are {others}; name one by `--step`"
        raise UserError(error.what, where=error.where, hint=hint) from None
    write_model(model, _tokens_of(record, workspace), so_far, folder)
    return chosen


def _tokens_of(record: Record, workspace: Path) -> Path:
    """The folder of the tokens that a run read."""
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        if read_manifest(place.parent)["fingerprint"] == record["tokens_fingerprint"]:
            return place.parent
    what, hint = "holds no longer the tokens that the run read", "name its place by `--in`"
    raise UserError(what, where=str(workspace / "tokens"), hint=hint)
