"""What figures are drawn from: panels that fit any width, shared scales, quiet axes, few kinds.

A panel is made of layers: `line`, `dots`, `band`, `rule`, `words`, `beyond`. `intervals`, `bars`
and `heat` are whole panels of rows by category.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from tongues.core.pages.axes import Axis, Row, tips

_DASHED = (4, 4)  # pixels of a dash, and between two
_ROW = 30  # pixels of a category
Place = Axis | float | str | None  # a field, pixels, `width` or `height`


def panel(title: str, *layers: alt.Chart | None, height: float = 290) -> alt.LayerChart:
    """One panel as wide as its container; layers that are None are left out."""
    drawn = [layer for layer in layers if layer is not None]
    named = title or alt.Undefined
    return alt.LayerChart(layer=drawn, title=named, width="container", height=height)


def chart(rows: Iterable[Mapping[str, Any]]) -> alt.Chart:
    """Rows written into the chart itself, numbers at six figures."""
    values = [
        {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
        for row in rows
    ]
    return alt.Chart(alt.InlineData(values=values))


def line(
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    tint: alt.Color | None = None,
    by: str = "",
    *,
    width: float = 2.5,
    mean: bool = False,
    order: str = "",
    **mark: Any,
) -> alt.Chart:
    """A line through rows; by: the field of which each value has a line of its own.

    mean: through the mean of y at each x. order: the field to go along, instead of x.
    """
    base = _at(rows, x, y.of(f"mean({y.field})") if mean else y, tint)
    base = base.encode(detail=alt.Detail(f"{by}:N")) if by else base
    base = base.encode(order=f"{order}:Q") if order else base
    return base.mark_line(strokeWidth=width, **mark)


def dots(
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    tint: alt.Color | None = None,
    *,
    size: float = 60,
    tooltip: Sequence[str] = (),
    ring: bool = False,
    **mark: Any,
) -> alt.Chart:
    """A dot a row; tooltip: as `tips` takes it."""
    base = _at(rows, x, y, tint, tooltip)
    if ring:
        return base.mark_point(**Row(size=size, filled=False, strokeWidth=2, opacity=1) | mark)
    return base.mark_circle(**Row(size=size, opacity=1) | mark)


def band(
    rows: Iterable[Row], x: Axis, low: Axis, high: str, tint: alt.Color | None = None
) -> alt.Chart:
    """The area between two fields."""
    return _at(rows, x, low, tint).encode(y2=high).mark_area(opacity=0.2, clip=True)


def rule(
    x: Axis | None = None,
    y: Axis | None = None,
    at: float | None = 0.0,
    *,
    dash: Sequence[float] = _DASHED,
) -> alt.Chart | None:
    """A quiet line across a panel, upright where `x` is given; nothing at None."""
    axis = x or y
    if at is None or axis is None:
        return None
    dashes = Row(strokeDash=list(dash)) if dash else {}
    return _at([{axis.field: at}], x, y).mark_rule(strokeWidth=1.2, style="quiet", **dashes)


def beyond(x: Axis, start: float | None) -> tuple[alt.Chart, ...]:
    """Shading to the right of `start`, named a projection; goes below lines. Nothing at None."""
    if start is None:
        return ()
    shaded = _at([{x.field: start}], x, 0)
    shaded = shaded.encode(x2=alt.value("width"), y2=alt.value("height"))
    return (
        shaded.mark_rect(style="beyond"),
        *words("projection", "width", 0, "note", align="right", baseline="top", dx=-6, dy=6),
    )


def words(
    text: str | Iterable[Row],
    x: Place,
    y: Place,
    style: str = "ink",
    field: str = "text",
    **mark: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """Text on lines, with a rim in the colour of the paper: one, or that of a field of rows."""
    rows = [{field: text}] if isinstance(text, str) else text
    written = _at(rows, x, y).encode(text=f"{field}:N")
    return written.mark_text(style="halo", **mark), written.mark_text(style=style, **mark)


@dataclass(frozen=True, slots=True)
class Marks:
    """How points with intervals are drawn.

    size: of a dot, in square pixels. width: of a line. lower: pixels below the middle of a row.
    padding: around the series that share a row, in widths of one; None: Vega's.
    """

    size: float
    width: float
    lower: float = 0.0
    padding: float | None = None


def intervals(
    title: str,
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    tint: alt.Color,
    *,
    height: float,
    marks: Marks,
    side_by_side: Sequence[str] = (),
    beside: str = "series",
    tooltip: Sequence[str] = (),
    under: Sequence[alt.Chart | None] = (),
    over: Sequence[alt.Chart] = (),
) -> alt.LayerChart:
    """Points with intervals by category, along x: a row each, `low` to `high` where it has them.

    side_by_side: the values of `beside` that share a category's row. under, over: layers, such as
    words.
    """
    offset = Row()
    if side_by_side:
        scale = {} if marks.padding is None else Row(scale=alt.Scale(paddingOuter=marks.padding))
        offset = Row(yOffset=alt.YOffset(f"{beside}:N", sort=list(side_by_side), **scale))
    ranged = [row for row in rows if row.get("low") is not None]
    ends = _at(ranged, x.of("low"), y, tint).encode(x2="high:Q", **offset)
    down = Row(yOffset=marks.lower) if marks.lower else {}
    return panel(
        title,
        *under,
        ends.mark_rule(strokeWidth=marks.width, opacity=1.0, **down) if ranged else None,
        dots(rows, x, y, tint, size=marks.size, tooltip=tooltip, **down).encode(**offset),
        *over,
        height=height,
    )


def bars(
    title: str,
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    tint: alt.Color,
    *,
    tooltip: Sequence[str],
    order: str,
    row: float = _ROW,
    band: float = 0.7,
) -> alt.LayerChart:
    """Bars by category, one behind the other in the order of a field; row: pixels of a category."""
    base = _at(rows, x, y, tint, tooltip).encode(order=f"{order}:Q")
    return panel(title, base.mark_bar(height={"band": band}), height=_height(y, row))


def heat(
    title: str,
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    tint: alt.Color,
    depth: str,
    scale: Mapping[str, Any],
    *,
    tooltip: Sequence[str],
    row: float = _ROW,
    written: str = "",
    outlined: str = "",
) -> alt.LayerChart:
    """A matrix, a cell as deep as its value; written: Vega's words for the number on it.

    outlined: the field of cells that have a frame. row: pixels of a category.
    """
    cells = _at(rows, x, y, tooltip=tooltip)
    deep = alt.Opacity(f"{depth}:Q", scale=alt.Scale(**scale), legend=None)
    numbers = cells.transform_calculate(short=written).encode(text="short:N")
    shown = numbers.mark_text(style="ink", fontSize=11) if written else None
    framed = cells.transform_filter(f"datum.{outlined}")
    frames = framed.mark_rect(filled=False, strokeWidth=1.8, style="step") if outlined else None
    filled = cells.mark_rect().encode(opacity=deep, color=tint)
    return panel(title, filled, frames, shown, height=_height(y, row))


def _height(categories: Axis, row: float) -> float:
    return row * len(categories.sort or ()) + 20


def _at(
    rows: Iterable[Mapping[str, Any]],
    x: Place,
    y: Place,
    tint: alt.Color | None = None,
    tooltip: Sequence[str] = (),
) -> alt.Chart:
    base = chart(rows)
    for name, place, make in (("x", x, alt.X), ("y", y, alt.Y)):
        if place is not None:
            value = place.channel(make) if isinstance(place, Axis) else alt.value(place)
            base = base.encode(**Row({name: value}))
    base = base if tint is None else base.encode(color=tint)
    return base.encode(tooltip=tips(*tooltip)) if tooltip else base
