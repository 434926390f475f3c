"""How well laws fit, how sure they are, and laws over tokens: repeats and forgetting."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tongues.laws import Law
from tongues.laws.rows import Rows
from tongues.pages import Figure
from tongues.pages.axes import COUNT, PLAIN, Axis, Row, colour, decades, linear, logs, ranks, shade
from tongues.pages.plots import alt, band, beyond, chart, dots, line, panel, rule, words
from tongues.pages.series import LOSS
from tongues.quantities import show_count
from tongues.report.laws.series import LawSeries, held_out, of_kind, points

__all__ = ["SYMBOLS", "clouds", "forgetting_law", "repeats", "residuals"]

SYMBOLS = {"alpha": "α", "beta": "β", "gamma": "γ", "kappa": "κ"}
_UNITS = {"E": "nats per token", "F": "tokens"}
_WIDE = 10.0  # a spread of this factor is shown in logs
_NUMBER = f"abs(datum.value) < 10000 ? {PLAIN} : {COUNT}"
_HELD = (0.5, 99.5)  # percentiles of the draws that the axes hold for certain
_EPOCHS = (1.0, 40.0)
_NAMED = 4.0  # epochs in the title
_POINTS = 60
_PANELS = 3  # starting losses shown: the lowest, the highest, and between
_LIKE = 1e-6  # starting losses nearer than this are one
_SHARES = (0.0, 0.01, 0.05, 0.2)  # of replay, drawn for a law without rows
_ROOM = 0.22  # of the tokens' span, for the labels at the lines' ends
_APART = 0.05  # least distance between two labels, as a share of the panel's height
_OFF_TIPS = ("run", "size:.3s=parameters", "loss:.3f=measured", "law:.3f")


def residuals(fitted: Sequence[LawSeries]) -> list[Figure]:
    """How far losses are from their laws: those fitted on, and the largest, held out."""
    sized = [each for each in fitted if each.rows and each.by_size]
    every = [N for each in sized if each.rows for N in each.rows.variables["N"].tolist()]
    own = [(each, "", each.law, each.rows) for each in sized if each.rows]
    out = [
        (each, f" above {show_count(each.law.holdout.above)}", *held)
        for each in sized
        if each.law.holdout and (held := held_out(each))
    ]
    caption = (
        "Each dot is a loss a law was fitted on, by how much it is above or below that law. A "
        "trend along the tokens, or from small sizes to large, would mean that the law has the "
        "wrong shape."
    )
    fitted_again = (
        "Each law was fitted again without the largest sizes; each dot is one of their losses, by "
        "how much it is above or below what the small sizes predicted."
    )
    figures: list[Figure] = []
    for name, title, text, drawn in (
        ("residuals", "The runs versus their laws", caption, own),
        ("extrapolation", "The largest sizes, predicted", fitted_again, out),
    ):
        of_laws = [(each, what, _off(each, law, rows)) for each, what, law, rows in drawn]
        rows = [row for *_, own_rows in of_laws for row in own_rows]
        if not rows:
            continue
        reach = max(1.0, *(abs(row["off"]) for row in rows)) * 1.08
        x = logs("tokens", "Tokens trained on", [row["tokens"] for row in rows], grid=False)
        y = linear("off", "Measured versus law (%)", low=-reach, high=reach, format="+~r")
        tint = shade("size", "Parameters", every)
        said = (*_OFF_TIPS, "off:+.2f=difference (%)")
        panels: list[alt.LayerChart] = []
        for each, what, own_rows in of_laws:
            half = float(np.median([abs(row["off"]) for row in own_rows]))
            heading = each.title(f"{each.series}{what}, half within {half:.2g} %")
            shown = dots(own_rows, x, y, tint, size=38, opacity=0.8, said=said)
            panels.append(panel(heading, rule(y=y, dash=()), shown, height=240))
        figures.append(Figure(name, title, text, tuple(panels), tuple(rows)))
    return figures


def _off(fitted: LawSeries, law: Law, rows: Rows) -> list[Row]:
    N, D, predicted = rows.variables["N"], rows.variables["D"], law.loss(**rows.variables)
    shared: Row = {"series": fitted.series, "target": fitted.law.target}
    runs = np.array(rows.runs, object)[rows.run]
    off = 100.0 * (rows.loss / predicted - 1.0)
    return points(shared, run=runs, size=N, tokens=D, loss=rows.loss, law=predicted, off=off)


def clouds(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """The bootstrap draws of the telling parameters; only laws with draws have them."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    outside = 0
    for each in fitted:
        law = each.law
        moves = {name for name, draws in law.draws.items() if np.ptp(draws) > 0} - law.tied.keys()
        for pair in law.equation.pairs:
            if not moves.issuperset(pair):
                continue
            cross, up = pair
            shared: Row = {"target": law.target, "series": each.series}
            shared |= {"x_name": cross, "y_name": up}
            own = shared | {"kind": "law", "x": law.params[cross], "y": law.params[up]}
            draws = points(shared | {"kind": "draw"}, x=law.draws[cross], y=law.draws[up])
            x, y = _axis(law, "x", cross), _axis(law, "y", up)
            inside = [
                axis.ends[0] <= row[axis.field] <= axis.ends[1]
                for row in (own, *draws)
                for axis in (x, y)
            ]
            outside += sum(not (a and b) for a, b in zip(inside[::2], inside[1::2], strict=True))
            panels.append(_cloud(each, own, draws, x, y, names))
            rows += [own, *draws]
    if not panels:
        return None
    caption = (
        "Each dot is the law of one resample of the runs, the cross the law of all runs; bars "
        "along the axes are 95 % intervals. A narrow slanted cloud means that only a combination "
        "of the two is known well."
    )
    if outside:
        caption += f" {outside} of {len(rows)} dots are outside the panels."
    return Figure("parameters", "How sure the parameters are", caption, tuple(panels), tuple(rows))


def _axis(law: Law, field: str, name: str) -> Axis:
    """Around nearly all draws and the law itself, in logs where they spread far."""
    unit = f" ({_UNITS[name]})" if name in _UNITS else ""
    of_compute = law.equation.role == "compute" and name == "gamma"
    title = SYMBOLS.get(name, name) + (", exponent of C" if of_compute else unit)
    low, high = (float(end) for end in np.percentile(law.draws[name], _HELD))
    low, high = min(low, law.params[name]), max(high, law.params[name])
    if low > 0 and high / low > _WIDE:
        room = (high / low) ** 0.12
        ticks = decades(low / room * 0.96, high * room * 1.04)
        return logs(field, title, (low, high), _NUMBER, margin=0.12, ticks=ticks)
    return linear(field, title, (low, high), room=0.12, labelExpr=_NUMBER)


def _cloud(
    fitted: LawSeries, own: Row, rows: Sequence[Row], x: Axis, y: Axis, names: Sequence[str]
) -> alt.LayerChart:
    law, pair = fitted.law, (str(own["x_name"]), str(own["y_name"]))
    (left, right), (bottom, top) = (law.interval[name] for name in pair)
    ends = chart([{"x": left, "x2": right, "y": bottom, "y2": top}])
    ends = ends.mark_rule(strokeWidth=5, style="step", opacity=0.85)
    symbols = " and ".join(SYMBOLS.get(name, name) for name in pair)
    series = "forgetting" if "F" in law.params else fitted.series
    draws = [{key: row[key] for key in ("series", "x", "y")} for row in rows]
    return panel(
        fitted.title(f"{symbols} of {series}"),
        dots(draws, x, y, colour(names), size=14, opacity=0.35, clip=True),
        ends.encode(x.channel(alt.X), alt.X2("x2"), y=alt.value("height")),
        ends.encode(y.channel(alt.Y), alt.Y2("y2"), x=alt.value(0)),
        dots([own], x, y, size=130, ring=True, shape="cross", filled=True, style="step"),
        height=280,
    )


def repeats(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Epochs of fresh text that so many epochs over the same text are worth."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    epochs = np.geomspace(*_EPOCHS, _POINTS)

    def worth(epochs: np.ndarray | float, R_D: np.ndarray | float) -> np.ndarray:
        return 1.0 - R_D * np.expm1(-(epochs - 1.0) / R_D)

    for each in fitted:
        if each.law.equation.role != "repetition":
            continue
        columns = {"epochs": epochs, "worth": worth(epochs, each.law.params["R_D"])}
        if each.law.draws:
            draws = worth(epochs, each.law.draws["R_D"][:, None])
            columns["low"], columns["high"] = np.percentile(draws, (2.5, 97.5), axis=0)
        own = points({"target": each.law.target, "series": each.series}, **columns)
        x = logs("epochs", "Epochs over the same text", _EPOCHS, PLAIN, margin=0.0, grid=False)
        y = logs("worth", "Worth (epochs of fresh text)", _EPOCHS, PLAIN, margin=0.0)
        fresh: list[Row] = [{"epochs": end, "worth": end} for end in _EPOCHS]
        named = float(worth(_NAMED, each.law.params["R_D"]))
        known = each.rows and float((each.rows.variables["D"] / each.rows.variables["U"]).max())
        low = replace(y.of("low"), title="")
        drawn = panel(
            each.title(f"{_NAMED:.0f} epochs are worth {named:.2g} fresh ones"),
            *beyond(x, known if known and _EPOCHS[0] < known < _EPOCHS[1] else None),
            band(own, x, low, "high", colour(names)) if each.law.draws else None,
            line(fresh, x, y, width=1.2, strokeDash=[4, 4], style="quiet"),
            line(own, x, y, colour(names)),
        )
        panels.append(drawn)
        rows += own
    if not panels:
        return None
    ranged = ", the band its 95 % interval." if any("low" in row for row in rows) else "."
    caption = (
        "Reading a text again teaches less each time. The dashed line is what fresh text would "
        f"teach, the solid one what repeats do{ranged}"
    )
    return Figure("repeats", "What repeated text is worth", caption, tuple(panels), tuple(rows))


def forgetting_law(fitted: Sequence[LawSeries]) -> Figure | None:
    """Loss on a base language along the tokens, a line a share of replay, a panel a start."""
    laws = [each for each in fitted if each.law.equation.role == "forgetting" and each.range]
    drawn = [(each, S, _forgetting_rows(each, S)) for each in laws for S in _starts(each)]
    rows = [row for *_, own in drawn for row in own]
    if not rows:
        return None
    shares = sorted({row["replay"] for row in rows})
    tokens = [row["tokens"] for row in rows]
    ends = [min(tokens), max(tokens) * (max(tokens) / min(tokens)) ** _ROOM]
    ticks = decades(min(tokens) * 0.96, max(tokens) * 1.04)
    x = logs("tokens", "Tokens trained on, all languages", ends, grid=False, ticks=ticks)
    tint = ranks([str(share) for share in shares], legend=False)
    said = ("run", "replay:.3~%", "tokens:.3s", "loss:.3f")
    panels: list[alt.LayerChart] = []
    for each, S, own in drawn:
        own = [row | {"rank": shares.index(row["replay"])} for row in own]
        loss = [S, *(row["loss"] for row in own)]
        y = logs("loss", LOSS, loss, PLAIN)
        lines = of_kind(own, "law")
        base = next((name for start, name in each.bases.items() if abs(start / S - 1) < _LIKE), "")
        start = f"From a base loss of {S:.2f}"
        shown = panel(
            each.title(f"{base}, f{start[1:]}" if base else start),
            rule(y=y, at=S),
            dots(of_kind(own, "measured"), x, y, tint, size=22, opacity=0.75, said=said),
            line(lines, x, y, tint, width=2.2),
            *words(_share_names(lines, max(loss) / min(loss)), x, y, align="left", dx=6),
            height=320,
        )
        panels.append(shown)
    caption = (
        "Loss on a base language while another is learned, a line for each share of replay, named "
        "at its end. The dashed line is the loss before the first step: above it is forgotten."
    )
    if of_kind(rows, "measured"):
        caption += " Dots were measured, lines are the law."
    title = "What replay keeps, by the law of forgetting"
    return Figure("law-of-forgetting", title, caption, tuple(panels), tuple(rows))


def _starts(fitted: LawSeries) -> list[float]:
    """The losses before the first step that get a panel: those with the most shares of replay."""
    if fitted.rows is None:
        return [float(np.mean(fitted.range["S"]))]
    known = fitted.rows.variables
    starts = np.unique(known["S"])
    shares = np.array([len(np.unique(known["r"][known["S"] == S])) for S in starts])
    most = starts[shares == shares.max()]
    return most[np.linspace(0, len(most) - 1, min(_PANELS, len(most))).round().astype(int)].tolist()


def _forgetting_rows(fitted: LawSeries, S: float) -> list[Row]:
    shared: Row = {"target": fitted.law.target, "start": S}
    rows: list[Row] = []
    shares: Sequence[float] = _SHARES
    if fitted.rows is not None:
        values = fitted.rows.variables
        same = np.flatnonzero(np.abs(values["S"] / S - 1.0) < _LIKE)
        shares = np.unique(values["r"][same]).tolist()
        runs = np.array(fitted.rows.runs, object)[fitted.rows.run[same]]
        columns = {"run": runs, "replay": values["r"][same], "tokens": values["D"][same]}
        rows = points(shared | {"kind": "measured"}, **columns, loss=fitted.rows.loss[same])
    D = np.geomspace(*fitted.range["D"], 80)
    for r in shares:
        law = shared | {"kind": "law", "replay": r}
        rows += points(law, tokens=D, loss=fitted.law.loss(D=D, r=r, S=S))
    return rows


def _share_names(lines: Sequence[Row], span: float) -> list[Row]:
    """Each line's share of replay at its end, none upon another; span: of the panel, a factor."""
    ends = {row["replay"]: row for row in lines}  # the last of each
    names: list[Row] = []
    place = -math.inf
    for row in sorted(ends.values(), key=lambda row: row["loss"]):
        place = max(math.log(row["loss"]), place + _APART * math.log(span))
        names.append(row | {"loss": math.exp(place), "text": f"{row['replay'] * 100:.3g} %"})
    return names
