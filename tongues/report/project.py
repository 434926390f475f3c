"""The page of a project's folder: what there is, what came of it, what to do next.

The same blocks as Markdown, with the recipes and plans next to them, are the project's receipt.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.kept import kept_evaluations
from tongues.files import changed_at, read_json, read_lines, write_text
from tongues.pages import CARD, as_markdown, fixed, number, write_page
from tongues.pages import blocks as b
from tongues.quantities import show_bytes, show_count
from tongues.recipe import load_text_recipe
from tongues.report.curves import curve_figure, task_figure
from tongues.report.evaluation.answer import answer
from tongues.report.evaluation.measures import Measure, how
from tongues.runs import RECIPE, Run, find_runs, read_run
from tongues.states import RunState, states, states_table, study_lines
from tongues.steps import last_trained, steps_in
from tongues.study.forecasts import with_forecasts
from tongues.tokens.store import read_manifest
from tongues.train.card import data_blocks, find_tokens
from tongues.train.cost import run_cost
from tongues.train.metadata import base_label, first_base, licence_of

__all__ = ["run_blocks", "write_project_report"]

_NEXT = 4  # steps that the first screen names
_CHOSEN = ("Choice", "Target languages", "Base languages", "Languages")  # topics of an evaluation
_SENTENCES = 2  # of each


def write_project_report(workspace: Path, out: Path, title: str = "") -> Path:
    """Write the page of a folder and its receipt; returns the page's `index.html`."""
    runs = _finished(workspace)
    evaluations = dict(kept_evaluations(workspace))
    steps = steps_in(workspace)
    topics = {
        "On disk": [*_texts(workspace), *_trained(workspace)],
        "Outcome": list(_outcome(workspace, runs, evaluations)),
        "Cost": [f"`{run.run}`: {cost.sentence}" for run, cost in _costs(runs)],
        "Next": [f"**{step.command}**: {step.reason}." for step in steps[:_NEXT]],
    }
    blocks: list[b.Block] = [*run_blocks(workspace)]
    blocks += [_plan(path, runs, evaluations) for path in _plans(workspace)]
    for name, evaluation in evaluations.items():
        tables = [
            block
            for each in Measure.of(evaluation)
            for block in (b.Heading(each.title), how(each), each.score_table())
        ]
        blocks.append(b.Section(f"evaluation-{name}", f"Evaluation: {name}", tables))
    if shipped := list(_exports(workspace)):
        blocks.append(b.Section("exports", "To ship", [b.Table.of(shipped)]))
    for run in runs:
        inside = [*data_blocks(run, workspace), b.Paragraph(_licence(run, workspace))]
        if (file := workspace / "runs" / run.run / RECIPE).is_file():
            recipe = b.Quote(file.read_text(encoding="utf-8"))
            inside.append(b.Details("Recipe", [recipe]))
        blocks.append(b.Section(f"data-{run.run}", f"Data and licence of {run.run}", inside))
    numbers: dict[str, Any] = {
        "topics": {name: lines for name, lines in topics.items() if lines},
        "runs": [
            {"run": run.run, "hours": cost.hours, "kwh": cost.energy, "usd": cost.money}
            for run, cost in _costs(runs)
        ],
        "steps": [{"command": step.command, "reason": step.reason} for step in steps],
    }
    name = title or f"Project: {workspace.resolve().name}"
    page = b.Page(name, blocks, lead=[b.Topics.of(topics)], numbers=numbers)
    index = write_page(page, out)
    receipt = as_markdown([*page.lead, *page.blocks])
    write_text(out / CARD, f"# {name}\n\n{receipt}\n")
    for path in (*workspace.glob("*.yaml"), *_plans(workspace)):
        shutil.copyfile(path, out / path.name)
    return index


def run_blocks(workspace: Path) -> Iterator[b.Block]:
    """The states of all runs, studies by a line each, and the losses of the newest."""
    folder = workspace / "runs"
    try:
        each = with_forecasts(states([folder]), [folder])
    except UserError:  # there are none
        return
    alone = [state for state in each if "/" not in state.run or _going(state)]
    spikes = [f"{state.run}: {line}" for state in alone for line in _spikes(state)]
    studies = study_lines(each)
    inside: list[b.Block] = [
        b.Table.of(states_table(alone)) if alone else None,
        b.Items(studies) if studies else None,
        b.Details("Spikes", [b.Items(spikes)], count=str(len(spikes))) if spikes else None,
    ]
    yield b.Section("runs", "Runs", inside)
    chosen = [Path(state.directory) for state in alone or each if state.step]
    yield from filter(None, (curve_figure(chosen), task_figure(chosen)))


def _going(state: RunState) -> bool:
    return state.state in ("running", "stopped", "failed", "damaged")


def _spikes(state: RunState) -> Iterator[str]:
    with suppress(OSError, ValueError):
        for row in read_lines(Path(state.directory) / "events.jsonl"):
            if "spike" in row:
                yield f"step {row['step']}: {row['spike']}"


def _finished(workspace: Path) -> list[Run]:
    """The finished runs that are of no study, the newest first."""
    runs: list[tuple[float, Run]] = []
    for place in find_runs([workspace / "runs"] if (workspace / "runs").is_dir() else []):
        with suppress(UserError):
            run = read_run(place)
            if run.status == "finished" and "/" not in run.run:
                runs.append((-changed_at(place / "run.json"), run))
    return [run for _, run in sorted(runs, key=lambda pair: pair[0])]


def _costs(runs: Sequence[Run]) -> list[Any]:
    return [(run, cost) for run in runs if (cost := run_cost(run))]


def _plans(workspace: Path) -> list[Path]:
    return sorted(workspace.glob("*.plan.json"))


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
        for state in [state for state in each if "/" not in state.run]:
            size = f", {show_count(state.parameters)} parameters" if state.parameters else ""
            read = f" on {show_count(state.tokens)} tokens" if state.tokens else ""
            yield f"Run `{state.run}`: {state.state}{size}{read}."
        yield from (f"Study {line}." for line in study_lines(each))
    for row in _exports(workspace):
        yield f"Export `{row['folder']}` of `{row['model']}`."


def _outcome(
    workspace: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]
) -> Iterator[str]:
    for run in runs:
        if not any(_name_of(run, of) for of in evaluations.values()):
            yield from _in_training(workspace / "runs" / run.run, run)
    for name, evaluation in list(evaluations.items())[:2]:
        topics, head = answer(evaluation), f"`{name}`: " if len(evaluations) > 1 else ""
        for topic in _CHOSEN:
            yield from (f"{head}{line}" for line in topics.get(topic, [])[:_SENTENCES])
    for path in sorted(workspace.glob("reports/*/report.json")):  # of studies and pilots
        name = path.parent.name
        if changed_at(path) < last_trained(workspace / "runs" / name):
            yield f"`{name}`: its page is older than its runs."
            continue
        with suppress(OSError, ValueError, AttributeError, TypeError):
            advice = read_json(path).get("advice", [])
            yield from (f"`{name}`: {line}" for line in advice[:_SENTENCES])
    for path in _plans(workspace):
        forecast, measured = _forecast(path), _measured(path, runs, evaluations)
        if forecast and measured:
            after, other = measured
            said = f"on `{other}`, another text" if other else _inside(forecast, after)
            yield (
                f"Forecast {number(forecast, fixed(2))} bits per byte, measured "
                f"{number(after, fixed(2))}: {said}."
            )


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


def _forecast(path: Path) -> Estimate | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        plain = read_json(path)["bits_per_byte"]
        return Estimate.from_json(plain) if plain else None
    return None


def _name_of(run: Run, evaluation: Evaluation) -> str | None:
    """The name of the model that this run trained, in an evaluation."""
    each = {(x.trained.run, x.trained.fingerprint): x.name for x in evaluation.models if x.trained}
    return each.get((run.run, run.fingerprint))


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
        name = _name_of(run, evaluation)
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


def _plan(path: Path, runs: Sequence[Run], evaluations: Mapping[str, Evaluation]) -> b.Section:
    """A plan as it was written, with what was measured."""
    try:
        plan = read_json(path)
        lines, day = list(map(str, plan["lines"])), str(plan["date"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return b.Section("", f"Plan {path.name}", [b.Paragraph(f"It cannot be read: {error}.")])
    if measured := _measured(path, runs, evaluations):
        after, other = measured
        where = f" on `{other}`, another text" if other else ""
        lines.append(f"Measured: {number(after, fixed(2))} bits per byte{where}.")
    title = f"Plan of {path.name.removesuffix('.plan.json')}, {day}"
    return b.Section(f"plan-{path.name.partition('.')[0]}", title, [b.Items(lines)])


def _exports(workspace: Path) -> Iterator[dict[str, b.Entry]]:
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


def _licence(run: Run, workspace: Path) -> str:
    base = first_base(run.base_model, workspace)
    text = "Licence of the text: " + (
        "for you to name" if find_tokens(run, workspace) else "unknown"
    )
    if base is None:
        return f"Licence of a base: none, the run began with random weights. {text}."
    licence = licence_of(base).label or "unknown"
    return f"Licence of the base `{base_label(base, workspace)}`: {licence}. {text}."
