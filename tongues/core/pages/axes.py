"""The axes, colours and tooltips of figures: round ticks, one colour for one thing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Any

import altair as alt

Row = dict[str, Any]

LOSS = "Loss (nats per token)"
COUNT = "replace(format(datum.value, '.3~s'), 'G', 'B')"  # 5M, 2B
PLAIN = "format(datum.value, '~r')"
SCIENTIFIC = "replace(format(datum.value, '.0e'), '+', '')"  # 2e12, as people write FLOPs
_FEW = 6  # values that a legend names one by one
_NAME = 240  # pixels of a series' name
_ROW = 46  # characters of a legend's line on the narrowest page
_LEVEL = 9  # columns of a matrix whose names there is room to write level
_FINER = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)  # between ticks; chosen to be round
_STEPS = (  # ticks in a decade, the coarsest first
    (1,),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 6, 7, 8),
    *([float(f"{1 + step * i:.4g}") for i in range(round(9 / step))] for step in _FINER),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """A field of rows with its scale, for x or y."""

    field: str
    title: str | None
    scale: alt.Scale | None
    axis: alt.Axis | None
    kind: str = "Q"
    sort: Sequence[str] | None = None

    def of(self, field: str) -> "Axis":
        """The same for another field, such as the end of an interval."""
        return replace(self, field=field)

    def channel(self, make: Any) -> Any:
        """As altair takes it; make: `alt.X` or `alt.Y`."""
        more: Row = {"sort": list(self.sort)} if self.sort is not None else {}
        more |= {} if self.scale is None else {"scale": self.scale}
        return make(f"{self.field}:{self.kind}", title=self.title, axis=self.axis, **more)


Held = Iterable[Row | float]  # what an axis holds: numbers, or rows with its field


def _values(field: str, holds: Held) -> list[float]:
    return [each[field] if isinstance(each, Mapping) else each for each in holds]


def logs(
    field: str,
    title: str,
    holds: Held,
    form: str = COUNT,
    *,
    margin: float = 0.04,
    grid: bool = True,
    ticks: Iterable[float] | None = None,
) -> Axis:
    """A log axis that just holds the values, with round ticks; form: Vega's words for these."""
    values = _values(field, holds)
    low, high = min(values), max(values)
    room = (high / low) ** margin if high > low else 1.1
    scale = alt.Scale(type="log", domain=[low / room, high * room], nice=False)
    shown = decades(low * 0.96, high * 1.04) if ticks is None else list(ticks)
    return Axis(field, title, scale, alt.Axis(values=shown, labelExpr=form, grid=grid))


def linear(
    field: str,
    title: str | None,
    holds: Held = (),
    *,
    room: float = 0.06,
    low: float | None = None,
    high: float | None = None,
    clamp: bool = False,
    nice: bool = False,
    **axis: Any,
) -> Axis:
    """A straight axis around the values it holds, with room as a share of their span.

    low, high: where the axis ends instead; without any of these Vega chooses. axis: as altair's
    axes take it.
    """
    scale = alt.Scale(zero=False)
    if ends := sorted(_values(field, holds)):
        span = ends[-1] - ends[0] or 0.1
        low = ends[0] - room * span if low is None else low
        high = ends[-1] + room * span if high is None else high
    if low is not None and high is not None:
        more = Row(clamp=True) if clamp else {}
        scale = alt.Scale(domain=[low, high], nice=nice, **more)
    return Axis(field, title, scale, alt.Axis(**Row(tickCount=5) | axis))


def categories(field: str, order: Sequence[str], *, size: float = 13, **axis: Any) -> Axis:
    """An axis of names, without lines."""
    drawn = Row(domain=False, ticks=False, grid=False, labelFontSize=size)
    drawn |= Row(labelPadding=8, labelLimit=130) | axis
    return Axis(field, None, None, alt.Axis(**drawn), "N", order)


def across(field: str, order: Sequence[str], level: int = _LEVEL, **axis: Any) -> Axis:
    """The names above a matrix; level: columns up to which they are written level."""
    angle = 0 if len(order) <= level else -90
    return categories(field, order, size=12, labelAngle=angle, orient="top", **axis)


def tips(*fields: str) -> list[alt.Tooltip]:
    """What is shown under the pointer: `run`, `tokens:.3s`, `compute:.2e=FLOPs`."""
    tooltips = []
    for field in fields:
        field, _, title = field.partition("=")
        name, _, form = field.partition(":")
        more = Row(format=form) if form else {}
        more |= Row(title=title) if title else {}
        tooltips.append(alt.Tooltip(f"{name}:{'Q' if form else 'N'}", **more))
    return tooltips


def _symbols(symbol: str, **legend: Any) -> Row:
    return Row(symbolType=symbol, symbolSize=200 if symbol == "stroke" else 70) | legend


def colour(
    domain: Sequence[str],
    shown: Iterable[str | Row] | None = None,
    symbol: str = "stroke",
    field: str = "series",
    **legend: Any,
) -> alt.Color:
    """The series' colour, the same in every figure; the legend names those shown, if any.

    shown: names, or rows with the field.
    """
    scale = alt.Scale(domain=list(domain))
    if shown is None:
        return alt.Color(f"{field}:N", scale=scale, legend=None)
    used = {each if isinstance(each, str) else each[field] for each in shown}
    names = [name for name in domain if name in used]
    columns = max(1, _ROW // (max(map(len, names), default=0) + 4))  # with a symbol each
    drawn = Row(values=names, columns=min(columns, len(names)), labelLimit=_NAME)
    return alt.Color(
        f"{field}:N", scale=scale, legend=alt.Legend(**drawn | _symbols(symbol, **legend))
    )


def shade(field: str, title: str, values: Iterable[float]) -> alt.Color:
    """From pale for the least to dark for the most, evenly in logs; few values have names."""
    ends = sorted(set(values))
    few, ticks = len(ends) <= _FEW, decades(ends[0], ends[-1])
    legend = _symbols(
        "circle",
        title=title,
        titleOrient="left",
        type="symbol" if few else "gradient",
        gradientLength=190,
        gradientThickness=10,
        values=ends if few else ticks[:: 1 + len(ticks) // _FEW],
        labelExpr=COUNT,
        columns=3 if few and len(ends) > 3 else 0,  # wider ones leave a narrow page
    )
    least = ends[0] if len(ends) > 1 else ends[0] / 2  # one alone is dark
    scale = alt.Scale(type="log", domain=[least, ends[-1]])
    return alt.Color(f"{field}:Q", scale=scale, legend=alt.Legend(**legend))


def ranks(order: Sequence[str]) -> alt.Color:
    """A colour for each of some names in order, pale to dark, by the field `rank`."""
    names = f"{json.dumps(list(order))}[datum.value]"
    columns = 4 if len(order) > 5 else 0  # wider ones leave a narrow page
    named = _symbols("stroke", type="symbol", values=list(range(len(order))), labelExpr=names)
    least = 0 if len(order) > 1 else -1  # one alone is dark
    scale = alt.Scale(domain=[least, len(order) - 1], range="ramp")
    return alt.Color("rank:Q", scale=scale, legend=alt.Legend(**named, columns=columns))


def decades(low: float, high: float) -> list[float]:
    """Round ticks for a log axis: powers of ten, or 1, 2, 5 of them, or finer where few fit."""
    exponents = range(floor(log10(low)), ceil(log10(high)) + 1)
    fewest = 2 if log10(high / low) > 2.2 else 3
    ticks: list[float] = []
    for steps in _STEPS:
        ticks = [float(f"{step}e{exponent}") for exponent in exponents for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= fewest:
            break
    return ticks


def series_name(strategy: str, replay: float = 0.0) -> str:
    """What the runs of a strategy are called in figures and words."""
    if strategy != "cpt":
        return strategy
    return f"CPT + {replay * 100:.3g} % replay" if replay else "CPT"


def domain(ratios: Iterable[float] = ()) -> list[str]:
    """Every series in the order of the palette, so that a colour means one thing everywhere.

    The third colour is that of base languages, which tiles have.
    """
    replayed = (series_name("cpt", ratio) for ratio in sorted(set(ratios) - {0.0}))
    return ["scratch", "CPT", "base", *replayed]
