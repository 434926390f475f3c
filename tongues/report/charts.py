"""What every figure is made of: panels that fit any width, shared scales, quiet log axes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from tongues.pages import Figure
from tongues.pages.axes import COUNT, decades

__all__ = ["COUNT", "Figure", "colour", "data", "label", "log_axis", "log_scale", "panel"]

HEIGHT = 290
_NAME = 240  # pixels of a series' name


def panel(title: str, *layers: alt.Chart, height: int = HEIGHT) -> alt.LayerChart:
    """One panel as wide as its container."""
    return alt.LayerChart(layer=layers, title=title, width="container", height=height)


def data(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows written into the chart itself, numbers at six figures."""
    return alt.InlineData(
        values=[
            {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
            for row in rows
        ]
    )


def colour(domain: Sequence[str], shown: Iterable[str], symbol: str = "stroke") -> alt.Color:
    """The series' colour, the same in every figure; the legend names those shown."""
    found = set(shown)
    names = [name for name in domain if name in found]
    return alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(domain)),
        legend=alt.Legend(
            symbolType=symbol,
            symbolSize=200 if symbol == "stroke" else 70,
            values=names,
            columns=2 if len(names) > 3 else 0,  # wider ones leave a narrow page
            labelLimit=_NAME,
        ),
    )


def label(
    chart: alt.Chart, text: str, style: str = "ink", **mark: Any
) -> tuple[alt.Chart, alt.Chart]:
    """Text of a chart's rows, with a rim in the colour of the paper to lie on lines."""
    written = chart.encode(text=text)
    return written.mark_text(style="halo", **mark), written.mark_text(style=style, **mark)


def log_scale(values: Iterable[float], margin: float = 0.04) -> alt.Scale:
    """A log scale that just holds the values, the same in every panel."""
    values = list(values)
    low, high = min(values), max(values)
    room = (high / low) ** margin if high > low else 1.1
    return alt.Scale(type="log", domain=[low / room, high * room], nice=False)


def log_axis(values: Iterable[float], form: str = COUNT, *, grid: bool = True) -> alt.Axis:
    """Round ticks for `log_scale`; `form` is the Vega expression of their labels."""
    values = list(values)
    ticks = decades(min(values) * 0.96, max(values) * 1.04)
    return alt.Axis(values=ticks, labelExpr=form, grid=grid)
