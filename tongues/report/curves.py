"""Losses through training, of finished runs and those that still run."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from altair import LayerChart

from tongues.core.errors import UserError
from tongues.core.files import changed_at, read_lines
from tongues.core.pages import Figure
from tongues.core.pages import axes as a
from tongues.core.pages.plots import dots, line, panel
from tongues.runs.record import read_run

_POINTS = 80  # of a run's training loss: each the mean of its neighbours
_RUNS = 8  # the newest ones
_LANGUAGES = 6  # with a panel of their own
_CAPTION = "Held out: the sample scored during training; training: means over steps; rings: spikes."


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
    more = len(held) - _LANGUAGES
    caption = [_CAPTION, f"{more} more languages are in the data."] if more > 0 else [_CAPTION]
    rows = [{"text": "held out", "lang": lang} | row for lang, of in held.items() for row in of]
    rows += [{"text": "training", "lang": ""} | row for row in trained]
    return Figure.of("learning", "Through training", caption, panels, rows)


def _newest(directories: Sequence[Path]) -> list[Path]:
    return sorted(directories, key=lambda each: -changed_at(each / "run.json"))[:_RUNS]
