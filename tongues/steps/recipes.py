"""The next step of a recipe, and of a whole folder."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.files import files_named
from tongues.quantities import counted
from tongues.recipe import (
    Recipe,
    TextRecipe,
    in_workspace,
    load_text_recipe,
    training_verb,
)
from tongues.runs import PLANS, RECIPE, find_runs
from tongues.steps.changed import under_own_name
from tongues.steps.demo import DEMO, step_of_demo
from tongues.steps.models import step_of_experts
from tongues.steps.runs import step_of_runs, step_of_unfinished, step_to_report
from tongues.steps.step import (
    LAST,
    Evaluated,
    Step,
    is_run,
    last_trained,
    newest_evaluations,
    quoted,
    runs_of,
)
from tongues.study import plan_study, plan_sweep
from tongues.text import check_text
from tongues.tokens import check_tokens
from tongues.train.base import PLACEHOLDER_BASE

__all__ = ["step_of_recipe", "steps_in"]

_MEANT = re.compile(r"^(extends|text|tokens|train):", re.MULTILINE)  # the file is to be a recipe


def steps_in(workspace: Path) -> list[Step]:
    """The next step of every recipe, run and study in a folder, the most urgent one first."""
    steps, seen, evaluated = list[Step](), set[Path](), newest_evaluations(workspace)
    for path in sorted(x for x in workspace.glob("*.y*ml") if x.is_file()):
        since = path.stat().st_mtime
        try:
            recipe = load_text_recipe(path)
            own, words = under_own_name(recipe, [path], workspace)
            step = _step(own, words, workspace, evaluated, "" if own is recipe else recipe.name)
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
            steps.append(replace(invalid, place=str(path), urgency=LAST, since=since))
            continue
        folder, page = path, None
        if isinstance(recipe, Recipe) and isinstance(own, Recipe):
            folder = runs_of(own, workspace)
            before = runs_of(recipe, workspace)
            if folder != before and step_of_unfinished(before, "", workspace) is None:
                page = step_to_report(before, workspace) if before.is_dir() else None
            if page:
                seen.add(before)  # otherwise its runs, of other settings, have their own step
        seen.add(folder)
        since = max(since, last_trained(folder))
        steps.append(replace(page or step, place=str(path), since=since))
    demo = step_of_demo(workspace)
    steps += filter(None, [demo, step_of_demo(workspace / DEMO)])  # the latter was started here
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
        if inside := next(iter(sorted(workspace.glob("*/runs/"))), None):
            reason += f"; `tongues next {quoted(inside.parent)}` is of the runs there"
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
    own, words = under_own_name(recipe, words, workspace)
    return _step(own, words, workspace, evaluated, "" if own is recipe else recipe.name)


def _step(
    recipe: TextRecipe,
    words: Sequence[str],
    workspace: Path,
    evaluated: "Evaluated | None",
    before: str,
) -> Step:
    """The next step of a recipe under its own name; before: the name of its other settings."""
    named = shlex.join(words) + in_workspace(workspace)
    renamed = f"{before} was trained with other settings" if before else ""
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
        return Step(f"tongues prepare {named}" + " --overwrite" * there, renamed or reason)
    if not isinstance(recipe, Recipe):
        corpus = workspace / "corpus" / recipe.corpus
        return Step(
            f"tongues report {quoted(corpus)}", "its text is prepared: the page shows what was kept"
        )
    train, folder = f"tongues {training_verb(recipe)} {named}", runs_of(recipe, workspace)
    begun = Step(train, renamed or "its text is prepared, and nothing is trained yet")
    if recipe.pilot:
        if (folder / "forecast.json").is_file():
            return Step(f"tongues report {quoted(folder)}", "the pilot is finished")
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
    step = step_of_unfinished(folder, train, workspace) or _added(recipe, train, workspace)
    return step or step_of_runs(folder, workspace, evaluated, train)


def _added(recipe: Recipe, train: str, workspace: Path) -> Step | None:
    """Train the runs of a study that were added to its recipe since it was trained."""
    if recipe.study is None:
        return None
    plans = [*plan_sweep(recipe), *plan_study(recipe, workspace)]
    new = [plan for plan in plans if not (workspace / "runs" / plan.name / "run.json").is_file()]
    if not new:
        return None
    return Step(train, f"{len(new)} of {counted(len(plans), 'run')} are not trained yet")
