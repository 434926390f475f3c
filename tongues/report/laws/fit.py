"""How well laws fit, and how sure they are: residuals, the runs held out, clouds of parameters."""

from collections.abc import Sequence

import numpy as np

from tongues.laws import Law
from tongues.laws.rows import Rows
from tongues.pages import Figure
from tongues.pages.axes import COUNT, PLAIN, Axis, Row, colour, decades, linear, logs, shade
from tongues.pages.plots import alt, chart, dots, panel, rule
from tongues.quantities import show_count
from tongues.report.laws.series import LawSeries, held_out

__all__ = ["clouds", "extrapolation", "residuals"]

_SYMBOLS = {"alpha": "α", "beta": "β", "gamma": "γ", "kappa": "κ"}
_UNITS = {"E": "nats per token", "F": "tokens"}
_WIDE = 10.0  # a spread of this factor is shown in logs
_NUMBER = f"abs(datum.value) < 10000 ? {PLAIN} : {COUNT}"
_KEPT = (0.5, 99.5)  # percentiles of the draws that the axes hold for certain


def residuals(fitted: Sequence[LawSeries]) -> Figure | None:
    """How far each measured loss lies from its law, against tokens, by model size."""
    drawn = {one: _off(one, one.law, one.rows) for one in fitted if one.rows and _by_size(one)}
    if not drawn:
        return None
    titles = [one.title(f"{one.series}, {_half(rows)}") for one, rows in drawn.items()]
    caption = (
        "Each dot is a loss a law was fitted on, by how much it lies above or below that law. A "
        "trend along the tokens, or from small sizes to large, would mean that the law has the "
        "wrong shape."
    )
    title = "The runs beside their laws"
    return _figure("residuals", title, caption, titles, list(drawn.values()), fitted)


def extrapolation(fitted: Sequence[LawSeries]) -> Figure | None:
    """What laws fitted without the largest sizes say of these."""
    titles: list[str] = []
    drawn: list[list[Row]] = []
    for one in fitted:
        held = held_out(one) if _by_size(one) else None
        if held and one.law.holdout:
            rows = _off(one, *held)
            above = show_count(one.law.holdout.above)
            drawn.append(rows)
            titles.append(one.title(f"{one.series} above {above}, {_half(rows)}"))
    if not drawn:
        return None
    caption = (
        "Each law was fitted anew without the largest sizes; each dot is one of their losses, by "
        "how much it lies above or below what the small sizes foretold."
    )
    title = "The largest sizes, foretold"
    return _figure("extrapolation", title, caption, titles, drawn, fitted)


def _by_size(one: LawSeries) -> bool:
    return {"N", "D"} <= one.range.keys()


def _half(rows: Sequence[Row]) -> str:
    return f"half within {float(np.median([abs(row['off']) for row in rows])):.2g} %"


def _off(one: LawSeries, law: Law, rows: Rows | None) -> list[Row]:
    assert rows is not None
    columns = (rows.variables["N"], rows.variables["D"], rows.loss, law.loss(**rows.variables))
    values = zip(rows.run, *(column.tolist() for column in columns), strict=True)
    shared = {"series": one.series, "target": one.law.target}
    return [
        shared
        | {"run": rows.runs[run], "size": N, "tokens": D, "loss": loss, "law": promised}
        | {"off": 100.0 * (loss / promised - 1.0)}
        for run, N, D, loss, promised in values
    ]


def _figure(
    name: str,
    title: str,
    caption: str,
    titles: Sequence[str],
    drawn: Sequence[list[Row]],
    fitted: Sequence[LawSeries],
) -> Figure:
    """A panel each, all on one scale; a size has the same colour in every figure."""
    rows = [row for of_law in drawn for row in of_law]
    reach = max(1.0, *(abs(row["off"]) for row in rows)) * 1.08
    x = logs("tokens", "Tokens trained on", [row["tokens"] for row in rows], grid=False)
    y = linear("off", "Measured beside law (%)", low=-reach, high=reach, format="+~r")
    sizes = [one.rows.variables["N"].tolist() for one in fitted if one.rows and _by_size(one)]
    tint = shade("size", "Parameters", [N for of_law in sizes for N in of_law])
    said = ("run", "size:.3s=parameters", "loss:.3f=measured", "law:.3f", "off:+.2f=difference (%)")
    panels = [
        panel(
            heading,
            rule(y=y, dash=()),
            dots(of_law, x, y, tint, size=38, opacity=0.8, said=said),
            height=240,
        )
        for heading, of_law in zip(titles, drawn, strict=True)
    ]
    return Figure(name, title, caption, tuple(panels), tuple(rows))


def clouds(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """The bootstrap draws of the telling parameters; only laws with draws have them."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    outside = 0
    for one in fitted:
        for pair in one.law.equation.pairs:
            if all(_moves(one.law, name) for name in pair):
                cloud = _cloud(one, pair)
                x, y = (_axis(one.law, *each) for each in zip(("x", "y"), pair, strict=True))
                outside += sum(not (_holds(x, row["x"]) and _holds(y, row["y"])) for row in cloud)
                panels.append(_cloud_panel(one, pair, cloud, x, y, names))
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


def _cloud(one: LawSeries, pair: tuple[str, str]) -> list[Row]:
    shared = {"target": one.law.target, "series": one.series, "x_name": pair[0], "y_name": pair[1]}
    point = shared | {"kind": "law", "x": one.law.params[pair[0]], "y": one.law.params[pair[1]]}
    draws = zip(*(one.law.draws[name].tolist() for name in pair), strict=True)
    return [point, *(shared | {"kind": "draw", "x": x, "y": y} for x, y in draws)]


def _axis(law: Law, field: str, name: str) -> Axis:
    """Around nearly all draws and the law itself, in logs where they spread far."""
    title = _SYMBOLS.get(name, name)
    if law.equation.role == "compute" and name == "gamma":
        title += ", exponent of C"
    elif name in _UNITS:
        title += f" ({_UNITS[name]})"
    low, high = (float(end) for end in np.percentile(law.draws[name], _KEPT))
    low, high = min(low, law.params[name]), max(high, law.params[name])
    if low > 0 and high / low > _WIDE:
        room = (high / low) ** 0.12
        ticks = decades(low / room * 0.96, high * room * 1.04)
        return logs(field, title, (low, high), _NUMBER, margin=0.12, ticks=ticks)
    return linear(field, title, (low, high), room=0.12, labelExpr=_NUMBER)


def _holds(axis: Axis, value: float) -> bool:
    low, high = axis.ends
    return low <= value <= high


def _cloud_panel(
    one: LawSeries,
    pair: tuple[str, str],
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    names: Sequence[str],
) -> alt.LayerChart:
    law, *draws = ({key: row[key] for key in ("series", "x", "y")} for row in rows)
    across, up = (one.law.interval[name] for name in pair)
    ends = chart([{"x": across[0], "x2": across[1], "y": up[0], "y2": up[1]}])
    ends = ends.mark_rule(strokeWidth=5, style="step", opacity=0.85)
    symbols = " and ".join(_SYMBOLS.get(name, name) for name in pair)
    return panel(
        one.title(f"{symbols} of {'forgetting' if 'F' in one.law.params else one.series}"),
        dots(draws, x, y, colour(names), size=14, opacity=0.35, clip=True),
        ends.encode(x.channel(alt.X), alt.X2("x2"), y=alt.value("height")),
        ends.encode(y.channel(alt.Y), alt.Y2("y2"), x=alt.value(0)),
        dots([law], x, y, size=130, ring=True, shape="cross", filled=True, style="step"),
        height=280,
    )
