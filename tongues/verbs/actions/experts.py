"""Language experts: partitions of the text, an expert for each cluster, and their scores."""

from collections.abc import Sequence
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import file_name
from tongues.core.launch import open_launcher
from tongues.core.magnitudes import counted
from tongues.experts.ensemble.lineage import Lineage, find_ensemble, read_lineage, verify
from tongues.experts.heldout import held_out_cautions
from tongues.experts.partition.methods import make_partition
from tongues.experts.partition.partition import Partition
from tongues.experts.plans import Round, expert_runs, plan_rounds, seed_cautions
from tongues.recipe import Experts, Recipe, RecipeSource, load_recipe
from tongues.text.tokens import check_tokens, open_tokens
from tongues.train.mixture import text_of
from tongues.train.study import measure_cost
from tongues.train.work import open_work
from tongues.verbs.actions.recipes import check_prepared
from tongues.verbs.actions.results import PartitionedText
from tongues.verbs.experts import Measure, PartitionLanguages, PartitionText, Show, Train
from tongues.verbs.shared import Voice, memory_bytes, where_of

_ADD = "add one, such as\n    experts:\n      partitions: [{by: languages}]"


def partition(asked: PartitionText) -> dict[str, PartitionedText]:
    """Make the partitions that a recipe names; by label."""
    recipe, workspace = asked.recipe, Path(asked.workspace)
    loaded = load_recipe(recipe, asked.overrides)
    named = check_experts(recipe, loaded).partitions
    if not named:
        raise UserError("there are no `experts.partitions`", where=where_of(recipe), hint=_ADD)
    loaded = check_prepared(open_work(loaded, workspace)).work.recipe
    from tongues.core.pages import write_page
    from tongues.report.experts.partition import partition_page

    amounts = {lang: tokens for lang, (tokens, _) in text_of(loaded, workspace).items()}
    partitions: dict[str, PartitionedText] = {}
    for settings in named:
        made = make_partition(loaded, settings, workspace)
        folder = workspace / "reports" / f"{loaded.name}-{settings.label}"
        page = write_page(partition_page(made, amounts), folder)
        partitions[settings.label] = PartitionedText(made, amounts, page)
    return partitions


def partition_languages(asked: PartitionLanguages) -> Partition:
    """A partition of languages by typology, without any text."""
    from tongues.experts.partition.distances import by_typology

    languages, k = asked.languages, asked.k
    if not languages:
        raise UserError("name a recipe, or languages by `--languages`", hint="such as ar,bg,de,el")
    if twice := [code for code in languages if languages.count(code) > 1]:
        raise UserError(f"`{twice[0]}` is named twice", where="--languages")
    if k is None:
        raise UserError("how many clusters?", where="-k", hint="such as `-k 4`")
    return by_typology(languages, k)


def train(asked: Train) -> list[Path]:
    """Train the experts of a recipe; returns the ensembles' folders."""
    recipe, workspace = asked.recipe, Path(asked.workspace)
    launcher, processes, overwrite = asked.launcher, asked.processes, asked.overwrite
    loaded = load_recipe(recipe, asked.overrides)
    workers = check_experts(recipe, loaded).workers
    checked = check_prepared(open_work(loaded, workspace), launcher, processes)
    starts = open_launcher(launcher, workers=workers, processes=processes)
    rounds = plan_rounds(checked.work, make=True)
    pairs = expert_runs(rounds, workspace)
    from tongues.experts.train import train_experts  # with torch

    voice = Voice(asked.quiet)
    _say_cautions(rounds, loaded.name, workspace, voice)
    for note in dict.fromkeys(note for made in rounds for note in made.notes):
        voice.say(note)
    at_once = checked.at_once
    cost = measure_cost(pairs, workspace, at_once, launcher, processes, overwrite=overwrite)
    if cost.runs:
        voice.say(str(cost))
    with voice.progress(f"{loaded.name}: {counted(len(pairs), 'expert')}") as show:
        return train_experts(
            loaded,
            workspace,
            rounds,
            launcher=starts,
            watch=lambda state: show(state.share, *state.words()),
            tell=voice.say,
            overwrite=overwrite,
        )


def measure(asked: Measure) -> Path:
    """Evaluate all ensembles of a recipe; returns the page."""
    recipe, workspace = asked.recipe, Path(asked.workspace)
    loaded = load_recipe(recipe, asked.overrides)
    add_to = check_experts(recipe, loaded).add_to
    check_tokens(loaded, workspace)
    held = memory_bytes(asked.max_memory)
    require("vl_convert", "the page")
    from tongues.core.pages import write_page
    from tongues.evaluate.experts import evaluate_experts  # with torch
    from tongues.report.experts.view import experts_page

    name, about, voice = f"{loaded.name}-experts", loaded.name, Voice(asked.quiet)
    if asked.text:
        name, about = f"{name}-{file_name(asked.text)}", f"{about}, on {asked.text}"
    store, place = workspace / "ensembles", workspace / "evaluations" / name
    work = open_work(loaded, workspace)
    rounds = plan_rounds(work, make=True)
    _say_cautions(rounds, loaded.name, workspace, voice)
    folders: dict[str, list[Path]] = {}
    if add_to:
        folders["before"] = list(dict.fromkeys(made.add_to for made in rounds if made.add_to))
    for made in rounds:
        folders.setdefault(made.label, []).append(store / made.name)
    with voice.progress(name) as progress:
        evaluation = evaluate_experts(
            folders,
            loaded.name,
            workspace,
            place,
            scored=asked.eval_tokens,
            context=work.recipe.train.context,
            other=asked.text,
            memory=held,
            device=asked.device,
            dtype=asked.dtype,
            watch=progress,
            say=voice.say,
        )
    evaluation.write(place)
    return write_page(experts_page(evaluation, about), workspace / "reports" / name)


def show(asked: Show) -> Lineage:
    """What an ensemble is made of."""
    workspace = Path(asked.workspace)
    folder = find_ensemble(asked.ensemble, workspace)
    lineage = read_lineage(folder)
    verify(lineage, folder, workspace)
    return lineage


def check_experts(recipe: RecipeSource, loaded: Recipe) -> Experts:
    """The recipe's `experts`; a UserError where there are none."""
    if loaded.experts is None:
        what = "there is no `experts` section"
        raise UserError(what, where=where_of(recipe), hint=_ADD)
    return loaded.experts


def _say_cautions(rounds: Sequence[Round], name: str, workspace: Path, voice: Voice) -> None:
    cautions = seed_cautions(rounds)
    for folder in dict.fromkeys(made.add_to for made in rounds if made.add_to):
        tokens = open_tokens(workspace / "tokens" / name)
        cautions += held_out_cautions(tokens, read_lineage(folder), workspace)
    for caution in dict.fromkeys(cautions):
        voice.say(f"caution: {caution}")
