"""Runs of other trainers, into the store."""

from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.quantities import Share, Tokens
from tongues.plan.budget import read_as
from tongues.recipe.base import NAME
from tongues.use.imports import run as imports
from tongues.verbs.recipes import ImportRun
from tongues.verbs.shared import Voice, existing_folder, listed, pairs


def import_run(asked: ImportRun) -> Path:
    """Write the run into the store; returns its directory."""
    folder = existing_folder(asked.folder)
    name = asked.name or folder.resolve().name
    if not all(map(NAME.match, name.split("/", 1))):
        hint = "name it with `--name`, such as `sw` or `study/sw`"
        raise UserError(f"`{name}` cannot be the name of a run", where="--name", hint=hint)
    declared = imports.Declared(
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
        context=read_as(Tokens, asked.context, "--context"),
        model=None if asked.model is None else existing_folder(asked.model),
        seed=asked.seed,
    )
    workspace = Path(asked.workspace)
    return imports.import_run(folder, declared, workspace, Voice(asked.quiet).say)


def _split(words: list[str], where: str) -> list[tuple[str, str]]:
    found = [word.partition("=") for word in words]
    if wrong := [first for first, sign, _ in found if not sign]:
        raise UserError(f"`{wrong[0]}` has no `=`", where=where, hint="such as `sw=90%`")
    return [(first, second) for first, _, second in found]
