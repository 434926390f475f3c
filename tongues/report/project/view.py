"""The page of a project's folder: what there is, what came of it, what to do next.

The same blocks as Markdown, with the recipes and plans next to them, are the project's receipt.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from altair import LayerChart

from tongues.core.errors import UserError
from tongues.core.files import changed_at, read_lines, write_text
from tongues.core.pages import CARD, Figure, as_markdown, write_page
from tongues.core.pages import axes as a
from tongues.core.pages import blocks as b
from tongues.core.pages.plots import dots, line, panel
from tongues.core.quantities import show_seconds
from tongues.evaluate.kept import kept_evaluations
from tongues.languages import language_name
from tongues.plan.steps import steps_in
from tongues.report.evaluation.opening import Verdict
from tongues.report.project.answer import (
    costs_of,
    find_plans,
    finished_runs,
    plan_section,
    project_answer,
    project_tiles,
)
from tongues.runs.record import RECIPE, Run, read_run
from tongues.runs.states import RunState, states, states_table, study_lines
from tongues.train.card import data_blocks, find_tokens
from tongues.train.cost import run_cost
from tongues.train.metadata import base_label, first_base, licence_of
from tongues.train.study.forecasts import with_forecasts

_POINTS = 80  # of a run's training loss: each the mean of its neighbours
_RUNS = 8  # the newest ones
_NEXT = 4  # steps that are named
_LANGUAGES = 6  # with a panel of their own
_TIPS = ("run", "tokens:.3s", "loss:.3f")
_CAPTION = "Held out: the sample scored during training; training: means over steps; rings: spikes."
_SPEED = "Tokens/s are the mean of a run from its first step on, evaluations included."


def write_project_report(workspace: Path, out: Path) -> Path:
    """Write the page of a folder and its receipt; returns the page's `index.html`."""
    every, evaluations = finished_runs(workspace), dict(kept_evaluations(workspace))
    runs = [run for run in every if "/" not in run.run]  # of no study
    steps = steps_in(workspace)
    todo = b.Table.of(
        {"command": b.Cell(step.command, code=True), "why": step.reason.replace("`", "")}
        for step in steps[:_NEXT]
    )
    outcome, tiles = (
        project_answer(workspace, every, evaluations),
        project_tiles(every, evaluations),
    )
    verdict = Verdict.of(next(iter(evaluations.values()))) if evaluations else None
    each = [b.Details(run.run, _about(run, workspace), open=len(runs) == 1) for run in runs]
    blocks: list[b.Block] = [
        b.Tiles(tiles),
        b.Items(outcome, "plain") if outcome else None,
        verdict.figure() if verdict else None,
        b.Section("next", "Next", [todo]) if steps else None,
        *run_blocks(workspace),
        *map(plan_section, find_plans(workspace)),
        b.Section("data", "Data, licence and cost of each run", each) if each else None,
    ]
    numbers: dict[str, Any] = {
        "outcome": [*outcome, *(tile.line for tile in tiles)],
        "runs": [
            {"run": run.run, "hours": cost.hours, "kwh": cost.energy, "usd": cost.money}
            for run, cost in costs_of(runs)
        ],
        "steps": [{"command": step.command, "reason": step.reason} for step in steps],
    }
    name = f"Project: {workspace.resolve().name}"
    index = write_page(b.Page(name, blocks, numbers=numbers), out)
    receipt = as_markdown(blocks)
    write_text(out / CARD, f"# {name}\n\n{receipt}\n")
    for path in (*workspace.glob("*.yaml"), *find_plans(workspace)):
        shutil.copyfile(path, out / path.name)
    return index


def _about(run: Run, workspace: Path) -> list[b.Block]:
    cost, file = run_cost(run), workspace / "runs" / run.run / RECIPE
    blocks = [*data_blocks(run, workspace), b.Paragraph(_licence(run, workspace))]
    blocks += [b.Paragraph(f"Cost: {cost.sentence}")] if cost else []
    if file.is_file():
        blocks.append(b.Details("Recipe", [b.Quote(file.read_text(encoding="utf-8"))]))
    return blocks


def run_blocks(workspace: Path) -> Iterator[b.Block]:
    """The states of all runs, unfinished ones first, a line a study, and losses of the newest."""
    folder = workspace / "runs"
    try:
        each = with_forecasts(states([folder]), [folder])
    except UserError:  # there are none
        return
    going = [state for state in each if _going(state)]
    alone = [*going, *(x for x in each if "/" not in x.run and not _going(x))]
    spikes = [f"{state.run}: {line}" for state in alone for line in _spikes(state)]
    studies = study_lines(each)
    inside: list[b.Block] = [
        b.Table.of(states_table(alone)) if alone else None,
        b.Items(studies, "plain") if studies else None,
        b.Details("Spikes", [b.Items(spikes)], count=str(len(spikes))) if spikes else None,
        b.Paragraph(_SPEED) if any(state.tokens_per_second for state in alone) else None,
    ]
    yield curve_figure([Path(state.directory) for state in alone or each if state.step])
    yield b.Section("runs", "Runs", inside)


def run_tiles(workspace: Path) -> Iterator[b.Tile]:
    """Of the newest run: a target and a base language, before and now, and how far it is."""
    with suppress(UserError, OSError, ValueError, KeyError):  # damaged, or half written
        every = {x.directory: x for x in states([workspace / "runs"]) if x.step}
        newest = _newest(map(Path, every))[0]
        state, run = every[str(newest)], read_run(newest)
        held = dict[str, list[float]]()
        for row in read_lines(newest / "evals.jsonl"):
            held.setdefault(row["lang"], []).append(row["bits_per_byte"])
        for role, langs in (("target", run.targets), ("base", run.roles.forgettable)):
            for lang in langs[:1]:
                ends = " → ".join(f"{held[lang][at]:.3f}" for at in (0, -1))
                yield b.Tile(f"{language_name(lang)}, bits per byte", ends, run.run, role)
        left = f"; {show_seconds(state.seconds_left)} left" if state.seconds_left else ""
        done, steps = state.step or 0, state.steps or 1
        share = f"{100 * done / steps:.0f} %"
        yield b.Tile(state.state.capitalize(), share, f"step {done:,} of {steps:,}{left}")


def curve_figure(directories: Sequence[Path]) -> Figure | None:
    """Held-out losses of each language and training losses, by tokens; None where there are none.

    A run has the colour of its strategy; spikes are rings.
    """
    held, trained, spikes = dict[str, list[a.Row]](), list[a.Row](), list[a.Row]()
    ratios = set[float]()
    for directory in _newest(directories):
        with suppress(UserError, OSError, ValueError, KeyError):  # damaged, or half written
            run = read_run(directory)
            ratios.add(run.roles.replay_share)
            own = {"run": run.run, "series": a.series_name(run.strategy, run.roles.replay_share)}
            for row in read_lines(directory / "evals.jsonl"):
                shown = {"tokens": float(row["tokens"]), "loss": row["bits_per_byte"]}
                held.setdefault(row["lang"], []).append(own | shown)
            logged = read_lines(directory / "metrics.jsonl")
            every = max(1, len(logged) // _POINTS)
            for start in range(0, len(logged), every):
                part = logged[start : start + every]
                loss = sum(row["loss"] for row in part) / len(part)
                trained.append(own | {"tokens": float(part[-1]["tokens"]), "loss": loss})
            losses = {row["step"]: row for row in logged}
            for event in read_lines(directory / "events.jsonl"):
                if "spike" in event and (at := losses.get(event["step"])):
                    spikes.append(own | {"tokens": float(at["tokens"]), "loss": at["loss"]})
    every_row = [*chain(*held.values()), *trained]
    if not every_row:
        return None
    x = a.linear("tokens", "Tokens trained on", every_row, labelExpr=a.COUNT)
    tint, panels = a.colour([*a.domain(ratios), "source", "expert"], every_row), list[LayerChart]()
    for lang, rows in list(held.items())[:_LANGUAGES]:
        y = a.linear("loss", "Loss, bits per byte", rows)
        curves = line(rows, x, y, tint, "run"), dots(rows, x, y, tint, tooltip=_TIPS)
        panels.append(panel(f"Held-out text, {language_name(lang)}", *curves))
    if trained:
        y = a.linear("loss", "Loss, nats per token", trained)
        rings = dots(spikes, x, y, tint, ring=True) if spikes else None
        panels.append(panel("Training text", line(trained, x, y, tint, "run"), rings))
    more = len(held) - _LANGUAGES
    caption = [_CAPTION, f"{more} more languages are in the data."] if more > 0 else [_CAPTION]
    rows = [{"text": "held out", "lang": lang} | row for lang, of in held.items() for row in of]
    rows += [{"text": "training", "lang": ""} | row for row in trained]
    return Figure.of("learning", "Through training", caption, panels, rows)


def _newest(directories: Iterable[Path]) -> list[Path]:
    return sorted(directories, key=lambda each: -changed_at(each / "run.json"))[:_RUNS]


def _going(state: RunState) -> bool:
    return state.state in ("running", "stopped", "failed", "damaged")


def _spikes(state: RunState) -> Iterator[str]:
    with suppress(OSError, ValueError):
        for row in read_lines(Path(state.directory) / "events.jsonl"):
            if "spike" in row:
                yield f"step {row['step']}: {row['spike']}"


def _licence(run: Run, workspace: Path) -> str:
    base = first_base(run.base_model, workspace)
    text = "Licence of the text: " + (
        "for you to name" if find_tokens(run, workspace) else "unknown"
    )
    if base is None:
        return f"Licence of a base: none, the run began with random weights. {text}."
    licence = licence_of(base).label or "unknown"
    return f"Licence of the base `{base_label(base, workspace)}`: {licence}. {text}."
