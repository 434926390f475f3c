"""Plans of a project's folder: their forecasts, next to what was measured."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import read_json
from tongues.core.pages import blocks as b
from tongues.core.pages import fixed, number
from tongues.evaluate.evaluation import Evaluation
from tongues.recipe import load_text_recipe
from tongues.runs.record import Run
from tongues.train.card import find_tokens


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
