"""Runs of other trainers, into the store."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.core.quantities import Share, Tokens
from tongues.plan.budget import read_as
from tongues.recipe.base import NAME
from tongues.runs.record import HANDED
from tongues.use.imports import run as imports
from tongues.verbs.recipes import ImportRun
from tongues.verbs.shared import Voice, existing_folder, listed, pairs

_ABOVE = 2  # folders: a checkpoint is in the run's, which is in the one that was handed over


class _Handed(BaseModel):
    """What `export --for` wrote of a run."""

    name: str
    mixture: dict[str, float]
    base_languages: list[str]
    batch: str
    context: str


def import_run(asked: ImportRun) -> Path:
    """Write the run into the store; returns its directory."""
    folder = existing_folder(asked.folder)
    facts = _handed(folder)
    missing = {key: value for key, value in facts.items() if not getattr(asked, key)}
    declared = _declared(replace(asked, **missing), folder)
    # What the trainer was handed is no other thing afterwards; names and places may be.
    handed = _declared(replace(asked, **facts), folder)
    for key in ("shares", "base_languages", "batch", "context"):
        if getattr(declared, key) != (fact := getattr(handed, key)):
            where = {"shares": "--mixture", "base_languages": "--base-language"}.get(
                key, f"--{key}"
            )
            what, hint = f"{HANDED} of the folder says {fact}", "leave it out, or change it there"
            raise UserError(what, where=where, hint=hint)
    workspace = Path(asked.workspace)
    return imports.import_run(folder, declared, workspace, Voice(asked.quiet).say)


def _handed(folder: Path) -> dict[str, Any]:
    """What `export --for` wrote of the run, in the folder or above it; nothing where it did not."""
    places = [folder.resolve(), *folder.resolve().parents[:_ABOVE]]
    if (place := next((x for x in places if (x / HANDED).is_file()), None)) is None:
        return {}
    try:
        facts = _Handed.model_validate(read_json(place / HANDED)).model_dump()
    except ValueError:  # pydantic's errors are some
        what, hint = "is damaged", "export the recipe again"
        raise UserError(what, where=str(place / HANDED), hint=hint) from None
    return facts | {"base": str(place / "base"), "held_out": place / "held_out"}


def _declared(asked: ImportRun, folder: Path) -> imports.Declared:
    if not asked.mixture or asked.held_out is None:
        hint = f"only folders of `tongues export --for` say them, in {HANDED}"
        raise UserError("are to be named", where="--mixture and --held-out", hint=hint)
    name = asked.name or folder.resolve().name
    if not all(map(NAME.match, name.split("/", 1))):
        hint = "name it with `--name`, such as `sw` or `study/sw`"
        raise UserError(f"`{name}` cannot be the name of a run", where="--name", hint=hint)
    return imports.Declared(
        name=name,
        shares={
            lang: read_as(Share, share, f"--mixture {lang}")
            for lang, share in _split(pairs(asked.mixture), "--mixture")
        },
        held_out=existing_folder(asked.held_out),
        base=asked.base,
        base_languages=tuple(listed(asked.base_languages)),
        texts=dict(_split(pairs(asked.text_of), "--text-of")),
        batch=None if asked.batch is None else read_as(Tokens, asked.batch, "--batch"),
        context=read_as(Tokens, asked.context or "2048 tokens", "--context"),
        model=None if asked.model is None else existing_folder(asked.model),
        seed=asked.seed,
    )


def _split(words: list[str], where: str) -> list[tuple[str, str]]:
    found = [word.partition("=") for word in words]
    if wrong := [first for first, sign, _ in found if not sign]:
        raise UserError(f"`{wrong[0]}` has no `=`", where=where, hint="such as `sw=90%`")
    return [(first, second) for first, _, second in found]
