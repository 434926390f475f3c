"""Losses of runs through training, from their logs: finished runs and those that still run."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tongues.errors import UserError
from tongues.files import read_lines
from tongues.pages import Figure
from tongues.pages import axes as a
from tongues.pages.plots import dots, line, panel
from tongues.runs import read_run

__all__ = ["curve_figure"]

_POINTS = 80  # of a run's training loss: each the mean of its neighbours
_RUNS = 8  # the newest ones


def curve_figure(directories: Sequence[Path]) -> Figure | None:
    """Held-out and training losses by tokens; spikes are rings. None where nothing is logged."""
    held, trained, spikes = list[a.Row](), list[a.Row](), list[a.Row]()
    newest = sorted(directories, key=lambda each: -(each / "run.json").stat().st_mtime)[:_RUNS]
    for directory in newest:
        with suppress(UserError, OSError, ValueError, KeyError):  # damaged, or half written
            name = read_run(directory).run
            for row in read_lines(directory / "evals.jsonl"):
                shown = {"tokens": float(row["tokens"]), "loss": row["bits_per_byte"]}
                held.append({"series": f"{name} {row['lang']}"} | shown)
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
    panels = []
    for title, unit, rows in (
        ("Held-out text", "bits per byte", held),
        ("Training text", "nats per token", trained),
    ):
        if rows:
            x = a.linear("tokens", "Tokens trained on", [row["tokens"] for row in rows])
            y = a.linear("loss", f"Loss, {unit}", [row["loss"] for row in rows])
            names = sorted({row["series"] for row in rows})
            tint, held_out = a.colour(names, names), rows is held
            marked = dots(rows, x, y, tint) if held_out else None
            rings = dots(spikes, x, y, tint, ring=True) if spikes and not held_out else None
            panels.append(panel(title, line(rows, x, y, tint), marked, rings))
    if not panels:
        return None
    caption = (
        "Held out: the sample scored during training; training: means over steps; rings: spikes."
    )
    rows = [{"text": "held out"} | row for row in held]
    rows += [{"text": "training"} | row for row in trained]
    return Figure("learning", "Through training", caption, tuple(panels), tuple(rows))
