"""What comes next and why, from what is on disk: the one place that decides, for every verb."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tongues.errors import UserError
from tongues.files import changed_at, files_named, read_json
from tongues.laws import read_laws_file
from tongues.laws.next_step import MORE_RUNS, plan_command
from tongues.models import SHAPES
from tongues.pages import CARD
from tongues.recipe import Recipe, TextRecipe, load_recipe, load_text_recipe, show_recipe
from tongues.runs import PLANS, RECIPE, Run, find_runs, read_run
from tongues.states import RunState, states
from tongues.study import plan_study
from tongues.text import check_text
from tongues.tokens import check_tokens
from tongues.train.base import PLACEHOLDER_BASE
from tongues.train.card import find_tokens
from tongues.train.plan import run_of_recipe
from tongues.train.record import OTHER_SETTINGS, check_settings

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation

__all__ = ["Step", "last_trained", "step_of_evaluation", "step_of_recipe", "step_of_runs"]
__all__ += ["steps_in", "training_verb"]

_MEANT = re.compile(r"^(extends|text|tokens|train):", re.MULTILINE)  # the file is to be a recipe
_Evaluated: TypeAlias = "Mapping[tuple[str, str], Evaluation]"  # by run and fingerprint
_URGENT = ("damaged", "failed", "stopped", "waiting", "running")  # states, and what comes first
_INVALID = len(_URGENT) + 1  # recipes with a mistake come last: nothing else waits for them
_SIZES = 4  # of a study, from which the exponent of its law is more than a guess


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and why it is the next one.

    place: the recipe, run or study that it is for. urgency: 0 comes first. since: seconds since
    the epoch, when the place was last changed.
    """

    command: str
    reason: str
    place: str = ""
    urgency: int = len(_URGENT)
    since: float = 0.0


def training_verb(recipe: Recipe) -> str:
    """What trains a recipe whose text is prepared."""
    if recipe.pilot:
        return "study --pilot"
    return "study" if recipe.study else "experts train" if recipe.experts else "train"


def steps_in(workspace: Path) -> list[Step]:
    """The next step of every recipe, run and study in a folder, the most urgent one first."""
    steps, seen, evaluated = list[Step](), set[Path](), _evaluated(workspace)
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
                invalid = Step(f"tongues check {_q(path)}", reason)
            else:
                continue  # a YAML file of something else
            steps.append(replace(invalid, place=str(path), urgency=_INVALID, since=since))
            continue
        folder = _runs_of(recipe, workspace) if isinstance(recipe, Recipe) else path
        if not (isinstance(recipe, Recipe) and _changed(recipe, workspace)):
            seen.add(folder)  # otherwise its run, of other settings, has a step of its own
        since = max(since, last_trained(folder))
        steps.append(replace(step, place=str(path), since=since))
    for folder in sorted((workspace / "runs").glob("*/")):
        if folder not in seen and (_is_run(folder) or (folder / PLANS).is_file()):
            own = folder / RECIPE
            train = f"tongues train {_q(own)}{_where(workspace)}" if own.is_file() else ""
            begun = _unfinished(folder, train, workspace)
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
    evaluated: "_Evaluated | None" = None,
) -> Step:
    """The next step of a recipe; words: its file and overrides, as a command has them.

    evaluated: as in `step_of_runs`.
    """
    named = shlex.join(map(str, words)) + _where(workspace)
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
            f"tongues report {_q(corpus)}", "its text is prepared: the page shows what was kept"
        )
    train, folder = f"tongues {training_verb(recipe)} {named}", _runs_of(recipe, workspace)
    if _changed(recipe, workspace):
        return _under_another_name(recipe, words, folder, workspace)
    begun = Step(train, "its text is prepared, and nothing is trained yet")
    if recipe.pilot:
        real = workspace / "reports" / recipe.name / "real.yaml"
        reason = "the pilot is finished; this is the recipe that it advises"
        if real.is_file():
            return Step(f"tongues check {_q(real)}{_where(workspace)}", reason)
        return _unfinished(folder, train, workspace) or begun
    if recipe.experts:
        if next(files_named(workspace / "ensembles" / recipe.name, "ensemble.json"), None) is None:
            return _unfinished(folder, train, workspace) or begun
        reason = "the ensembles are trained, and not measured"
        measure = Step(f"tongues experts measure {named}", reason)
        return _use_experts(recipe.name, workspace) or measure
    if not find_runs([folder] if folder.is_dir() else []):
        return begun
    step = _unfinished(folder, train, workspace)
    return step or step_of_runs(folder, workspace, evaluated, train)


def step_of_runs(
    folder: Path,
    workspace: Path,
    evaluated: "_Evaluated | None" = None,
    train: str = "",
) -> Step:
    """The next step of a finished run, or of a study's folder.

    evaluated: the newest evaluation of every run; None: they are read. train: the command that made
    the runs.
    """
    run = read_run(folder) if _is_run(folder) else None
    if run:
        evaluated = _evaluated(workspace) if evaluated is None else evaluated
        if evaluation := evaluated.get((run.run, run.fingerprint)):
            return _step_of_evaluated(run, folder, evaluation, workspace)
    pages = (root / "reports" / folder.name / "index.html" for root in (workspace, Path()))
    if not any(page.is_file() and page.stat().st_mtime >= last_trained(folder) for page in pages):
        return Step(f"tongues report {_q(folder)}", "it is trained, and its page is not written")
    if run is None:
        return _step_of_study(folder, workspace, train)
    tokens = find_tokens(run, workspace)
    if tokens is None:
        why = "cannot be evaluated on its own text, which is not here"
        return _use(run.run, why, folder / "model" / CARD, workspace)
    names = f"{run.run} and its base are" if run.base else f"{run.run} is"
    text = _q(tokens.name)
    command = f"tongues evaluate {_q(run.run)} --text {text} --compare{_where(workspace)}"
    return Step(command, f"{names} not evaluated")


def step_of_evaluation(evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with the model to take by an evaluation; with the first where none is chosen."""
    from tongues.evaluate.choice import chosen_models
    from tongues.experts.ensemble.places import resolve_model

    name = next(iter([*chosen_models(evaluation), *(model.name for model in evaluation.models)]))
    kind, folder, plain, _ = resolve_model(name, workspace)
    if kind == "run":
        return _step_of_evaluated(read_run(folder), folder, evaluation, workspace)
    if kind == "ensemble" and name in chosen_models(evaluation):
        return _use(plain, "is evaluated", folder / "ensemble.json", workspace)
    return Step(f"tongues generate {_q(name)}{_where(workspace)}", f"{name} is evaluated: try it")


def _step_of_evaluated(run: Run, folder: Path, evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with a run that was evaluated; it is exported where it is a model to take."""
    from tongues.evaluate.choice import chosen_models

    chosen = chosen_models(evaluation)
    name = next(m.name for m in evaluation.models if m.trained and m.trained.run == run.run)
    if name in chosen:
        return _use(run.run, "is evaluated", folder / "model" / CARD, workspace)
    why = f"`{chosen[0]}` is better" if chosen else "no model is better on all that counts"
    command = f"tongues generate {_q(run.run)}{_where(workspace)}"
    return Step(command, f"{run.run} is evaluated, and {why}: try it before it is used")


def _q(name: Path | str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(str(name))


def _use_experts(name: str, workspace: Path) -> Step | None:
    """What to do with the best ensemble of a recipe; None where they are not measured."""
    from tongues.evaluate.evaluation import read_evaluation
    from tongues.evaluate.settings import MeasuredExperts

    measured = workspace / "evaluations" / f"{name}-experts"
    if not (measured / "scores.json").is_file():
        return None
    try:
        choice = MeasuredExperts.of(read_evaluation(measured)).choice
    except UserError:  # of another version
        return None
    there = sorted((workspace / "ensembles" / name).glob(f"{choice}-s*")) if choice else []
    if not there:
        reason = "the ensembles are measured, and none of the best partition is here"
        return Step(f"tongues ls {_q(workspace / 'ensembles' / name)}", reason)
    why = "is the best by its page" if choice != "dense" else "is better than experts by their page"
    return _use(f"{name}/{there[0].name}", why, there[0] / "ensemble.json", workspace)


def _use(name: str, why: str, record: Path, workspace: Path) -> Step:
    """What to do with a run or an ensemble that is evaluated: its export is itself, not a mean.

    record: a file that was written with it; exports that are older are of earlier weights.
    """
    heading = re.compile(rf"^# {re.escape(name)}$", re.MULTILINE)
    for card in sorted([*workspace.glob(f"*/{CARD}"), *workspace.glob(f"*/*/{CARD}")]):
        if changed_at(card) < changed_at(record):
            continue
        text = card.read_text(encoding="utf-8", errors="replace")
        model = any((card.parent / file).is_file() for file in ("config.json", "ensemble.json"))
        if model and heading.search(text):
            reason = f"{name} {why}; its export is here: try it"
            return Step(f"tongues generate {_q(card.parent)}", reason)
    reason = f"{name} {why}; this writes it as a folder to use elsewhere, with a card"
    out = _free(workspace / "exports" / name.replace("/", "-"))
    return Step(f"tongues export {_q(name)} -o {_q(out)}{_where(workspace)}", reason)


def _free(place: Path) -> Path:
    """A place, or the first of its name and a number, where there is nothing."""
    end = place.suffix if place.suffix == ".json" else ""  # a run's name may have dots
    stem = place.name.removesuffix(end)
    others = (place.with_name(f"{stem}-{count}{end}") for count in itertools.count(2))
    return next(each for each in itertools.chain([place], others) if not each.exists())


def _under_another_name(
    recipe: Recipe, words: Sequence[Path | str], taken: Path, workspace: Path
) -> Step:
    """Train a recipe by another name, where the runs of its own have other settings."""
    verb, key = ("prepare", "name") if recipe.study else ("train", "train.run")
    own = [word for word in map(str, words) if not word.startswith(f"{key}=")]
    command = shlex.join(["tongues", verb, *own, f"{key}={_free(taken).name}"])
    return Step(command + _where(workspace), f"{taken.name} was trained with other settings")


def _differs(file: Path, recipe: Recipe) -> bool:
    return show_recipe(load_recipe(file)) != show_recipe(recipe)


def _changed(recipe: Recipe, workspace: Path) -> bool:
    """Whether a run of this name was trained with other settings; the record alone is read."""
    if recipe.pilot or recipe.experts:
        return False
    folder = _runs_of(recipe, workspace)
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


def _step_of_study(folder: Path, workspace: Path, train: str) -> Step:
    runs = [read_run(place) for place in find_runs([folder])]
    train = train or _study_verb(folder.name, workspace)
    more = f"{train} {_more_shapes({run.shape for run in runs})}"
    for path in sorted(workspace.glob("*.json")):
        try:
            content = read_json(path)
        except (OSError, ValueError):  # a file of something else
            continue
        fitted = content.get("tables", []) if isinstance(content, dict) else []
        if folder.resolve() in {Path(place).resolve() for place in fitted}:
            try:
                plan = plan_command(read_laws_file(path), path)
            except UserError:  # of another version
                continue
            if plan:
                reason = "there is a law of its runs: plan by it, for the compute that you have"
                return Step(plan, reason)
            reason = "its runs do not pin its law down: train more shapes, or more budgets "
            return Step(more, f"{reason}(`study.budgets`), and fit again")
    if len({run.params["total"] for run in runs}) == 1 and "scratch" in {r.strategy for r in runs}:
        return Step(more, "its runs are of one size, and laws need several: this trains more")
    others = (x for x in folder.parent.glob("*/") if x != folder and not _is_run(x))
    law = workspace / "law.json"
    if law.exists() or any(find_runs([other]) for other in others):
        law = _free(workspace / f"law-{folder.name}.json")
    return Step(f"tongues fit {_q(folder)} -o {_q(law)}", "its runs are finished; no law is fitted")


def _study_verb(name: str, workspace: Path) -> str:
    """What trains the study of a name, by its recipe where that is here."""
    for path in sorted(workspace.glob("*.y*ml")):
        with suppress(UserError):
            recipe = load_text_recipe(path)
            if isinstance(recipe, Recipe) and recipe.study and recipe.name == name:
                return f"tongues study {_q(path)}{_where(workspace)}"
    return f"tongues study RECIPE{_where(workspace)}"


def _more_shapes(shapes: Collection[str]) -> str:
    """An override of a study with its shapes and some that are larger."""
    names = list(SHAPES)
    known = [name for name in names if name in shapes]
    if len(known) < len(shapes) or known[-1] == names[-1]:
        return MORE_RUNS
    larger = names[names.index(known[-1]) + 1 :][: max(_SIZES - len(known), 2)]
    return _q(f"study.shapes=[{', '.join([*known, *larger])}]")


def _unfinished(folder: Path, train: str, workspace: Path) -> Step | None:
    """What to do about runs that are not finished; train: the command that makes them."""
    try:
        found = [state for state in states([folder]) if state.state in _URGENT]
    except UserError:  # there are none
        return None
    if not found:
        return None
    first = min(found, key=lambda state: _URGENT.index(state.state))
    urgency, counts = _URGENT.index(first.state), Counter(state.state for state in found)
    if first.state == "running":
        reason = f"{counts['running']} running, {counts['waiting']} waiting"
        return Step(f"tongues ls {_q(folder)}", reason, urgency=urgency)
    if first.state == "damaged":
        return Step(f"tongues ls {_q(folder)}", f"{first.run}: {first.reason}", urgency=urgency)
    reason = _why(first, counts)
    if not train:
        command, reason = f"tongues ls {_q(folder)}", f"{reason}; its recipe is not here"
    else:
        command = train
    return Step(command, reason, urgency=urgency)


def _why(first: RunState, counts: Counter[str]) -> str:
    more = f" ({counts[first.state]} such runs)" if counts[first.state] > 1 else ""
    if first.state == "failed":
        why = first.reason.strip().rpartition("\n")[2].strip()
        return f"{first.run} failed{more}: {why or 'without a reason'}"
    if first.state == "stopped":
        at = f" at step {first.step} of {first.steps}" if first.steps else ""
        return f"{first.run} stopped{at}{more}; it resumes"
    return f"{first.run} is not begun{more}"


def _evaluated(workspace: Path) -> _Evaluated:
    """The newest evaluation of every run, as far as these can be read."""
    from tongues.evaluate.kept import kept_evaluations

    found: dict[tuple[str, str], Evaluation] = {}
    for _, evaluation in kept_evaluations(workspace):
        for trained in filter(None, (model.trained for model in evaluation.models)):
            found.setdefault((trained.run, trained.fingerprint), evaluation)
    return found


def _runs_of(recipe: Recipe, workspace: Path) -> Path:
    several = recipe.study or recipe.pilot or recipe.experts
    return workspace / "runs" / (recipe.name if several else recipe.train.run or recipe.name)


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def last_trained(folder: Path) -> float:
    """When its newest run ended, or began."""
    runs = find_runs([folder]) if folder.is_dir() else []
    return max((changed_at(run / "run.json") for run in runs), default=0.0)


def _where(workspace: Path) -> str:
    return "" if workspace == Path() else f" --workspace {shlex.quote(str(workspace))}"
