"""The verbs of recipes and their runs: check, prepare, train, study, import."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.terminal import echo
from tongues.verbs.hints import hint_recipe, hint_runs
from tongues.verbs.options import AS_JSON, COUNT, FOLDER
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import (
    Launched,
    OfRecipe,
    Overwriting,
    Quietly,
    Shared,
    Together,
    in_workspace,
)

if TYPE_CHECKING:
    from tongues.plan.check import Checked


@settings
class Check(OfRecipe, Verb["Checked"]):
    """Print the resolved RECIPE and what it takes, before anything runs.

    Finds every mistake. Returns the runs with their sizes, tokens and FLOPs, and the memory and
    disk they need in bytes.
    """

    work = "recipes:check"
    _: KW_ONLY
    gpu: str | None = option(metavar="NAME", default=None)
    gpus: int | None = option(COUNT, default=None)


@command(Check, AS_JSON)
def _check(asked: Check, *, as_json: bool) -> None:
    from tongues.core.terminal import print_json, print_table, say
    from tongues.recipe import load_recipe, show_recipe
    from tongues.train.words import describe_mixture, mixture_rows

    loaded = load_recipe(asked.recipe, asked.overrides)  # once: it may be piped in
    checked = replace(asked, recipe=loaded, overrides=()).run()
    if as_json:
        print_json({"recipe": checked.work.recipe.model_dump(mode="json")} | checked.to_json())
        return
    echo(show_recipe(checked.work.recipe))
    if checked.work.defaults:
        echo("left out in the recipe, and taken by the rules for the base:")
        print_table(
            [
                {"train": one.key, "value": str(one.value), "rule": one.rule}
                for one in checked.work.defaults
            ]
        )
        echo()
    print_table(checked.rows())
    notes = {plan.shape.name: plan.shape.note for plan, _ in checked.runs if plan.shape}
    for name, note in notes.items():
        if note:
            echo(f"shape {name}: {note}")
    if any(plan.settings.budget.seconds is not None for plan, _ in checked.runs):
        echo("of a budget in time the tokens are a guess; the run measures its own speed")
    for plan, _ in checked.runs:
        if plan.mixture:
            echo("\n" + "\n".join(describe_mixture(plan.mixture)))
            print_table(mixture_rows(plan.mixture))
    for model in checked.hub:
        echo(f"\n{model.sentence}")
    echo()
    for what, sentence in checked.sentences().items():
        echo(f"{what}, about: {sentence}")
    for caution in checked.cautions:
        say(f"caution: {caution}")
    hint_recipe(loaded, asked, sound=True)


@settings
class Prepare(OfRecipe, Overwriting, Shared, Launched, Quietly, Verb[Path]):
    """Turn the text of RECIPE into token shards. Safe to interrupt; run it again to resume.

    A recipe of `name`, `text` and `tokens` is enough. Returns their folder, `tokens/NAME`.
    """

    work = "recipes:prepare"


@command(Prepare, AS_JSON)
def _prepare(asked: Prepare, *, as_json: bool) -> None:
    from tongues.core.terminal import print_paths
    from tongues.recipe import load_text_recipe

    loaded = load_text_recipe(asked.recipe, asked.overrides)
    made = replace(asked, recipe=loaded, overrides=()).run()
    print_paths([made], as_json=as_json)
    hint_recipe(loaded, asked)


@settings
class Train(OfRecipe, Overwriting, Together, Quietly, Verb[Path]):
    """Train the one run of RECIPE. Safe to interrupt; run it again to resume.

    The text must be prepared. Returns the run's directory, `runs/NAME`.
    """

    work = "recipes:train"


@settings
class Study(OfRecipe, Overwriting, Launched, Together, Quietly, Verb[Path]):
    """Train all runs of RECIPE. Safe to interrupt; run it again to resume.

    The first line says what they take. The text must be prepared. Returns their folder,
    `runs/NAME`. Of a recipe with a `pilot` they are its small runs, by which its large run is
    forecast, in `forecast.json` of that folder.
    """

    work = "recipes:study"


@settings
class ImportRun(Quietly, Verb[Path]):
    """Bring a run of another trainer into the store, by its log.

    Then `ls`, `report`, `fit` and `evaluate` read it as one of ours. Of a run that was handed over
    all is known. Of another, roles are declared: languages of the mixture that the base does not
    know are learned, the others replayed. Returns the run's directory.
    """

    work = "imports:import_run"
    folder: Path | str = argument(FOLDER)
    _: KW_ONLY
    mixture: Mapping[str, object] | Sequence[str] = option(
        metavar="LANG=SHARE", many=True, default=()
    )
    held_out: Path | str | None = option(FOLDER, default=None)
    name: str | None = option(metavar="NAME", default=None)
    base: str | None = option(metavar="MODEL", default=None)
    base_languages: Sequence[str] = option(
        names=("--base-language",), metavar="LANG", many=True, default=()
    )
    text_of: Mapping[str, object] | Sequence[str] = option(
        metavar="TEXT=LANG", many=True, default=()
    )
    batch: str | None = option(metavar="AMOUNT", default=None)
    context: str | None = option(metavar="AMOUNT", default=None)
    model: Path | str | None = option(FOLDER, default=None)
    seed: int = option(int, default=1)
    workspace: Path | str = in_workspace()


def _print_runs(asked: Train | Study | ImportRun, *, as_json: bool) -> None:
    """Print the directory that was made, and what comes next."""
    from tongues.core.terminal import print_paths

    directory = asked.run()
    print_paths([directory], as_json=as_json)
    hint_runs(directory, Path(asked.workspace))


for verb, name in ((Train, "train"), (Study, "study"), (ImportRun, "import")):
    command(verb, AS_JSON, name=name)(_print_runs)


check = function(Check)
prepare = function(Prepare)
train = function(Train)
study = function(Study)
import_run = function(ImportRun)
