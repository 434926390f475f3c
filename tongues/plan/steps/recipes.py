"""The next step of a recipe, and of a whole folder."""

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.files import files_named
from tongues.core.hub import is_hub_id
from tongues.plan.check import check_recipe
from tongues.plan.steps.models import step_of_experts
from tongues.plan.steps.runs import (
    Evaluated,
    last_trained,
    newest_evaluations,
    step_of_runs,
    step_of_unfinished,
)
from tongues.plan.steps.step import State, Step, is_run, next_step, quoted
from tongues.recipe import (
    Recipe,
    TextRecipe,
    in_workspace,
    load_recipe,
    load_text_recipe,
    results_name,
    show_recipe,
    training_verb,
)
from tongues.runs.record import PLANS, RECIPE, find_runs, read_run
from tongues.text import check_text
from tongues.text.tokens import check_tokens, runs_trained_on
from tongues.text.tokens.fitting import check_spelling
from tongues.train.base import PLACEHOLDER_BASE
from tongues.train.plan import run_of_recipe
from tongues.train.record import OTHER_SETTINGS, check_settings
from tongues.train.study import plan_study, plan_sweep
from tongues.train.work import open_work

_NAMES = ("name=", "train.run=")
_MEANT = re.compile(r"^(extends|text|tokens|train):", re.MULTILINE)  # the file is to be a recipe


def steps_in(workspace: Path) -> list[Step]:
    """The next step of every recipe, run and study in a folder, the most urgent one first."""
    steps, seen, evaluated = list[Step](), set[Path](), newest_evaluations(workspace)
    for path in sorted(x for x in workspace.glob("*.y*ml") if x.is_file()):
        since = path.stat().st_mtime
        try:
            recipe = load_text_recipe(path)
            own, words = under_own_name(recipe, [path], workspace)
            step = _step(own, words, workspace, evaluated, recipe)
            if isinstance(own, Recipe):
                seen.add(folder := _runs_of(own, workspace))
                since = max(since, last_trained(folder))
        except UserError as error:
            if not _MEANT.search(path.read_text(encoding="utf-8", errors="replace")):
                continue  # a YAML file of something else
            step = next_step("invalid", recipe=path, why=f"{error.where}: {error.what}")
        steps.append(replace(step, place=str(path), since=since))
    for folder in sorted((workspace / "runs").glob("*/")):
        if folder not in seen and (is_run(folder) or (folder / PLANS).is_file()):
            own = quoted(folder / RECIPE) + in_workspace(workspace)
            train = f"tongues train {own}" if (folder / RECIPE).is_file() else ""
            step = step_of_unfinished(folder, train) or step_of_runs(folder, workspace, evaluated)
            steps.append(replace(step, place=str(folder), since=last_trained(folder)))
    if not steps:
        inside = next(iter(sorted(workspace.glob("*/runs/"))), None)
        step = next_step("work_inside", folder=inside.parent) if inside else None
        steps = [replace(step or next_step("nothing_here"), place=str(workspace))]
    return sorted(steps, key=lambda step: (step.urgency, -step.since))


def step_of_recipe(
    recipe: TextRecipe, words: Sequence[Path | str], workspace: Path, *, sound: bool = False
) -> Step:
    """The next step of a recipe; words: its file and overrides, as a command has them.

    sound: whether it was checked just now.
    """
    own, words = under_own_name(recipe, words, workspace)
    return _step(own, words, workspace, None, recipe, sound=sound)


def _step(
    recipe: TextRecipe,
    words: Sequence[str],
    workspace: Path,
    evaluated: "Evaluated | None",
    before: TextRecipe,
    *,
    sound: bool = False,
) -> Step:
    """The next step of a recipe under its own name; before: as it was read."""
    renamed = recipe is not before
    facts = {"recipe": shlex.join(words), "before": _name(before)}
    if isinstance(recipe, Recipe) and recipe.train.base_model == PLACEHOLDER_BASE:
        return next_step("no_base", workspace, **facts)

    def begin(state: State, place: Path, **more: object) -> Step:
        """The step of a recipe that is at its beginning, unless it would be refused."""
        why = "" if sound else _fault(recipe, workspace)
        if why:
            # `prepare` names the line of a recipe of text alone.
            verb = "check" if isinstance(recipe, Recipe) else "prepare"
            as_read = [word for word in words if not word.startswith(_NAMES)] if renamed else words
            facts["recipe"] = shlex.join(as_read)  # another name mends nothing
            return next_step("unsound", workspace, verb=verb, why=why, **facts)
        return next_step(state, place, **facts, **more)

    try:
        check_tokens(recipe, workspace)
    except UserError as error:
        there = (workspace / "tokens" / recipe.name / "tokens.json").is_file()
        state: State = "other_tokens" if there else "renamed" if renamed else "not_prepared"
        return begin(state, workspace, why=error.what)
    if not isinstance(recipe, Recipe):
        return next_step("text_alone", folder=workspace / "corpus" / recipe.corpus)
    folder = _runs_of(recipe, workspace)
    train = f"tongues {training_verb(recipe)} {shlex.join(words)}{in_workspace(workspace)}"
    state = "other_run" if renamed else "not_trained"
    if recipe.experts:
        step = _step_of_experts(recipe, train, workspace, facts)
        return step or step_of_unfinished(folder, train) or begin(state, Path(), train=train)
    if recipe.pilot:
        if (folder / "forecast.json").is_file():
            return next_step("pilot_finished", folder=folder)
        return step_of_unfinished(folder, train) or begin(state, Path(), train=train)
    if not folder.is_dir() or not find_runs([folder]):
        return begin(state, Path(), train=train)
    step = step_of_unfinished(folder, train) or _added(recipe, train, workspace)
    return step or step_of_runs(folder, workspace, evaluated, train)


def _runs_of(recipe: Recipe, workspace: Path) -> Path:
    """Where its runs are; another trainer's of it, where that was imported and ours is not."""
    own = workspace / "runs" / results_name(recipe)
    others = [] if is_run(own) else sorted(own.parent.glob(f"{own.name}-*/run.json"))
    imported = (file.parent for file in others if "trainer" in (read_run(file.parent).engine or {}))
    return next(imported, own)


def _step_of_experts(
    recipe: Recipe, train: str, workspace: Path, values: Mapping[str, str]
) -> Step | None:
    """The next step of experts; None where they are not begun."""
    assert recipe.experts
    if step := step_of_experts(recipe.name, workspace):
        return step
    count = len([*files_named(workspace / "ensembles" / recipe.name, "ensemble.json")])
    wanted = len(recipe.experts.seeds) * max(1, len(recipe.experts.partitions))
    if count >= wanted:
        return next_step("not_measured", workspace, **values)
    if count:
        return next_step("ensembles_missing", train=train, count=count, ensembles=wanted)
    return None


def _added(recipe: Recipe, train: str, workspace: Path) -> Step | None:
    """Train the runs of a study that were added to its recipe since it was trained."""
    if recipe.study is None:
        return None
    plans = [*plan_sweep(recipe), *plan_study(open_work(recipe, workspace))]
    new = [plan for plan in plans if not is_run(workspace / "runs" / plan.name)]
    return next_step("runs_added", train=train, count=len(new), of=len(plans)) if new else None


def _fault(recipe: TextRecipe, workspace: Path) -> str:
    """What `check` or `prepare` would refuse, empty where they would not; the hub is not asked."""
    base = recipe.train.base_model if isinstance(recipe, Recipe) else None
    if any(name and is_hub_id(name) for name in (recipe.tokens.base, base)):
        return ""
    try:
        sources, prepared = check_text(recipe.text), (workspace / "tokens" / recipe.name).exists()
        if isinstance(recipe, Recipe):
            check_recipe(open_work(recipe, workspace), training=prepared)
        if not prepared:
            check_spelling(recipe, sources)
    except UserError as error:
        return f"{error.where}: {error.what}" if error.where else error.what
    return ""


def _name(recipe: TextRecipe) -> str:
    return results_name(recipe) if isinstance(recipe, Recipe) else recipe.name


def under_own_name(
    recipe: TextRecipe, words: Sequence[Path | str], workspace: Path
) -> tuple[TextRecipe, list[str]]:
    """A recipe and its words, under another name where its own has runs of other settings.

    The first name and a number that has nothing, or tokens and runs of these very settings.
    """
    key = _other(recipe, workspace)
    if not key:
        return recipe, [*map(str, words)]
    taken = results_name(recipe) if isinstance(recipe, Recipe) and key != "name" else recipe.name
    names = (f"{taken}-{count}" for count in itertools.count(2))
    free = next(x for x in names if _other(_named(recipe, key, x), workspace) != key)
    kept = [word for word in map(str, words) if not word.startswith(f"{key}=")]
    return under_own_name(_named(recipe, key, free), [*kept, f"{key}={free}"], workspace)


def _other(recipe: TextRecipe, workspace: Path) -> str:
    """The key that names what has other settings than the recipe: tokens of runs, or runs."""
    try:
        check_tokens(recipe, workspace)
    except UserError:
        return "name" if runs_trained_on(workspace / "tokens" / recipe.name) else ""
    if isinstance(recipe, Recipe) and _is_changed(recipe, workspace):
        return "name" if recipe.study else "train.run"
    return ""


def _named(recipe: TextRecipe, key: str, name: str) -> TextRecipe:
    if key == "name" or not isinstance(recipe, Recipe):
        return recipe.model_copy(update={"name": name})
    train = recipe.train.model_copy(update={"run": name})
    return recipe.model_copy(update={"train": train})


def _is_changed(recipe: Recipe, workspace: Path) -> bool:
    """Whether a run of this name was trained with other settings; the record alone is read."""
    folder = workspace / "runs" / results_name(recipe)
    if recipe.pilot or recipe.experts or not folder.is_dir():
        return False
    try:
        if recipe.study:
            for plan in plan_study(open_work(recipe, workspace)):
                check_settings(plan, workspace)
        elif (file := folder / RECIPE).is_file() and (
            show_recipe(load_recipe(file)) != show_recipe(recipe)
        ):
            check_settings(run_of_recipe(open_work(recipe, workspace)), workspace)
    except UserError as error:
        return error.code == OTHER_SETTINGS
    return False
