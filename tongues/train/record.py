"""A run's directory: its record before the first step, and what an interruption left of it."""

import json
import platform
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from tongues import __version__
from tongues.core.errors import UserError
from tongues.core.files import fingerprint, read_lines, remove_directory, write_text
from tongues.core.hub import commit_of
from tongues.models.folders import stored_shapes
from tongues.runs.record import Base, Run, read_run, write_run
from tongues.text.tokens import Mixture, Tokens, open_tokens
from tongues.text.tokens.store import read_manifest
from tongues.train.base import base_fingerprint, find_base
from tongues.train.planned import Derived, RunPlan

OTHER_SETTINGS = "other_settings"  # code of the error


def run_fingerprint(plan: RunPlan, tokens: Tokens, base: str | None) -> str:
    """Changes when the settings, the tokens or the base's fingerprint do: all that decides."""
    return fingerprint([plan.identity(), tokens.fingerprint, base])


def make_record(
    plan: RunPlan, derived: Derived, tokens: Tokens, mixture: Mixture, base: Path | None
) -> Run:
    """`run.json` of a run that has not begun."""
    import torch
    import transformers

    mark = base_fingerprint(base)
    return Run(
        run=plan.name,
        fingerprint=run_fingerprint(plan, tokens, mark),
        status="running",
        strategy=plan.strategy,
        base=_base(plan, base, mark),
        targets=plan.roles.targets,
        replay=dict(plan.roles.replay),
        shape=derived.anatomy.name,
        family=derived.anatomy.family,
        params=derived.parameters,
        seed=plan.settings.seed,
        steps=derived.steps,
        tokens=derived.tokens,
        flops=derived.flops,
        batch=derived.batch,
        learning_rate=derived.learning_rate,
        shares=plan.shares,
        foreign={lang: tokens.foreign[lang] for lang in plan.shares},
        epochs=mixture.epochs(derived.steps),
        vocabulary_extension=None,
        engine=None,
        settings=plan.identity(),
        tokens_fingerprint=tokens.fingerprint,
        versions={
            "tongues": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
        seconds=None,
        mixture=plan.mixture,
    )


def _base(plan: RunPlan, folder: Path | None, mark: str | None) -> Base | None:
    if not (plan.base and folder and mark):
        return None
    return Base(plan.base, plan.roles.base_languages, mark, commit_of(folder))


def open_directory(
    directory: Path, run: Run, overwrite: bool
) -> Literal["new", "unfinished", "finished"]:
    """Make a run's directory, or open it as it was left; `overwrite` overwrites other settings."""
    others = [path.parent.name for path in directory.glob("*/run.json")]
    if others:
        what = f"is a study's folder, with {len(others)} runs such as `{others[0]}`"
        hint = "name this run otherwise (`train.run`)"
        raise UserError(what, where=str(directory), hint=hint)
    there = None
    if (directory / "run.json").is_file():
        try:
            there = read_run(directory)
            if there.status == "finished" and (directory / "model").is_dir():
                stored_shapes(directory / "model")
        except UserError:  # what is damaged is replaced only where that was asked for
            if not overwrite:
                raise
            there = None
    if there and there.fingerprint != run.fingerprint:
        if not overwrite:
            raise _other_settings(directory, _differences(there, *_decisive(run)))
        there = None
    if there is None:
        if (directory / "run.json").is_file():
            remove_directory(directory)
        shutil.rmtree(directory / "checkpoints", ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
        write_run(directory, run)
        return "new"
    if there.status == "finished":
        return "finished"
    kept = replace(run, vocabulary_extension=there.vocabulary_extension, engine=there.engine)
    write_run(directory, kept)
    return "unfinished"


def roll_back(directory: Path, step: int) -> None:
    """Drop what was written after `step`: it will be written again, the same."""
    for name in ("metrics.jsonl", "evals.jsonl", "events.jsonl", "timing.jsonl"):
        path = directory / name
        if path.exists():
            kept = [row for row in read_lines(path) if row["step"] <= step]
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
            write_text(path, "".join(lines))


def check_settings(plan: RunPlan, workspace: Path) -> None:
    """Refuse a run whose name in the store has other settings or tokens, by its record alone.

    `open_directory` refuses the rest, such as another base of the same name: it reads the weights.
    A base whose tokens are trimmed or replaced is known only then.
    """
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    directory = workspace / "runs" / plan.name
    inputs = read_manifest(tokens.path)["inputs"]["tokens"]
    there = _record(directory)
    if there is None or inputs.get("trim") or inputs.get("replace"):
        return
    base = there.base and there.base.fingerprint
    if other := _differences(there, plan.identity(), tokens.fingerprint, base):
        raise _other_settings(directory, other)


def check_runs(
    plans: Sequence[RunPlan], workspace: Path, *, overwrite: bool
) -> tuple[dict[str, str], set[str]]:
    """The fingerprint of each run of a recipe, and the runs of other settings in their places.

    These are a UserError unless `overwrite`. The text must be prepared, and bases that are not
    among the runs trained.
    """
    by_name = {plan.name: plan for plan in plans}
    opened = {name: open_tokens(workspace / "tokens" / name) for name in {x.tokens for x in plans}}
    fingerprints, changed, outside = dict[str, str](), dict[str, str](), dict[str, str | None]()

    def compare(plan: RunPlan) -> str:
        if plan.name not in fingerprints:
            tokens, base = opened[plan.tokens], fingerprint_of(plan.base)
            fingerprints[plan.name] = run_fingerprint(plan, tokens, base)
            there = _record(workspace / "runs" / plan.name)
            if there and there.fingerprint != fingerprints[plan.name]:
                identity = plan.identity()
                changed[plan.name] = _differences(there, identity, tokens.fingerprint, base)
        return fingerprints[plan.name]

    def fingerprint_of(base: str | None) -> str | None:
        if base in by_name:
            return compare(by_name[base])
        if base is not None and base not in outside:  # it may be gigabytes
            outside[base] = base_fingerprint(find_base(base, workspace))
        return outside[base] if base else None

    for plan in plans:
        compare(plan)
    if changed and not overwrite:
        first, how = next(iter(changed.items()))
        more = f", as have {len(changed) - 1} more" if len(changed) > 1 else ""
        what = f"a run of this name has other settings{more}: {how}"
        hint = "name this recipe otherwise (`name`), or overwrite its runs with --overwrite"
        where = str(workspace / "runs" / first)
        raise UserError(what, where=where, hint=hint, code=OTHER_SETTINGS)
    return fingerprints, set(changed)


def _other_settings(directory: Path, how: str) -> UserError:
    what = f"a run of this name has other settings: {how}"
    hint = "name this run otherwise (`train.run`), or overwrite that one with --overwrite"
    return UserError(what, where=str(directory), hint=hint, code=OTHER_SETTINGS)


def _record(directory: Path) -> Run | None:
    """The record of a run; None where it is missing or damaged: training says how."""
    if (directory / "run.json").is_file():
        with suppress(UserError):
            return read_run(directory)
    return None


def _differences(there: Run, settings: dict[str, Any], tokens: str, base: str | None) -> str:
    """How a run's settings, fingerprint of its tokens or of its base differ from these."""
    old, new = (
        settings | {"tokens": tokens, "base's fingerprint": base}
        for settings, tokens, base in (_decisive(there), (settings, tokens, base))
    )
    differing = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{key} was {old.get(key)}, now {new.get(key)}" for key in differing)


def _decisive(run: Run) -> tuple[dict[str, Any], str, str | None]:
    return run.settings, run.tokens_fingerprint, run.base.fingerprint if run.base else None
