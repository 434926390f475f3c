"""How sure the parameters of laws are: every resample's, two parameters at a time."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import Law
from tongues.report.charts import COUNT, PLAIN, Figure, colour, data, log_axis, panel
from tongues.report.law_series import LawSeries

__all__ = ["clouds"]

_SYMBOLS = {"alpha": "α", "beta": "β", "gamma": "γ", "kappa": "κ"}
_OF_POWER = {"gamma": "exponent of C"}
_UNITS = {"E": "nats per token", "F": "tokens"}
_WIDE = 10.0  # a spread of this factor is shown in logs
_NUMBER = f"abs(datum.value) < 10000 ? {PLAIN} : {COUNT}"
_KEPT = (0.5, 99.5)  # percentiles of the draws that the axes hold for certain

Row = dict[str, Any]


def clouds(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """The bootstrap draws of the telling parameters; only laws with draws have them."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    outside = 0
    for one in fitted:
        for pair in one.law.equation.pairs:
            if not all(_moves(one.law, name) for name in pair):
                continue
            cloud = _rows(one, pair)
            scales = [_scale(one.law.draws[name], one.law.params[name]) for name in pair]
            outside += _outside(cloud, scales)
            panels.append(_panel(one, pair, cloud, scales, names))
            rows += cloud
    if not panels:
        return None
    caption = (
        "Each dot is the law of one resample of the runs, the cross the law of all runs; bars "
        "along the axes are 95 % intervals. A narrow slanted cloud means that only a combination "
        "of the two is known well."
    )
    if outside:
        caption += f" {outside} of {len(rows)} dots lie outside the panels."
    title = "How sure the parameters are"
    return Figure("parameters", title, caption, tuple(panels), tuple(rows))


def _moves(law: Law, name: str) -> bool:
    return name in law.draws and float(np.ptp(law.draws[name])) > 0 and name not in law.tied


def _rows(one: LawSeries, pair: tuple[str, str]) -> list[Row]:
    shared = {"target": one.law.target, "series": one.series, "x_name": pair[0], "y_name": pair[1]}
    point = shared | {"kind": "law", "x": one.law.params[pair[0]], "y": one.law.params[pair[1]]}
    draws = zip(*(one.law.draws[name].tolist() for name in pair), strict=True)
    return [point, *(shared | {"kind": "draw", "x": x, "y": y} for x, y in draws)]


def _scale(draws: np.ndarray, value: float) -> alt.Scale:
    """Around nearly all draws and the law itself, in logs where they spread far."""
    low, high = np.percentile(draws, _KEPT)
    low, high = min(float(low), value), max(float(high), value)
    if low > 0 and high / low > _WIDE:
        room = (high / low) ** 0.12
        return alt.Scale(type="log", domain=[low / room, high * room], nice=False)
    room = 0.12 * (high - low)
    return alt.Scale(domain=[low - room, high + room], nice=False, zero=False)


def _axis(scale: alt.Scale) -> alt.Axis:
    told = scale.to_dict()
    if told.get("type") == "log":
        return log_axis(told["domain"], _NUMBER)
    return alt.Axis(tickCount=5, labelExpr=_NUMBER)


def _outside(rows: Sequence[Row], scales: Sequence[alt.Scale]) -> int:
    (left, right), (low, high) = (scale.to_dict()["domain"] for scale in scales)
    return sum(not (left <= row["x"] <= right and low <= row["y"] <= high) for row in rows)


def _axis_title(law: Law, name: str) -> str:
    symbol = _SYMBOLS.get(name, name)
    if law.equation.role == "compute" and name in _OF_POWER:
        return f"{symbol}, {_OF_POWER[name]}"
    return f"{symbol} ({_UNITS[name]})" if name in _UNITS else symbol


def _panel(
    one: LawSeries,
    pair: tuple[str, str],
    rows: Sequence[Row],
    scales: Sequence[alt.Scale],
    names: Sequence[str],
) -> alt.LayerChart:
    (x_name, y_name), (x_scale, y_scale) = pair, scales
    x = alt.X("x:Q", title=_axis_title(one.law, x_name), scale=x_scale, axis=_axis(x_scale))
    y = alt.Y("y:Q", title=_axis_title(one.law, y_name), scale=y_scale, axis=_axis(y_scale))
    tint = colour(names, [one.series]).legend(None)
    law, *draws = ({key: row[key] for key in ("series", "x", "y")} for row in rows)
    across, up = (one.law.interval[name] for name in pair)
    ends = alt.Chart(data([{"x": across[0], "x2": across[1], "y": up[0], "y2": up[1]}]))
    bar: dict[str, Any] = {"strokeWidth": 5, "style": "step", "opacity": 0.85}
    symbols = f"{_SYMBOLS.get(x_name, x_name)} and {_SYMBOLS.get(y_name, y_name)}"
    return panel(
        one.title(f"{symbols} of {'forgetting' if 'F' in one.law.params else one.series}"),
        alt.Chart(data(draws)).mark_circle(size=14, opacity=0.35, clip=True).encode(x, y, tint),
        ends.mark_rule(**bar).encode(x, alt.X2("x2"), y=alt.value("height")),
        ends.mark_rule(**bar).encode(y, alt.Y2("y2"), x=alt.value(0)),
        alt.Chart(data([law]))
        .mark_point(shape="cross", size=130, filled=True, opacity=1, style="step")
        .encode(x, y),
        height=280,
    )
