"""A trained model as a Hugging Face folder, whole or not there at all."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from safetensors import SafetensorError
from torch import Tensor
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.core.files import DISK_FULL, read_json, whole_directory, write_json
from tongues.core.pages import CARD
from tongues.models.folders import other_files, weight_files
from tongues.models.huggingface import save_model
from tongues.runs.record import Run, read_run
from tongues.text.tokens import tokenizer_files
from tongues.train.base import find_base, model_folder
from tongues.train.card import DATA, write_card
from tongues.train.cost import run_cost

# Names or suffixes of what an export holds: a folder with anything else is not replaced.
_WRITTEN = {".safetensors", ".json", ".jinja", ".gguf", ".md", "LICENSE", "NOTICE"}
_FILES = ("config.json", "*.safetensors.index.json", CARD)


def write_model(
    model: PreTrainedModel,
    tokens: Path,
    record: Run,
    folder: Path,
    groups: Iterable[dict[str, Tensor]] | None = None,
) -> None:
    """Write weights, configuration, tokenizer and card; all of the folder or nothing.

    tokens: the folder of the tokens that the run read, in the workspace where it was made. groups:
    the weights, where the model does not have them (see `save_model`).
    """
    with _telling_disk(folder), whole_directory(folder) as aside:
        fill_folder(aside, model, tokens, record, groups)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Fill the directory handed out; it becomes `folder` when the block ends without an error.

    A UserError where something is there already; what a full disk says names `folder`.
    """
    target = folder.resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        hint = "name another by `-o`"
        hint = "`--overwrite` makes it again; or name another" if is_whole(target) else hint
        raise UserError("is there already", where=str(folder), hint=hint)
    if target == Path.cwd():
        what, hint = "is the folder you are in, and would be replaced", "name one inside it by `-o`"
        raise UserError(what, where=str(folder), hint=hint)
    with _telling_disk(folder), whole_directory(target) as aside:
        yield aside


def is_whole(folder: Path) -> bool:
    """Whether a folder is an export of a model: all that one writes, and nothing else."""
    card = folder / CARD
    if not card.is_file() or (folder.parent / "run.json").is_file():
        return False
    tagged = "\n- tongues\n" in card.read_text(encoding="utf-8", errors="replace")
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    if not tagged or any((Path(name).suffix or name) not in _WRITTEN for name in names):
        return False
    with suppress(UserError):
        return bool(weight_files(folder))
    return (folder / "ensemble.json").is_file()


def copy_model(directory: Path, workspace: Path, folder: Path) -> None:
    """Copy a finished run's model; a card that does not describe the data is written again.

    The card gets what training cost, which the run knew only once its model was written.
    """
    copy_files(directory / "model", folder)
    card, record = folder / CARD, read_run(directory)
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    if DATA not in text or "\nlicense: " not in text:
        write_card(folder, record, workspace)
        text = card.read_text(encoding="utf-8")
    if cost := run_cost(record):
        section = f"## Cost\n\n{cost.sentence}\n\n{DATA}"
        card.write_text(text.replace(DATA, section, 1), encoding="utf-8")


def copy_files(model: Path, folder: Path) -> None:
    """Copy what makes a Hugging Face folder: weights, configuration, tokenizer and card."""
    own = [*weight_files(model), *other_files(model)]
    own += [file for form in _FILES for file in model.glob(form)]
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
        if code is None or (isinstance(error, OSError) and code not in DISK_FULL):
            raise
        raise OSError(code, os.strerror(code), str(folder)) from None


def fill_folder(
    folder: Path,
    model: PreTrainedModel,
    tokens: Path,
    record: Run,
    groups: Iterable[dict[str, Tensor]] | None = None,
) -> None:
    """Write weights, configuration, tokenizer and card into a folder that is empty."""
    base = find_base(record.base.pinned if record.base else None, tokens.parents[1])
    save_model(model, folder, model_folder(base) if base else None, groups)
    for file in tokenizer_files(tokens):
        if not (folder / file.name).exists():  # what the model says of itself counts
            shutil.copyfile(file, folder / file.name)
    _limit_length(folder, model)
    write_card(folder, record, tokens.parents[1])


def _limit_length(folder: Path, model: PreTrainedModel) -> None:
    """Set the tokenizer's `model_max_length` to the model's context, if it is larger or missing."""
    file = folder / "tokenizer_config.json"
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    settings = read_json(file) if file.is_file() else {}
    if context and settings and settings.get("model_max_length", inf) > context:
        write_json(file, settings | {"model_max_length": context})
