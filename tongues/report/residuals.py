"""How far measured losses lie from the laws, and from laws that never saw the largest runs."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import Law
from tongues.laws.rows import Rows
from tongues.quantities import show_count
from tongues.report.charts import Figure, data, log_axis, log_scale, panel, shade
from tongues.report.law_series import LawSeries, held_out

__all__ = ["extrapolation", "residuals"]

Row = dict[str, Any]


def residuals(fitted: Sequence[LawSeries]) -> Figure | None:
    """How far each measured loss lies from its law, against tokens, by model size."""
    found = {one: _rows(one, one.law, one.rows) for one in fitted if one.rows and _by_size(one)}
    if not found:
        return None
    titles = [one.title(f"{one.series}, {_half(rows)}") for one, rows in found.items()]
    caption = (
        "Each dot is a loss a law was fitted on, by how much it lies above or below that law. A "
        "trend along the tokens, or from small sizes to large, would mean that the law has the "
        "wrong shape."
    )
    title = "The runs beside their laws"
    return _figure("residuals", title, caption, titles, list(found.values()), _sizes(fitted))


def extrapolation(fitted: Sequence[LawSeries]) -> Figure | None:
    """What laws fitted without the largest sizes say of these."""
    titles: list[str] = []
    found: list[list[Row]] = []
    for one in fitted:
        held = held_out(one) if _by_size(one) else None
        if held and one.law.holdout:
            law, large = held
            rows = _rows(one, law, large)
            above = show_count(one.law.holdout.above)
            found.append(rows)
            titles.append(one.title(f"{one.series} above {above}, {_half(rows)}"))
    if not found:
        return None
    caption = (
        "Each law was fitted anew without the largest sizes; each dot is one of their losses, by "
        "how much it lies above or below what the small sizes foretold."
    )
    title = "The largest sizes, foretold"
    return _figure("extrapolation", title, caption, titles, found, _sizes(fitted))


def _by_size(one: LawSeries) -> bool:
    return {"N", "D"} <= one.range.keys()


def _sizes(fitted: Sequence[LawSeries]) -> list[float]:
    return [
        N for one in fitted if one.rows and _by_size(one) for N in one.rows.variables["N"].tolist()
    ]


def _half(rows: Sequence[Row]) -> str:
    middle = float(np.median([abs(row["off"]) for row in rows]))
    return f"half within {middle:.2g} %"


def _rows(one: LawSeries, law: Law, rows: Rows | None) -> list[Row]:
    assert rows is not None
    promised = law.loss(**rows.variables)
    columns = zip(
        rows.run,
        rows.variables["N"].tolist(),
        rows.variables["D"].tolist(),
        rows.loss.tolist(),
        promised.tolist(),
        strict=True,
    )
    return [
        {
            "series": one.series,
            "target": one.law.target,
            "run": rows.runs[run],
            "size": N,
            "tokens": D,
            "loss": loss,
            "law": said,
            "off": 100.0 * (loss / said - 1.0),
        }
        for run, N, D, loss, said in columns
    ]


def _figure(
    name: str,
    title: str,
    caption: str,
    titles: Sequence[str],
    found: Sequence[list[Row]],
    sizes: Sequence[float],
) -> Figure:
    """A panel each, all on one scale; a size has the same colour in every figure."""
    rows = [row for of_law in found for row in of_law]
    tokens, off = [row["tokens"] for row in rows], [row["off"] for row in rows]
    reach = max(1.0, *(abs(value) for value in off)) * 1.08
    x = alt.X("tokens:Q", title="Tokens trained on", scale=log_scale(tokens))
    x = x.axis(log_axis(tokens, grid=False))
    y = alt.Y(
        "off:Q",
        title="Measured beside law (%)",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(tickCount=5, format="+~r"),
    )
    tint = shade("size", "Parameters", sizes)
    nothing = alt.Chart(data([{"off": 0}])).mark_rule(strokeWidth=1.2, style="quiet")
    panels = [
        panel(
            heading,
            nothing.encode(y),
            alt.Chart(data(of_law))
            .mark_circle(size=38, opacity=0.8)
            .encode(x, y, tint, tooltip=_TIPS),
            height=240,
        )
        for heading, of_law in zip(titles, found, strict=True)
    ]
    return Figure(name, title, caption, tuple(panels), tuple(rows))


_TIPS = [
    alt.Tooltip("run:N"),
    alt.Tooltip("size:Q", title="parameters", format=".3s"),
    alt.Tooltip("loss:Q", title="measured", format=".3f"),
    alt.Tooltip("law:Q", title="law", format=".3f"),
    alt.Tooltip("off:Q", title="difference (%)", format="+.2f"),
]
