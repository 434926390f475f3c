"""What the page of a project's folder says first: the outcome, what is next, the cost."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.files import changed_at, read_json
from tongues.core.quantities import counted
from tongues.evaluate.evaluation import Evaluation
from tongues.plan.steps import Step, is_run, last_trained
from tongues.report.evaluation.words import answer
from tongues.report.project.plans import compare_forecast, find_plans, model_of
from tongues.runs.record import Run, find_runs, read_run
from tongues.train.cost import RunCost, run_cost, training_time

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
    """Sentences by topic; runs: the finished ones, those of studies too."""
    return {
        "Outcome": [
            *_evaluated(evaluations),
            *filter(None, (compare_forecast(x, runs, evaluations) for x in find_plans(workspace))),
            *_advised(workspace, bool(evaluations)),
            *_not_evaluated([run for run in runs if "/" not in run.run], evaluations),
        ],
        "Next": [f"**{step.command}**: {step.reason}." for step in steps[:_NEXT]],
        "Cost": list(_cost(runs)),
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


def _evaluated(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """What the two newest evaluations say."""
    for name, evaluation in list(evaluations.items())[:2]:
        topics, head = answer(evaluation), f"`{name}`: " if len(evaluations) > 1 else ""
        for topic in _CHOSEN:
            yield from (f"{head}{line}" for line in topics.get(topic, [])[:_SENTENCES])


def _advised(workspace: Path, evaluated: bool) -> Iterator[str]:
    """What the pages of studies advise."""
    for path in sorted(workspace.glob("reports/*/report.json")):
        name = path.parent.name
        folder = workspace / "runs" / name
        if is_run(folder) or (evaluated and not folder.is_dir()):
            continue  # of single runs, of which evaluations say more
        if changed_at(path) < last_trained(folder):
            yield f"`{name}`: its page is older than its runs."
            continue
        with suppress(OSError, ValueError, AttributeError, TypeError):
            yield from (f"`{name}`: {x}" for x in read_json(path).get("advice", [])[:_SENTENCES])


def _not_evaluated(runs: Sequence[Run], evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    unseen = [run for run in runs if not any(model_of(run, of) for of in evaluations.values())]
    if unseen:
        names = f"`{unseen[0].run}`" if len(unseen) == 1 else counted(len(unseen), "run")
        yield f"Not evaluated: {names}; losses are below."


def _cost(runs: Sequence[Run]) -> Iterator[str]:
    """Of each run, or in all where there are many."""
    each = costs_of(runs)
    if len(each) <= _FEW:
        yield from (f"`{run.run}`: {cost.sentence}" for run, cost in each)
        return
    costs = [cost for _, cost in each]
    hours, energy, money = (
        sum(filter(None, (getattr(cost, part) for cost in costs)))
        for part in ("hours", "energy", "money")
    )
    parts = [training_time(hours)]
    parts += [f"about {energy:.2g} kWh"] * bool(energy) + [f"about US$ {money:.2f}"] * bool(money)
    bases = dict.fromkeys(cost.basis for cost in costs)
    basis = next(iter(bases)) if len(bases) == 1 else "each on its own machine"
    yield f"{counted(len(each), 'run')} in all: {', '.join(parts)} ({basis})."
