"""What the page of a project's folder says: the outcome, what it took, and plans."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import changed_at, read_json
from tongues.core.pages import blocks as b
from tongues.core.pages import fixed, number
from tongues.core.quantities import counted, show_seconds
from tongues.evaluate.evaluation import Evaluation
from tongues.plan.steps import is_run, last_trained
from tongues.recipe import load_text_recipe
from tongues.report.evaluation.opening import opening_tiles
from tongues.report.evaluation.words import answer
from tongues.runs.record import Run, find_runs, read_run
from tongues.train.card import find_tokens
from tongues.train.cost import RunCost, run_cost

_SCORES = 2  # of the newest evaluation, next to what training took
_SENTENCES = 2  # of each


def project_answer(
    workspace: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]
) -> list[str]:
    """What came of it, in sentences; runs: the finished ones, those of studies too."""
    return [
        *_evaluated(evaluations),
        *filter(None, (compare_forecast(x, runs, evaluations) for x in find_plans(workspace))),
        *_advised(workspace, bool(evaluations)),
        *_not_evaluated([run for run in runs if "/" not in run.run], evaluations),
    ]


def project_tiles(runs: Sequence[Run], evaluations: Mapping[str, Evaluation]) -> list[b.Tile]:
    """What the newest evaluation says, and what all runs took."""
    tiles = list[b.Tile]()
    for name, newest in list(evaluations.items())[:1]:
        head = f"{name}: " if len(evaluations) > 1 else ""
        scored = opening_tiles(newest)[:_SCORES]
        tiles += [replace(tile, label=head + tile.label) for tile in scored]
    costs = [cost for _, cost in costs_of(runs)]
    if costs:
        hours, energy, money = (
            sum(filter(None, (getattr(cost, part) for cost in costs)))
            for part in ("hours", "energy", "money")
        )
        more = [f"about {energy:.2g} kWh"] * bool(energy) + [f"US$ {money:.2f}"] * bool(money)
        below = "; ".join([counted(len(costs), "run"), *more])
        tiles.append(b.Tile("Training took", show_seconds(hours * 3600), below))
    return tiles


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
    """What the two newest evaluations advise."""
    for name, evaluation in list(evaluations.items())[:2]:
        head = f"`{name}`: " if len(evaluations) > 1 else ""
        topics = answer(evaluation)
        lines = [*topics.get("Choice", [])[:_SENTENCES], *topics.get("Left out", [])]
        yield from (f"{head}{line}" for line in lines)


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


def find_plans(workspace: Path) -> list[Path]:
    """The plans that `tongues new` wrote there."""
    return sorted(workspace.glob("*.plan.json"))


def compare_forecast(path: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]) -> str:
    """A plan's forecast and the outcome in a sentence; empty where either is missing."""
    forecast, measured = _forecast(path), _measured(path, runs, evaluations)
    if not (forecast and measured):
        return ""
    after, other = measured
    said = f"on `{other}`, another text" if other else _inside(forecast, after)
    return (
        f"Forecast {number(forecast, fixed(2))} bits per byte, measured "
        f"{number(after, fixed(2))}: {said}."
    )


def plan_section(path: Path) -> b.Section:
    """A plan as it was written."""
    try:
        plan = read_json(path)
        lines, day = list(map(str, plan["lines"])), str(plan["date"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return b.Section("", f"Plan {path.name}", [b.Paragraph(f"It cannot be read: {error}.")])
    title = f"Plan of {path.name.removesuffix('.plan.json')}, {day}"
    return b.Section(f"plan-{path.name.partition('.')[0]}", title, [b.Items(lines)])


def model_of(run: Run, evaluation: Evaluation) -> str | None:
    """The name of the model that this run trained, in an evaluation."""
    each = {(x.trained.run, x.trained.fingerprint): x.name for x in evaluation.models if x.trained}
    return each.get((run.run, run.fingerprint))


def _forecast(path: Path) -> Estimate | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        plain = read_json(path)["bits_per_byte"]
        return Estimate.from_json(plain) if plain else None
    return None


def _measured(
    path: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]
) -> tuple[Estimate, str] | None:
    """What the run of a plan's recipe scored in the newest evaluations, and the name of the text.

    Its own held-out text, which has no name here; where it was not scored on that, another.
    """
    try:
        recipe = load_text_recipe(path.with_name(path.name.replace(".plan.json", ".yaml")))
    except UserError:
        return None
    run = next((run for run in runs if run.run == recipe.name), None)
    if run is None:
        return None
    tokens = find_tokens(run, path.parent)
    found: list[tuple[Estimate, str]] = []
    for evaluation in evaluations.values():
        name = model_of(run, evaluation)
        for text, scores in evaluation.texts.items():
            if loss := scores.losses.get(name or "", {}).get(run.targets[0]):
                own = tokens is not None and text == tokens.name
                found.append((loss.bits_per_byte, "" if own else text))
    return min(found, key=lambda each: bool(each[1]), default=None)


def _inside(forecast: Estimate, after: Estimate) -> str:
    if forecast.low is None or forecast.high is None:
        return "there is no interval"
    inside = forecast.low <= after.value <= forecast.high
    return f"{'inside' if inside else 'outside'} the interval"
