"""A run as a Hugging Face folder to publish: its end, or a checkpoint."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.ranks import Say
from tongues.runs.record import Base, Run, read_run
from tongues.text import Document
from tongues.text.tokens import open_tokens
from tongues.train.base import base_fingerprint, find_base, model_folder
from tongues.train.card import add_sections, find_tokens
from tongues.train.checkpoint import list_checkpoints, step_of
from tongues.train.export import copy_model, fill_folder, new_folder
from tongues.train.metadata import CardScores, first_base
from tongues.train.parts import checkpoint_model
from tongues.use.export.add_chat import add_chat
from tongues.use.export.gguf import add_gguf, find_script
from tongues.use.export.held_out import held_out_text
from tongues.use.export.weights import dtype_name, store_as


@dataclass(frozen=True, slots=True)
class Changes:
    """What an export makes of a run's model."""

    step: int | None = None  # of a checkpoint or milestone; None: the end, or the newest
    dtype: str | None = None  # bf16, fp16 or fp32; None: the base's own
    instruct: Path | None = None  # a model tuned from the base, whose change is added
    chat_weight: float | None = None  # of the change; None: chosen
    gguf: bool = False  # for llama.cpp too


def export_run(
    directory: Path,
    workspace: Path,
    folder: Path,
    changes: Changes,
    *,
    evaluated: CardScores | None = None,
    say: Say = lambda line: None,
) -> None:
    """Write the model of a run, changed as it is wished.

    workspace: has the tokens that the run read. evaluated: for the card of the finished model.
    """
    record = read_run(directory)
    if changes.gguf:
        find_script()  # a UserError before anything is computed
    with new_folder(folder) as aside:
        notes: list[str] = []
        ended = record.status == "finished" and changes.step in (None, record.steps)
        if ended:
            copy_model(directory, workspace, aside)
            say(f"step {record.steps}")
        else:
            place = _checkpoint(directory, changes.step)
            tokens = find_tokens(record, workspace)
            if tokens is None:
                what, where = "holds no longer the tokens that the run read", workspace / "tokens"
                hint = "name its place by `--workspace`"
                raise UserError(what, where=str(where), hint=hint)
            model, done = checkpoint_model(place, workspace), step_of(place)
            fill_folder(aside, model, tokens, until(record, done))
            say(f"step {done}")
        if changes.instruct:
            notes += _chat(aside, record, workspace, changes.instruct, changes, say)
        first = first_base(record.base_model, workspace)
        notes += store_folder(aside, changes.dtype, base_folder(first, workspace), say)
        if changes.gguf:
            texts = _held_out(record, record.languages, workspace)
            notes += add_gguf(aside, folder.resolve().name, texts, say)
        about = ["\n\n".join(["## After training", *notes]) + "\n"] if notes else []
        same = ended and not changes.instruct
        own = evaluated if evaluated and same else CardScores()
        add_sections(aside, *about, own.section, scores=own.scores)


def store_folder(
    folder: Path, dtype: str | None, base: Path | None = None, say: Say = lambda line: None
) -> list[str]:
    """Store the weights in a type, by default in the base's own; what the card says of it."""
    before, wanted = dtype_name(folder), dtype or dtype_name(base)
    if wanted is None or not store_as(folder, wanted, base):
        return []
    say(f"stored in {wanted}; training computed in {before}")
    return [f"The weights are rounded from {before} to {wanted}."]


def base_folder(name: str | None, workspace: Path) -> Path | None:
    """The Hugging Face folder of a base; None where it is gone."""
    with suppress(UserError):
        base = find_base(name, workspace)
        return base and model_folder(base)
    return None


def _chat(
    aside: Path, record: Run, workspace: Path, instruct: Path, changes: Changes, say: Say
) -> list[str]:
    """Add what instruction tuning changed in the base of a run."""
    base = _tuned_base(record, workspace)
    texts = _held_out(record, record.targets, workspace)
    if not texts:
        say("caution: there is no held-out text to choose by (no_held_out)")
    return add_chat(aside, instruct, base, changes.chat_weight, texts, say)


def _held_out(record: Run, languages: Sequence[str], workspace: Path) -> dict[str, list[Document]]:
    """Text that the run did not see; none where its tokens are gone."""
    tokens = find_tokens(record, workspace)
    return held_out_text(open_tokens(tokens), languages, workspace) if tokens else {}


def _tuned_base(record: Run, workspace: Path) -> Path:
    """The folder of the first of a run's bases; refused if its weights are others now."""
    first: Base | None = None
    while record.base:
        first, place = record.base, workspace / "runs" / record.base.model
        if not (place / "run.json").is_file():
            break
        record = read_run(place)
    if first is None:
        what = "started from random weights: there is no base that could have been tuned"
        raise UserError(what, where=record.run)
    base = find_base(first.model, workspace)
    if base is None or base_fingerprint(base) != first.fingerprint:
        what = "holds other weights than those that the run started from"
        hint = "the change that tuning made is added to the same revision of the base alone"
        raise UserError(what, where=str(base), hint=hint)
    return model_folder(base)


def until(record: Run, step: int) -> Run:
    """The record of a run as if it had ended at a step."""
    share = step / record.steps
    return replace(
        record,
        run=f"{record.run}, step {step} of {record.steps}" if step else record.run,
        tokens=record.tokens * step // record.steps,
        flops=record.flops * share,
        epochs={lang: times * share for lang, times in record.epochs.items()},
    )


def _checkpoint(directory: Path, step: int | None) -> Path:
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
    return places[chosen]
