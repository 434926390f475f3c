"""What every figure is made of: panels that fit any width, shared scales, quiet log axes."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import altair as alt

from tongues.laws.observed import RunCurves
from tongues.pages import Figure
from tongues.report.theme import LOSS, series

__all__ = [
    "COUNT",
    "HEIGHT",
    "LOSS",
    "PLAIN",
    "SCIENTIFIC",
    "Figure",
    "beyond",
    "colour",
    "compact",
    "data",
    "decades",
    "label",
    "log_axis",
    "log_scale",
    "minus",
    "panel",
    "points",
    "shade",
    "tips",
]

HEIGHT = 290
_FEW = 6  # values that a legend names one by one
_NAME = 240  # pixels of a series' name

_STEPS = (
    (1,),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 6, 7, 8),
    *(
        [float(f"{1 + step * i:.4g}") for i in range(round(9 / step))]
        for step in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
    ),
)

COUNT = "replace(format(datum.value, '.3~s'), 'G', 'B')"  # 5M, 2B
PLAIN = "format(datum.value, '~r')"
SCIENTIFIC = "replace(format(datum.value, '.0e'), '+', '')"  # 2e12, as people write FLOPs


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


def shade(field: str, title: str, values: Iterable[float], symbol: str = "circle") -> alt.Color:
    """From pale for the least to dark for the most, evenly in logs; few values are told apart."""
    found = sorted(set(values))
    few, ticks = len(found) <= _FEW, decades(found[0], found[-1])
    legend = alt.Legend(
        title=title,
        titleOrient="left",
        type="symbol" if few else "gradient",
        symbolType=symbol,
        symbolSize=200 if symbol == "stroke" else 70,
        gradientLength=190,
        gradientThickness=10,
        values=found if few else ticks[:: 1 + len(ticks) // _FEW],
        labelExpr=COUNT,
        columns=3 if few and len(found) > 3 else 0,  # wider ones leave a narrow page
    )
    least = found[0] if len(found) > 1 else found[0] / 2  # one alone is dark
    scale = alt.Scale(type="log", domain=[least, found[-1]])
    return alt.Color(f"{field}:Q", scale=scale, legend=legend)


def label(
    chart: alt.Chart, text: str, style: str = "ink", **mark: Any
) -> tuple[alt.Chart, alt.Chart]:
    """Text of a chart's rows, with a rim in the colour of the paper to lie on lines."""
    written = chart.encode(text=text)
    return written.mark_text(style="halo", **mark), written.mark_text(style=style, **mark)


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


def beyond(x: alt.X, field: str, start: float) -> tuple[alt.Chart, ...]:
    """Shading to the right of `start`, named a projection, to lie under a panel's lines.

    field: the name of what `x` shows.
    """
    from_here = alt.Chart(data([{field: start, "text": "projection"}]))
    return (
        from_here.mark_rect(style="beyond").encode(
            x=x, x2=alt.value("width"), y=alt.value(0), y2=alt.value("height")
        ),
        *label(
            from_here.encode(x=alt.value("width"), y=alt.value(0)),
            "text:N",
            "note",
            align="right",
            baseline="top",
            dx=-6,
            dy=6,
        ),
    )


def compact(value: float, digits: int = 1) -> str:
    """A number as people write FLOPs, at so many digits: 2e12."""
    base, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(base):g}e{int(exponent)}"


def minus(text: str) -> str:
    """Numbers as they are set, with a true minus."""
    return text.replace("-", "−")


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


def points(run: RunCurves, lang: str | None = None) -> list[dict[str, Any]]:
    """A row per evaluation after the start, on the target or another language."""
    lang = lang or run.lang
    curve = run.curves[lang]
    return [
        {
            "series": series(run.strategy, run.replay),
            "target": run.target,
            "run": run.name,
            "shape": run.shape,
            "seed": run.seed,
            "lang": lang,
            "tokens": float(tokens),
            "compute": float(compute),
            "loss": float(loss),
        }
        for tokens, compute, loss in zip(curve.tokens, curve.compute, curve.loss, strict=True)
        if tokens > 0
    ]


def tips() -> list[alt.Tooltip]:
    """What the rows of `points` say under the pointer."""
    return [
        alt.Tooltip("run:N"),
        alt.Tooltip("shape:N", title="size"),
        alt.Tooltip("tokens:Q", format=".3s"),
        alt.Tooltip("compute:Q", title="FLOPs", format=".2e"),
        alt.Tooltip("loss:Q", format=".3f"),
    ]
