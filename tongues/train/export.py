"""A trained model as a Hugging Face folder: at the end of a run, or at any of its checkpoints."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from safetensors import SafetensorError
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.files import whole_directory
from tongues.models.folders import read_config
from tongues.models.huggingface import save_model
from tongues.pages import CARD
from tongues.runs import Run, read_run
from tongues.tokens import tokenizer_files
from tongues.train.card import DATA, add_sections, find_tokens, write_card
from tongues.train.checkpoint import list_checkpoints, load_weights, step_of

__all__ = ["copy_files", "copy_model", "export_run", "new_folder", "write_model"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FILES = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json")


def write_model(model: PreTrainedModel, tokens: Path, record: Run, folder: Path) -> None:
    """Write weights, configuration, tokenizer and card; all of the folder or nothing.

    tokens: the folder of the tokens that the run read, in the workspace where it was made.
    """
    with _telling_disk(folder), whole_directory(folder) as aside:
        _fill(aside, model, tokens, record)


def export_run(
    directory: Path,
    step: int | None,
    workspace: Path,
    folder: Path,
    *,
    laws: str = "",
    evaluated: str = "",
) -> int:
    """Write the model of a run at a checkpoint; returns its step.

    step: of a checkpoint or milestone; None: where it ended, or the newest. workspace: has the
    tokens that the run read. laws, evaluated: sections for the card, the second for that of the
    finished model alone.
    """
    with new_folder(folder) as aside:
        record = read_run(directory)
        if record.status == "finished" and step in (None, record.steps):
            copy_model(directory, workspace, aside)
            add_sections(aside, laws, evaluated)
            return record.steps
        place, model = _checkpoint(directory, step)
        tokens = find_tokens(record, workspace)
        if tokens is None:
            what, hint = (
                "holds no longer the tokens that the run read",
                "name its place by `--workspace`",
            )
            raise UserError(what, where=str(workspace / "tokens"), hint=hint)
        done = step_of(place)
        share = done / record.steps
        until = replace(
            record,
            run=f"{record.run}, step {done} of {record.steps}",
            tokens=record.tokens * done // record.steps,
            flops=record.flops * share,
            epochs={lang: times * share for lang, times in record.epochs.items()},
        )
        _fill(aside, model, tokens, until)
        add_sections(aside, laws)
        return done


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Fill the directory handed out; it becomes `folder` when the block ends without an error.

    A UserError where something is there already; what a full disk says names `folder`.
    """
    whole = folder.resolve()
    if whole.exists() and (not whole.is_dir() or any(whole.iterdir())):
        raise UserError("is there already", where=str(folder), hint="name another by `-o`")
    if whole == Path.cwd():
        what, hint = "is the folder you are in, and would be replaced", "name one inside it by `-o`"
        raise UserError(what, where=str(folder), hint=hint)
    with _telling_disk(folder), whole_directory(whole) as aside:
        yield aside


def copy_model(directory: Path, workspace: Path, folder: Path) -> None:
    """Copy a finished run's model; a card that does not describe the data is written again."""
    copy_files(directory / "model", folder)
    card = folder / CARD
    if not card.is_file() or DATA not in card.read_text(encoding="utf-8"):
        write_card(folder, read_run(directory), workspace)


def copy_files(model: Path, folder: Path) -> None:
    """Copy what makes a Hugging Face folder: weights, configuration, tokenizer and card."""
    read_config(model)
    own = [file for form in (*_FILES, CARD) for file in sorted(model.glob(form))]
    for file in dict.fromkeys([*own, *tokenizer_files(model)]):
        shutil.copyfile(file, folder / file.name)


@contextmanager
def _telling_disk(folder: Path) -> Iterator[None]:
    """A full disk as an OSError that names `folder`, also where safetensors was writing."""
    try:
        yield
    except (SafetensorError, OSError) as error:
        code = error.errno if isinstance(error, OSError) else None
        if isinstance(error, SafetensorError) and (
            found := re.search(r"os error (\d+)", str(error))
        ):
            code = int(found[1])
        if code is None or (isinstance(error, OSError) and code not in _FULL):
            raise
        raise OSError(code, os.strerror(code), str(folder)) from None


def _checkpoint(directory: Path, step: int | None) -> tuple[Path, PreTrainedModel]:
    places = {step_of(place): place for place in list_checkpoints(directory / "checkpoints")}
    if not places:
        hint = "a finished run's model is in `model`; milestones are kept by `train.milestones`"
        if read_run(directory).status != "finished":
            hint = "it is not finished: train it to its end by `tongues train` of its recipe"
        raise UserError("has no checkpoints", where=str(directory), hint=hint)
    chosen = max(places) if step is None else step
    if chosen not in places:
        hint = f"there are {', '.join(map(str, places))}"
        raise UserError(f"has no checkpoint of step {step}", where=str(directory), hint=hint)
    try:
        return places[chosen], load_weights(places[chosen])
    except UserError as error:
        others = ", ".join(str(other) for other in places if other != chosen) or "no others"
        hint = f"there are {others}; name one by `--step`"
        raise UserError(error.what, where=error.where, hint=hint) from None


def _fill(folder: Path, model: PreTrainedModel, tokens: Path, record: Run) -> None:
    save_model(model, folder)
    for file in tokenizer_files(tokens):
        if not (folder / file.name).exists():  # what the model says of itself counts
            shutil.copyfile(file, folder / file.name)
    write_card(folder, record, tokens.parents[1])
