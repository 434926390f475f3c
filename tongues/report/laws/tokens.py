"""Laws over tokens: what a repeated epoch is worth, and what replay keeps of another language."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tongues.pages import Figure
from tongues.pages.axes import PLAIN, Row, colour, decades, logs, ranks
from tongues.pages.plots import alt, band, beyond, dots, line, panel, rule, words
from tongues.report.laws.series import LawSeries
from tongues.report.theme import LOSS

__all__ = ["forgetting_law", "repeats"]

_EPOCHS = (1.0, 40.0)
_TOLD = 4.0  # epochs, named in the title
_POINTS = 60
_PANELS = 3  # starting losses shown: the lowest, the highest, and between
_LIKE = 1e-6  # starting losses nearer than this are one
_SHARES = (0.0, 0.01, 0.05, 0.2)  # of replay, drawn for a law without rows
_ROOM = 0.22  # of the tokens' span, for the labels at the lines' ends
_APART = 0.05  # least distance between two labels, as a share of the panel's height


def repeats(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Epochs of fresh text that so many epochs over the same text teach as much as."""
    drawn = {one: _repeat_rows(one) for one in fitted if one.law.equation.role == "repetition"}
    if not drawn:
        return None
    rows = [row for own in drawn.values() for row in own]
    panels = tuple(_repeat_panel(one, own, names) for one, own in drawn.items())
    ranged = ", the band its 95 % interval." if any("low" in row for row in rows) else "."
    caption = (
        "Reading a text again teaches less each time. The dashed line is what fresh text would "
        f"teach, the solid one what repeats do{ranged}"
    )
    return Figure("repeats", "What repeated text is worth", caption, panels, tuple(rows))


def _worth(epochs: np.ndarray, R_D: np.ndarray | float) -> np.ndarray:
    """D'/U of the law's formula."""
    return 1.0 - R_D * np.expm1(-(epochs - 1.0) / R_D)


def _repeat_rows(one: LawSeries) -> list[Row]:
    epochs = np.geomspace(*_EPOCHS, _POINTS)
    columns = {"epochs": epochs, "worth": _worth(epochs, one.law.params["R_D"])}
    if one.law.draws:
        draws = _worth(epochs, one.law.draws["R_D"][:, None])
        columns["low"], columns["high"] = np.percentile(draws, (2.5, 97.5), axis=0)
    shared = {"target": one.law.target, "series": one.series}
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [shared | dict(zip(columns, row, strict=True)) for row in values]


def _repeat_panel(one: LawSeries, rows: Sequence[Row], names: Sequence[str]) -> alt.LayerChart:
    x = logs("epochs", "Epochs over the same text", _EPOCHS, PLAIN, margin=0.0, grid=False)
    y = logs("worth", "Worth (epochs of fresh text)", _EPOCHS, PLAIN, margin=0.0)
    tint = colour(names)
    fresh: list[Row] = [{"epochs": end, "worth": end} for end in _EPOCHS]
    worth = float(_worth(np.array(_TOLD), one.law.params["R_D"]))
    most = None  # epochs of any run
    if one.rows is not None:
        most = float((one.rows.variables["D"] / one.rows.variables["U"]).max())
    ranged = [row for row in rows if "low" in row]
    return panel(
        one.title(f"{_TOLD:.0f} epochs are worth {worth:.2g} fresh ones"),
        *beyond(x, most if most and _EPOCHS[0] < most < _EPOCHS[1] else None),
        line(fresh, x, y, width=1.3, strokeDash=[5, 4], style="quiet"),
        band(ranged, x, replace(y.of("low"), title=""), "high", tint) if ranged else None,
        line(rows, x, y, tint),
    )


def forgetting_law(fitted: Sequence[LawSeries]) -> Figure | None:
    """Source loss against tokens, a line for each share of replay, over what was measured."""
    found = [one for one in fitted if one.law.equation.role == "forgetting"]
    drawn = [(one, S, _forgetting_rows(one, S)) for one in found for S in _starts(one)]
    rows = [row for _, _, of_start in drawn for row in of_start]
    if not rows:
        return None
    shares = sorted({row["replay"] for row in rows})
    tokens = [row["tokens"] for row in rows]
    loss = [*(S for _, S, _ in drawn), *(row["loss"] for row in rows)]
    ends = [min(tokens), max(tokens) * (max(tokens) / min(tokens)) ** _ROOM]
    ticks = decades(min(tokens) * 0.96, max(tokens) * 1.04)
    x = logs("tokens", "Tokens trained on, all languages", ends, grid=False, ticks=ticks)
    y = logs("loss", LOSS, loss, PLAIN)
    panels = []
    for one, S, own in drawn:
        ranked = [row | {"rank": shares.index(row["replay"])} for row in own]
        lines = [row for row in ranked if row["kind"] == "law"]
        measured = [row for row in ranked if row["kind"] == "measured"]
        tint = ranks([str(share) for share in shares], legend=False)
        said = ("run", "replay:.3~%", "tokens:.3s", "loss:.3f")
        drawn_panel = panel(
            one.title(f"From a source loss of {S:.2f}"),
            rule(y=y, at=S),
            dots(measured, x, y, tint, size=22, opacity=0.75, said=said),
            line(lines, x, y, tint, width=2.2),
            *words(_share_names(lines, max(loss) / min(loss)), x, y, align="left", dx=6),
            height=320,
        )
        panels.append(drawn_panel)
    caption = (
        "Loss on the source language while another is learned, a line for each share of replayed "
        "source text, named at its end. The dashed line is the loss before the first step: "
        "above it is forgotten."
    )
    if any(row["kind"] == "measured" for row in rows):
        caption += " Dots were measured, lines are the law."
    title = "What replay keeps, by the law of forgetting"
    return Figure("law-of-forgetting", title, caption, tuple(panels), tuple(rows))


def _starts(one: LawSeries) -> list[float]:
    """The losses before the first step that get a panel: those with the most shares of replay."""
    if one.rows is not None:
        known = one.rows.variables
        starts = np.unique(known["S"])
        shares = np.array([len(np.unique(known["r"][known["S"] == S])) for S in starts])
        found = starts[shares == shares.max()]
        chosen = np.linspace(0, len(found) - 1, min(_PANELS, len(found))).round().astype(int)
        return found[chosen].tolist()
    return [float(np.mean(one.range["S"]))] if one.range else []


def _forgetting_rows(one: LawSeries, S: float) -> list[Row]:
    shared = {"target": one.law.target, "start": S}
    measured: list[Row] = []
    shares: Sequence[float] = _SHARES
    if one.rows is not None:
        values = one.rows.variables
        same = np.flatnonzero(np.abs(values["S"] / S - 1.0) < _LIKE)
        shares = np.unique(values["r"][same]).tolist()
        measured = [
            shared
            | {"kind": "measured", "run": one.rows.runs[one.rows.run[i]]}
            | {"replay": float(values["r"][i]), "tokens": float(values["D"][i])}
            | {"loss": float(one.rows.loss[i])}
            for i in same
        ]
    tokens = np.geomspace(*one.range["D"], 80)
    return measured + [
        shared | {"kind": "law", "replay": r, "tokens": float(D), "loss": float(loss)}
        for r in shares
        for D, loss in zip(tokens, one.law.loss(D=tokens, r=r, S=S), strict=True)
    ]


def _share_names(lines: Sequence[Row], span: float) -> list[Row]:
    """Each line's share of replay beside its end, none upon another.

    span: the factor of loss that the panel is high.
    """
    ends = {row["replay"]: row for row in lines}  # the last of each
    names: list[Row] = []
    place = -math.inf
    for row in sorted(ends.values(), key=lambda row: row["loss"]):
        place = max(math.log(row["loss"]), place + _APART * math.log(span))
        names.append(row | {"loss": math.exp(place), "text": f"{row['replay'] * 100:.3g} %"})
    return names
