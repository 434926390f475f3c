"""Everything that can be wrong in a recipe, found before work starts, and what follows from it."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tongues.errors import UserError, nearest
from tongues.quantities import show_bytes, show_count
from tongues.recipe import Recipe, Text
from tongues.study import plan_runs
from tongues.text import check_text, text_files
from tongues.train import Derived, RunPlan, derive

__all__ = ["Checked", "check_recipe", "derived_as_json", "derived_table"]

_PASSES = 1000  # no text is worth reading so often: surely a slip in the unit


@dataclass(frozen=True, slots=True)
class Checked:
    """A sound recipe's runs, with the numbers that follow."""

    runs: tuple[tuple[RunPlan, Derived], ...]
    token_bytes: int  # on disk, about

    @property
    def disk(self) -> int:
        """Bytes on disk in the end, about: tokens, models and the checkpoints of a run each."""
        return self.token_bytes + sum(derived.disk for _, derived in self.runs)


def check_recipe(recipe: Recipe, workspace: Path) -> Checked:
    """Look for mistakes across the whole recipe; a UserError names the first."""
    check_text(recipe.text)
    text_bytes = _text_bytes(recipe.text)
    plans = plan_runs(recipe)
    for plan in plans:
        _languages_have_text(plan, recipe)
    runs = tuple((plan, derive(plan, recipe.tokens.vocabulary)) for plan in plans)
    for plan, derived in runs:
        _text_suffices(plan, derived, text_bytes)
        _fits_in_memory(plan, derived)
    two_or_four = 2 if recipe.tokens.vocabulary <= 65_536 else 4
    checked = Checked(runs, sum(text_bytes.values()) * two_or_four // 3)
    _fits_on_disk(checked, workspace)
    return checked


def derived_table(checked: Checked) -> list[dict[str, str]]:
    """A row of text a run: name, parameters, tokens, steps, operations, memory."""
    return [
        {
            "run": plan.name,
            "shape": plan.shape.name,
            "parameters": f"{derived.parameters['total']:,}",
            "outside embeddings": f"{derived.parameters['non_embedding']:,}",
            "tokens": show_count(derived.tokens),
            "steps": f"{derived.steps:,}",
            "FLOPs": f"{derived.flops:.3g}",
            "6ND": f"{derived.flops_rule:.3g}",
            "memory": show_bytes(derived.memory),
        }
        for plan, derived in checked.runs
    ]


def derived_as_json(checked: Checked) -> dict[str, Any]:
    """The same as plain numbers."""
    runs = [
        {"run": plan.name, "shape": plan.shape.name, **asdict(derived)}
        for plan, derived in checked.runs
    ]
    return {"runs": runs, "disk": checked.disk}


def _text_bytes(settings: Text) -> dict[str, int]:
    """Bytes of text by language, without reading it; compressed text counts four times."""
    sizes = dict.fromkeys(settings.made.languages, settings.made.size) if settings.made else {}
    for lang, paths in text_files(settings).items():
        sizes[lang] = sum(p.stat().st_size * (4 if p.suffix == ".gz" else 1) for p in paths)
    return sizes


def _languages_have_text(plan: RunPlan, recipe: Recipe) -> None:
    known = recipe.text.languages
    for lang in plan.settings.mixture:
        if lang not in known:
            where = "study" if recipe.study else "train.mixture"
            raise UserError(
                f"language `{lang}` has no text", where=where, hint=nearest(lang, known)
            )


def _text_suffices(plan: RunPlan, derived: Derived, text_bytes: dict[str, int]) -> None:
    for lang, share in plan.settings.mixture.items():
        passes = derived.tokens * share / max(1, text_bytes[lang])  # at most: a token is >= 1 byte
        if passes > _PASSES:
            raise UserError(
                f"{show_count(derived.tokens * share)} tokens of `{lang}` would read its "
                f"{show_bytes(text_bytes[lang])} of text more than {_PASSES:,} times",
                where="train.budget",
                hint="give a smaller budget or more text",
            )


def _fits_in_memory(plan: RunPlan, derived: Derived) -> None:
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if derived.memory > there:
        raise UserError(
            f"needs {show_bytes(derived.memory)} of memory; this machine has {show_bytes(there)}",
            where=plan.name,
            hint="choose a smaller shape, batch or context",
        )


def _fits_on_disk(checked: Checked, workspace: Path) -> None:
    place = workspace.absolute()
    while not place.exists():
        place = place.parent
    volume = os.statvfs(place)
    free = volume.f_bavail * volume.f_frsize
    if checked.disk > free:
        raise UserError(
            f"needs {show_bytes(checked.disk)} of disk; {show_bytes(free)} are free",
            where=str(workspace),
            hint="make room, or train fewer or smaller runs",
        )
