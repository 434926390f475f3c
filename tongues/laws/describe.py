"""A law in words: for a terminal, a notebook, and as a chart."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.frames import html_table, to_frame
from tongues.laws.allocation import allocate
from tongues.laws.forms import VARIABLES
from tongues.quantities import show_count

if TYPE_CHECKING:
    from tongues.laws.law import Law

__all__ = [
    "altair",
    "between",
    "chart",
    "frame",
    "html",
    "html_of",
    "law_title",
    "parameter_rows",
    "parameters",
    "runs_line",
    "sentences",
    "short",
    "summary",
    "text_table",
]

_MUCH = 1.0  # standard deviations a run must move a parameter to be named
_CURVES, _POINTS = 4, 60  # of a chart
_RANGES = ("of the runs", "beyond")
_BEYOND = 10.0  # how far past the runs a chart goes
_USUAL = {"N": (1e8, 5e9), "D": (1e9, 1e11), "C": (1e18, 1e22), "S": (2.5, 2.5), "r": (0.0, 0.5)}


def parameters(law: "Law") -> dict[str, Estimate]:
    """Each parameter with its interval; `reason` says why one has none."""
    base = law.equation.taken_names
    estimates = {}
    for name, value in law.params.items():
        note = "of the base" if name in base else ""
        note = "fixed" if name in law.fixed else note
        note = f"tied to {law.tied[name]}" if name in law.tied else note
        low, high = law.interval.get(name, (None, None))
        method = "" if low is None else "bootstrap over runs"
        estimates[name] = Estimate(
            value, low, high, n=law.n_runs or None, method=method, reason=note
        )
    return estimates


def parameter_rows(law: "Law") -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    rows: list[dict[str, str]] = []
    for name, of in parameters(law).items():
        ends = f"{of.low:.4g} to {of.high:.4g}" if of.low is not None else ""
        cell = f"{ends} ({of.reason})" if ends and of.reason else ends or of.reason
        rows.append({"parameter": name, "value": f"{of.value:.6g}", "95 % interval": cell})
    return rows


def law_title(law: "Law") -> str:
    """Its name and formula."""
    return f"{law.form}: L = {law.equation.formula}"


def between(value: float, ends: tuple[float, float] | None) -> str:
    """A value with its interval, as in `0.519 [0.5, 0.543]`."""
    return f"{value:.3g}" + (f" [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else "")


def sentences(law: "Law", *, brief: bool = False) -> list[str]:
    """What the law says, and how far it can be trusted, a line each; `brief` leaves out the use."""
    lines = [
        f"fitted to {law.n_rows} rows of {law.n_runs} {law.strategy} runs".replace("  ", " ")
        + f"; mean Huber error {law.mean_huber:.3g}"
    ]
    best = None if brief else allocate(law)
    if best and law.loose:
        lines.append("best size for C FLOPs: not pinned down by these runs, see below")
    elif best:
        lines += [f"best {line}" for line in best.sentences]
    held = law.holdout
    if held:
        what = "sizes above" if held.variable == "N" else "compute above"
        lines.append(
            f"held out, {what} {held.above:.3g} ({held.n_runs} runs): off by "
            f"{held.error:.2%} on average ({held.bias:+.2%}), within the fit by "
            f"{held.error_within:.2%}" + (", but its base saw them" if held.base_saw else "")
        )
    for one in law.leverage:
        if one.score >= _MUCH:
            moved = f", best size × {one.N_opt:.2f}" if one.N_opt else ""
            lines.append(
                f"without run {one.run} a parameter moves by {one.score:.1f} standard deviations"
                f"{moved}"
            )
    return lines


def runs_line(law: "Law") -> str:
    """What the languages of its runs are to them, such as `runs: en → tr + he, no replay`."""
    assert law.roles
    several = "r" in law.equation.variables  # of shares of replay
    return f"runs: {law.roles}".removesuffix(", no replay" if several else "")


def short(law: "Law") -> str:
    """A few lines: the formula with its numbers, their intervals, and how far to trust them."""
    about = " ".join(
        filter(None, (law.form, law.strategy * (law.strategy != law.form), law.target))
    )
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, law.params))})(?!\w)")
    formula = pattern.sub(lambda match: f"{law.params[match[1]]:.4g}", law.equation.formula)
    others = set(law.params).difference(pattern.findall(law.equation.formula))
    formula += "".join(
        f", {name} = {law.params[name]:.4g}" for name in law.params if name in others
    )
    lines = [f"{about}: L = {formula}"]
    ends = (f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in law.interval.items())
    lines += [f"95 %: {', '.join(ends)}"] if law.interval else []
    if law.n_rows:
        held = f"; held out: off by {law.holdout.error:.2%}" if law.holdout else ""
        lines.append(f"fitted to {law.n_rows} rows of {law.n_runs} runs{held}")
    lines += [f"from {law.source}"] if law.source else []
    lines += [runs_line(law)] if law.roles else []
    codes = ", ".join(dict.fromkeys(caution.code for caution in law.warnings))
    return "\n".join([*lines, *([f"cautions: {codes}"] if codes else [])])


def summary(law: "Law") -> str:
    """The title, the parameters, what follows, and every caution."""
    lines = [law_title(law), text_table(parameter_rows(law))]
    lines += sentences(law) if law.n_rows else [f"from {law.source}"] * bool(law.source)
    lines += [runs_line(law)] if law.roles else []
    return "\n".join([*lines, *(f"caution: {caution}" for caution in law.warnings)])


def text_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as aligned lines, the first with the names of the columns."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def frame(law: "Law") -> Any:
    """A row a parameter: its value, the ends of its interval, and whether it was fitted."""
    return to_frame(
        [
            {
                "parameter": name,
                "value": of.value,
                "low": of.low,
                "high": of.high,
                "note": of.reason,
            }
            for name, of in parameters(law).items()
        ]
    )


def html(law: "Law") -> str:
    """The parameters as a table, what follows, and every caution."""
    lines = sentences(law) if law.n_rows else [law.source]
    return html_of(parameter_rows(law), law_title(law), lines, law.warnings)


def html_of(
    rows: Sequence[Mapping[str, str]],
    title: str,
    lines: Iterable[str],
    cautions: Iterable[Caution] = (),
) -> str:
    """A table with sentences below it."""
    items = "".join(f"<li>{escape(line)}</li>" for line in (*lines, *map(str, cautions)))
    return f"{html_table(rows, title)}<ul>{items}</ul>"


def altair() -> Any:
    """The library that draws; a UserError where it is missing."""
    try:
        import altair as library
    except ImportError:
        raise UserError("a chart needs altair", hint="`pip install altair`") from None
    return library


def chart(law: "Law") -> Any:
    """The loss over tokens or compute, a curve a size or share of replay, dashed beyond."""
    rows, x, curve = _curves(law)
    alt = altair()
    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(alt.Data(values=rows), title=law_title(law)).encode(
        x=alt.X(f"{x}:Q", title=VARIABLES[x], scale=log, axis=alt.Axis(format=".0e"))
    )
    y = alt.Y("loss:Q", title="loss (nats/token)", scale=alt.Scale(type="log", nice=False))
    tint = (
        alt.Color(f"{curve}:O", title=VARIABLES[curve], sort=None)
        if curve
        else alt.value("#3266a8")
    )
    dash = alt.StrokeDash(
        "range:N", title="", scale=alt.Scale(domain=_RANGES, range=[[1, 0], [4, 4]])
    )
    line = base.mark_line().encode(y=y, color=tint, strokeDash=dash)
    if not law.draws:
        return line
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q"), y2="high:Q", color=tint)
    return band + line


def _curves(law: "Law") -> tuple[list[dict[str, Any]], str, str]:
    """The points of a chart, what it has along x, and what its curves differ in."""
    needed = law.equation.variables
    x = "D" if "D" in needed else "C" if "C" in needed else needed[0]
    curve = next((name for name in ("N", "r") if name in needed and name != x), "")
    known = _USUAL | {"U": _USUAL["D"]} | law.range
    low, high = known[x]
    points = np.concatenate(
        [np.geomspace(low, high, _POINTS), np.geomspace(high, high * _BEYOND, 20)]
    )
    within = _RANGES[0] if x in law.range else _RANGES[1]
    space = np.geomspace if known.get(curve, (0.0,))[0] > 0 else np.linspace
    rows: list[dict[str, Any]] = []
    for level in dict.fromkeys(space(*known[curve], _CURVES).tolist()) if curve else (0.0,):
        variables = {name: np.mean(known[name]) for name in needed} | {x: points}
        variables |= {curve: level} if curve else {}
        columns = {x: points, "loss": law.loss(**variables)}
        if law.draws:
            columns["low"], columns["high"] = law.loss_interval(**variables)
        label = {curve: f"{level:.0%}" if curve == "r" else show_count(level)} if curve else {}
        rows += [
            label
            | {name: float(values[i]) for name, values in columns.items()}
            | {"range": within if i < _POINTS else _RANGES[1]}
            for i in range(len(points))
        ]
    return rows, x, curve
