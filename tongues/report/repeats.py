"""What a repeated epoch is worth, by the law of limited data."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import Law
from tongues.report.charts import PLAIN, Figure, beyond, colour, data, log_axis, log_scale, panel
from tongues.report.law_series import LawSeries

__all__ = ["repeats"]

_EPOCHS = (1.0, 40.0)
_TOLD = 4.0  # epochs, named in the title
_POINTS = 60

Row = dict[str, Any]


def repeats(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Epochs of fresh text that so many epochs over the same text teach as much as."""
    found = [one for one in fitted if one.law.equation.role == "repetition"]
    if not found:
        return None
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    for one in found:
        own = _rows(one)
        rows += own
        panels.append(_panel(one, own, names))
    caption = (
        "Reading a text again teaches less each time. The dashed line is what fresh text would "
        "teach, the solid one what repeats do"
        + (", the band its 95 % interval." if any("low" in row for row in rows) else ".")
    )
    return Figure("repeats", "What repeated text is worth", caption, tuple(panels), tuple(rows))


def _worth(epochs: np.ndarray, R_D: np.ndarray | float) -> np.ndarray:
    """D'/U of the law's formula."""
    return 1.0 - R_D * np.expm1(-(epochs - 1.0) / R_D)


def _rows(one: LawSeries) -> list[Row]:
    epochs = np.geomspace(*_EPOCHS, _POINTS)
    columns = {"worth": _worth(epochs, one.law.params["R_D"])}
    if one.law.draws:
        draws = _worth(epochs, one.law.draws["R_D"][:, None])
        columns["low"], columns["high"] = np.percentile(draws, (2.5, 97.5), axis=0)
    shared = {"target": one.law.target, "series": one.series}
    return [
        shared
        | {"epochs": float(epoch)}
        | {name: float(values[i]) for name, values in columns.items()}
        for i, epoch in enumerate(epochs)
    ]


def _known(one: LawSeries) -> float | None:
    """The most epochs of any run."""
    if one.rows is None:
        return None
    most = float((one.rows.variables["D"] / one.rows.variables["U"]).max())
    return most if _EPOCHS[0] < most < _EPOCHS[1] else None


def _told(law: Law) -> str:
    worth = float(_worth(np.array(_TOLD), law.params["R_D"]))
    return f"{_TOLD:.0f} epochs are worth {worth:.2g} fresh ones"


def _panel(one: LawSeries, rows: Sequence[Row], names: Sequence[str]) -> alt.LayerChart:
    x = alt.X("epochs:Q", title="Epochs over the same text", scale=log_scale(_EPOCHS, 0.0))
    x = x.axis(log_axis(_EPOCHS, PLAIN, grid=False))
    scale = log_scale(_EPOCHS, 0.0)
    y = alt.Y("worth:Q", title="Worth (epochs of fresh text)", scale=scale)
    y = y.axis(log_axis(_EPOCHS, PLAIN))
    tint = colour(names, [one.series]).legend(None)
    base = alt.Chart(data(rows))
    fresh = alt.Chart(data([{"epochs": end, "worth": end} for end in _EPOCHS]))
    known = _known(one)
    low = alt.Y("low:Q", title="", scale=scale)
    return panel(
        one.title(_told(one.law)),
        *(beyond(x, "epochs", known) if known else ()),
        fresh.mark_line(strokeDash=[5, 4], strokeWidth=1.3, style="quiet").encode(x, y),
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.2, clip=True)
        .encode(x, low, alt.Y2("high"), tint),
        base.mark_line(strokeWidth=2.5).encode(x, y, tint),
    )
