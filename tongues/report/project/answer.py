"""What the page of a project's folder says first: the outcome, what is next, the cost, the rest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tongues.errors import UserError
from tongues.evaluate.evaluation import Evaluation
from tongues.files import changed_at, read_json, read_lines
from tongues.pages import CARD
from tongues.pages import blocks as b
from tongues.quantities import counted, show_bytes, show_count
from tongues.report.evaluation.answer import answer
from tongues.report.project.plans import compare_forecast, find_plans, model_of
from tongues.runs import Run, find_runs, read_run
from tongues.states import states, study_lines
from tongues.steps import Step, is_run, last_trained
from tongues.tokens.store import read_manifest
from tongues.train.cost import RunCost, run_cost, training_time
from tongues.train.metadata import base_label

__all__ = ["costs_of", "find_exports", "finished_runs", "project_answer"]

_NEXT = 4  # steps that are named
_FEW = 3  # runs that are named one by one, at most
_CHOSEN = ("Choice", "Target languages", "Base languages", "Languages")  # topics of an evaluation
_SENTENCES = 2  # of each


def project_answer(
    workspace: Path,
    runs: Sequence[Run],
    evaluations: Mapping[str, Evaluation],
    steps: Sequence[Step],
) -> dict[str, list[str]]:
    """Sentences by topic; runs: the finished ones that are of no study."""
    return {
        "Outcome": list(_outcome(workspace, runs, evaluations)),
        "Next": [f"**{step.command}**: {step.reason}." for step in steps[:_NEXT]],
        "Cost": [*_cost(runs), *_cost_of_studies(workspace)],
        "On disk": [*_texts(workspace), *_trained(workspace)],
    }


def finished_runs(workspace: Path) -> list[Run]:
    """All finished runs of a workspace, those of studies too, the newest first."""
    runs: list[tuple[float, Run]] = []
    for place in find_runs([workspace / "runs"] if (workspace / "runs").is_dir() else []):
        with suppress(UserError):
            run = read_run(place)
            if run.status == "finished":
                runs.append((-changed_at(place / "run.json"), run))
    return [run for _, run in sorted(runs, key=lambda pair: pair[0])]


def costs_of(runs: Sequence[Run]) -> list[tuple[Run, RunCost]]:
    """Runs whose time is recorded, and what they took."""
    return [(run, cost) for run in runs if (cost := run_cost(run))]


def find_exports(workspace: Path) -> Iterator[dict[str, b.Entry]]:
    """Folders that `tongues export` wrote, by their cards."""
    places = [*workspace.glob("*/config.json"), *workspace.glob("*/*/config.json")]
    for folder in sorted({place.parent for place in places}):
        card = folder / CARD
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        if "- tongues\n" not in text or folder.name == "model":
            continue
        licence = next((x for x in text.splitlines() if x.startswith("license: ")), "")
        title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), "")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        yield {
            "folder": str(folder.relative_to(workspace)),
            "model": title,
            "licence": licence.partition(": ")[2].strip('"'),
            "size": b.Cell(show_bytes(size), size),
        }


def _outcome(
    workspace: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]
) -> Iterator[str]:
    for name, evaluation in list(evaluations.items())[:2]:
        topics, head = answer(evaluation), f"`{name}`: " if len(evaluations) > 1 else ""
        for topic in _CHOSEN:
            yield from (f"{head}{line}" for line in topics.get(topic, [])[:_SENTENCES])
    yield from filter(None, (compare_forecast(x, runs, evaluations) for x in find_plans(workspace)))
    for path in sorted(workspace.glob("reports/*/report.json")):  # of studies and pilots
        name = path.parent.name
        folder = workspace / "runs" / name
        if is_run(folder) or (evaluations and not folder.is_dir()):
            continue  # of single runs, of which evaluations say more, and the lines below
        if changed_at(path) < last_trained(workspace / "runs" / name):
            yield f"`{name}`: its page is older than its runs."
            continue
        with suppress(OSError, ValueError, AttributeError, TypeError):
            advice = read_json(path).get("advice", [])
            yield from (f"`{name}`: {line}" for line in advice[:_SENTENCES])
    unseen = [run for run in runs if not any(model_of(run, of) for of in evaluations.values())]
    for run in unseen[:_FEW]:
        yield from _in_training(workspace / "runs" / run.run, run)
    if more := unseen[_FEW:]:
        those = (
            "1 more finished run is" if len(more) == 1 else f"{len(more)} more finished runs are"
        )
        yield f"{those} not evaluated; losses are below."


def _in_training(directory: Path, run: Run) -> Iterator[str]:
    """Bits per byte before and after, on the held-out sample; no interval is known.

    With new tokens only after: before the first step these are untrained.
    """
    by_lang: dict[str, list[float]] = {}
    for row in read_lines(directory / "evals.jsonl"):
        by_lang.setdefault(row["lang"], []).append(row["bits_per_byte"])
    known = not run.vocabulary_extension
    changes = [
        f"`{lang}` {of[0]:.2f} to {of[-1]:.2f}" if known else f"`{lang}` {of[-1]:.2f} at the end"
        for lang, of in by_lang.items()
    ]
    yield f"`{run.run}`, in training: {', '.join(changes)} bits per byte; it is not evaluated."


def _cost(runs: Sequence[Run]) -> Iterator[str]:
    """Of each run, or in all where there are many."""
    each = costs_of(runs)
    if len(each) <= _FEW:
        yield from (f"`{run.run}`: {cost.sentence}" for run, cost in each)
        return
    yield f"{counted(len(each), 'run')} in all: {_sum_of_costs([cost for _, cost in each])}."


def _cost_of_studies(workspace: Path) -> Iterator[str]:
    studies: dict[str, list[RunCost]] = {}
    for run, cost in costs_of(finished_runs(workspace)):
        if study := run.run.rpartition("/")[0]:
            studies.setdefault(study, []).append(cost)
    for study, costs in studies.items():
        yield f"Study `{study}`, {counted(len(costs), 'run')}: {_sum_of_costs(costs)}."


def _sum_of_costs(costs: Sequence[RunCost]) -> str:
    hours, energy, money = (
        sum(filter(None, (getattr(cost, part) for cost in costs)))
        for part in ("hours", "energy", "money")
    )
    parts = [training_time(hours)]
    parts += [f"about {energy:.2g} kWh"] * bool(energy) + [f"about US$ {money:.2f}"] * bool(money)
    bases = dict.fromkeys(cost.basis for cost in costs)
    basis = next(iter(bases)) if len(bases) == 1 else "each on its own machine"
    return f"{', '.join(parts)} ({basis})"


def _texts(workspace: Path) -> Iterator[str]:
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        with suppress(UserError):
            manifest = read_manifest(place.parent)
            sizes = ", ".join(
                f"{show_bytes(of['train']['bytes'])} of `{lang}` "
                f"({show_count(of['train']['tokens'])} tokens, {of['valid']['documents']:,} "
                "documents held out)"
                for lang, of in manifest["languages"].items()
            )
            base = manifest["inputs"]["tokens"]["base"]
            origin = f"of `{base_label(base, workspace)}`" if base else "trained on it"
            words = f"tokenizer of {manifest['vocabulary_size']:,} tokens, {origin}"
            yield f"Text `{place.parent.name}`: {sizes}; {words}."


def _trained(workspace: Path) -> Iterator[str]:
    with suppress(UserError):
        each = states([workspace / "runs"])
        alone = [state for state in each if "/" not in state.run]
        if len(alone) > _FEW:
            count = Counter(state.state for state in alone)
            yield f"Runs: {', '.join(f'{of} {state}' for state, of in count.items())}."
            alone = []
        for state in alone:
            size = f", {show_count(state.parameters)} parameters" if state.parameters else ""
            read = f" on {show_count(state.tokens)} tokens" if state.tokens else ""
            yield f"Run `{state.run}`: {state.state}{size}{read}."
        yield from (f"Study {line}." for line in study_lines(each))
    for row in find_exports(workspace):
        yield f"Export `{row['folder']}` of `{row['model']}`."
