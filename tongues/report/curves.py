"""Losses and task scores through training, of finished runs and those that still run."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from altair import LayerChart

from tongues.errors import UserError
from tongues.files import changed_at, read_lines
from tongues.pages import Figure
from tongues.pages import axes as a
from tongues.pages.plots import band, dots, line, panel, rule
from tongues.quantities import show_seconds
from tongues.runs import TASK_SCORES, read_run

__all__ = ["curve_figure", "task_figure"]

_POINTS = 80  # of a run's training loss: each the mean of its neighbours
_RUNS = 8  # the newest ones
_LANGUAGES = 6  # with a panel of their own


def curve_figure(directories: Sequence[Path]) -> Figure | None:
    """Held-out losses of each language and training losses, by tokens; None where there are none.

    Spikes are rings.
    """
    held, trained, spikes = dict[str, list[a.Row]](), list[a.Row](), list[a.Row]()
    for directory in _newest(directories):
        with suppress(UserError, OSError, ValueError, KeyError):  # damaged, or half written
            name = read_run(directory).run
            for row in read_lines(directory / "evals.jsonl"):
                shown = {"tokens": float(row["tokens"]), "loss": row["bits_per_byte"]}
                held.setdefault(row["lang"], []).append({"series": name} | shown)
            logged = read_lines(directory / "metrics.jsonl")
            every = max(1, len(logged) // _POINTS)
            for start in range(0, len(logged), every):
                part = logged[start : start + every]
                loss = sum(row["loss"] for row in part) / len(part)
                row = {"series": name, "tokens": float(part[-1]["tokens"]), "loss": loss}
                trained.append(row)
            losses = {row["step"]: row for row in logged}
            for event in read_lines(directory / "events.jsonl"):
                if "spike" in event and (at := losses.get(event["step"])):
                    tokens = float(at["tokens"])
                    spikes.append({"series": name, "tokens": tokens, "loss": at["loss"]})
    every_row = [*chain(*held.values()), *trained]
    if not every_row:
        return None
    names = list(dict.fromkeys(row["series"] for row in every_row))
    x = a.linear("tokens", "Tokens trained on", every_row, labelExpr=a.COUNT)
    tint, panels = a.colour(names, names), list[LayerChart]()  # only the first has a legend
    for lang, rows in list(held.items())[:_LANGUAGES]:
        y = a.linear("loss", "Loss, bits per byte", rows)
        curves = line(rows, x, y, tint), dots(rows, x, y, tint)
        panels.append(panel(f"Held-out text, {lang}", *curves))
        tint = a.colour(names)
    if trained:
        y = a.linear("loss", "Loss, nats per token", trained)
        rings = dots(spikes, x, y, tint, ring=True) if spikes else None
        panels.append(panel("Training text", line(trained, x, y, tint), rings))
    caption = (
        "Held out: the sample scored during training; training: means over steps; rings: spikes."
    )
    if (more := len(held) - _LANGUAGES) > 0:
        caption += f" {more} more languages are in the data."
    rows = [{"text": "held out", "lang": lang} | row for lang, of in held.items() for row in of]
    rows += [{"text": "training", "lang": ""} | row for row in trained]
    return Figure("learning", "Through training", caption, tuple(panels), tuple(rows))


def task_figure(directories: Sequence[Path]) -> Figure | None:
    """Accuracies on tasks by tokens, with bands, chance and what scoring took; None without any."""
    rows, chances, costs = list[a.Row](), set[float](), list[str]()
    for directory in _newest(directories):
        with suppress(UserError, OSError, ValueError, KeyError):  # damaged, or half written
            name = read_run(directory).run
            own = read_lines(directory / TASK_SCORES)
            for row in own:
                shown = {"tokens": float(row["tokens"]), "accuracy": 100 * row["accuracy"]}
                ends = (row["low"], row["high"])
                low, high = (row["accuracy"] if end is None else end for end in ends)
                shown |= {"low": 100 * low, "high": 100 * high, "chance": 100 * row["chance"]}
                rows.append({"series": f"{name} {row['task']} {row['lang']}"} | shown)
                chances.add(100 * row["chance"])
            took = read_lines(directory / "timing.jsonl")[-1:] if own else []
            if took and "task_seconds" in took[0]:
                parts = show_seconds(took[0]["task_seconds"]), show_seconds(took[0]["seconds"])
                costs.append(f"scoring took {parts[0]} of {parts[1]} of training in {name}")
    if not rows:
        return None
    x = a.linear("tokens", "Tokens trained on", rows, labelExpr=a.COUNT)
    values = [row[field] for row in rows for field in ("low", "high", "chance")]
    y = a.linear("accuracy", "Accuracy, %", values)
    names = sorted({row["series"] for row in rows})
    tint = a.colour(names, names)
    levels = [rule(y=y, at=level) for level in sorted(chances)]
    curves = (
        line(rows, x, y, tint),
        band(rows, x, y.of("low"), "high", tint),
        dots(rows, x, y, tint),
    )
    caption = "Bands: 95 % intervals over groups of items; dashed: chance"
    caption = "; ".join([caption, *costs]) + "."
    drawn = panel("Tasks", *levels, *curves)
    return Figure("tasks", "Tasks through training", caption, (drawn,), tuple(rows))


def _newest(directories: Sequence[Path]) -> list[Path]:
    return sorted(directories, key=lambda each: -changed_at(each / "run.json"))[:_RUNS]
