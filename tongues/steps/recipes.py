"""The next step of a recipe, and of a whole folder."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.files import files_named
from tongues.recipe import (
    Recipe,
    TextRecipe,
    in_workspace,
    load_recipe,
    load_text_recipe,
    show_recipe,
    training_verb,
)
from tongues.runs import PLANS, RECIPE, find_runs
from tongues.steps.demo import step_of_demo
from tongues.steps.models import step_of_experts
from tongues.steps.runs import step_of_runs, step_of_unfinished, step_to_report
from tongues.steps.step import (
    URGENT,
    Evaluated,
    Step,
    free_place,
    is_run,
    last_trained,
    newest_evaluations,
    quoted,
    runs_of,
)
from tongues.study import plan_study
from tongues.text import check_text
from tongues.tokens import check_tokens
from tongues.train.base import PLACEHOLDER_BASE
from tongues.train.plan import run_of_recipe
from tongues.train.record import OTHER_SETTINGS, check_settings

__all__ = ["step_of_recipe", "steps_in"]

_MEANT = re.compile(r"^(extends|text|tokens|train):", re.MULTILINE)  # the file is to be a recipe
_INVALID = len(URGENT) + 1  # recipes with a mistake come last: nothing else waits for them


def steps_in(workspace: Path) -> list[Step]:
    """The next step of every recipe, run and study in a folder, the most urgent one first."""
    steps, seen, evaluated = list[Step](), set[Path](), newest_evaluations(workspace)
    for path in sorted(x for x in workspace.glob("*.y*ml") if x.is_file()):
        since = path.stat().st_mtime
        try:
            recipe = load_text_recipe(path)
            step = step_of_recipe(recipe, [path], workspace, evaluated)
        except UserError as error:
            content = path.read_text(encoding="utf-8", errors="replace")
            if not content.strip():
                invalid = Step("tongues new", "it is empty; this writes a recipe to a new file")
            elif _MEANT.search(content):
                is_text = error.what.startswith("is ")  # such as `is not YAML`
                reason = f"it {error.what}" if is_text else f"not a valid recipe: {error.what}"
                invalid = Step(f"tongues check {quoted(path)}", reason)
            else:
                continue  # a YAML file of something else
            steps.append(replace(invalid, place=str(path), urgency=_INVALID, since=since))
            continue
        folder = runs_of(recipe, workspace) if isinstance(recipe, Recipe) else path
        changed = isinstance(recipe, Recipe) and is_changed(recipe, workspace)
        finished = changed and step_of_unfinished(folder, "", workspace) is None
        page = step_to_report(folder, workspace) if finished else None
        if page or not changed:
            seen.add(folder)  # otherwise its run, of other settings, has a step of its own
        since = max(since, last_trained(folder))
        steps.append(replace(page or step, place=str(path), since=since))
    demo = step_of_demo(workspace)
    steps += filter(None, [demo])
    for folder in sorted((workspace / "runs").glob("*/")):
        if folder not in seen and (is_run(folder) or (folder / PLANS).is_file()):
            own = folder / RECIPE
            train = f"tongues train {quoted(own)}{in_workspace(workspace)}" if own.is_file() else ""
            begun = step_of_unfinished(folder, demo.command if demo else train, workspace)
            if demo and (begun is None or begun.command == demo.command):
                continue
            step = begun or step_of_runs(folder, workspace, evaluated)
            steps.append(replace(step, place=str(folder), since=last_trained(folder)))
    if not steps:
        reason = "there is no recipe here; it asks for base, language and text, and writes one"
        steps = [Step("tongues new", reason, str(workspace))]
    return sorted(steps, key=lambda step: (step.urgency, -step.since))


def step_of_recipe(
    recipe: TextRecipe,
    words: Sequence[Path | str],
    workspace: Path,
    evaluated: "Evaluated | None" = None,
) -> Step:
    """The next step of a recipe; words: its file and overrides, as a command has them.

    evaluated: as in `step_of_runs`.
    """
    named = shlex.join(map(str, words)) + in_workspace(workspace)
    if isinstance(recipe, Recipe) and recipe.train.base_model == PLACEHOLDER_BASE:
        return Step(f"tongues check {named}", "the base that it continues from is to be named")
    try:
        check_tokens(recipe, workspace)
    except UserError as error:
        try:
            check_text(recipe.text)
        except UserError as missing:
            verb = "check" if isinstance(recipe, Recipe) else "prepare"  # which names the line
            return Step(f"tongues {verb} {named}", f"{missing.where}: {missing.what}")
        there = (workspace / "tokens" / recipe.name / "tokens.json").is_file()
        reason = f"its tokens were {error.what}" if there else "its text is not prepared yet"
        return Step(f"tongues prepare {named}" + " --overwrite" * there, reason)
    if not isinstance(recipe, Recipe):
        corpus = workspace / "corpus" / recipe.corpus
        return Step(
            f"tongues report {quoted(corpus)}", "its text is prepared: the page shows what was kept"
        )
    train, folder = f"tongues {training_verb(recipe)} {named}", runs_of(recipe, workspace)
    if is_changed(recipe, workspace):
        return _under_another_name(recipe, words, folder, workspace)
    begun = Step(train, "its text is prepared, and nothing is trained yet")
    if recipe.pilot:
        real = workspace / "reports" / recipe.name / "real.yaml"
        reason = "the pilot is finished; this is the recipe that it advises"
        if real.is_file():
            return Step(f"tongues check {quoted(real)}{in_workspace(workspace)}", reason)
        return step_of_unfinished(folder, train, workspace) or begun
    if recipe.experts:
        if step := step_of_experts(recipe.name, workspace):
            return step
        made = len([*files_named(workspace / "ensembles" / recipe.name, "ensemble.json")])
        wanted = len(recipe.experts.seeds) * max(1, len(recipe.experts.partitions))
        if made < wanted:
            if made:
                begun = Step(train, f"{made} of {wanted} ensembles are written; it resumes")
            return step_of_unfinished(folder, train, workspace) or begun
        reason = "the ensembles are trained, and not measured"
        return Step(f"tongues experts measure {named}", reason)
    if not find_runs([folder] if folder.is_dir() else []):
        return begun
    step = step_of_unfinished(folder, train, workspace)
    return step or step_of_runs(folder, workspace, evaluated, train)


def _under_another_name(
    recipe: Recipe, words: Sequence[Path | str], taken: Path, workspace: Path
) -> Step:
    """Train a recipe by another name, where the runs of its own have other settings."""
    verb, key = ("prepare", "name") if recipe.study else ("train", "train.run")
    own = [word for word in map(str, words) if not word.startswith(f"{key}=")]
    command = shlex.join(["tongues", verb, *own, f"{key}={free_place(taken).name}"])
    return Step(command + in_workspace(workspace), f"{taken.name} was trained with other settings")


def is_changed(recipe: Recipe, workspace: Path) -> bool:
    """Whether a run of this name was trained with other settings; the record alone is read."""
    if recipe.pilot or recipe.experts:
        return False
    folder = runs_of(recipe, workspace)
    try:
        check_tokens(recipe, workspace)
        if recipe.study:
            for plan in plan_study(recipe, workspace) if folder.is_dir() else ():
                check_settings(plan, workspace)
        elif (folder / RECIPE).is_file() and _differs(folder / RECIPE, recipe):
            check_settings(run_of_recipe(recipe, workspace), workspace)
    except UserError as error:
        return error.code == OTHER_SETTINGS
    return False


def _differs(file: Path, recipe: Recipe) -> bool:
    return show_recipe(load_recipe(file)) != show_recipe(recipe)
