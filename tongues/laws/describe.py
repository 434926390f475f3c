"""A law in words: for a terminal, a notebook, a model's card, and as a chart."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.frames import html_table
from tongues.laws.allocation import allocate
from tongues.laws.forms import VARIABLES
from tongues.magnitudes import counted, show_count

if TYPE_CHECKING:
    from tongues.laws.law import Law


_MUCH = 1.0  # standard deviations a run must move a parameter to be named
_CURVES, _POINTS = 4, 60  # of a chart
_RANGES = ("of the runs", "beyond")
_BEYOND = 10.0  # how far past the runs a chart goes
_DRAWS = 400  # of a prediction that is printed
_USUAL = {"N": (1e8, 5e9), "D": (1e9, 1e11), "C": (1e18, 1e22), "S": (2.5, 2.5), "r": (0.0, 0.5)}
_USUAL |= {"U": _USUAL["D"], "h": (0.5, 0.5), "k": (1, 8)}


def parameter_rows(law: "Law") -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    rows: list[dict[str, str]] = []
    for name, of in law.parameters.items():
        ends = f"{of.low:.4g} to {of.high:.4g}" if of.low is not None else ""
        cell = f"{ends} ({of.reason})" if ends and of.reason else ends or of.reason
        rows.append({"parameter": name, "value": f"{of.value:.6g}", "95 % interval": cell})
    return rows


def law_title(law: "Law") -> str:
    """Its name and formula."""
    return f"{law.form}: L = {law.equation.formula}"


def sentences(law: "Law", *, brief: bool = False) -> list[str]:
    """What the law gives and how far to trust it, a line each; `brief` leaves out the use."""
    runs = " ".join(filter(None, (str(law.n_runs), law.strategy, "runs")))
    lines = [f"fitted to {law.n_rows} rows of {runs}; mean Huber error {law.mean_huber:.3g}"]
    best, held = None if brief else allocate(law), law.holdout
    if best and law.loose:
        lines.append("best size for C FLOPs: not pinned down by these runs, see below")
    elif best:
        lines += [f"best {line}" for line in best.sentences]
    if held:
        lines.append(
            f"held out, compute above {held.above:.3g} ({counted(held.n_runs, 'run')}): off by "
            f"{held.error:.2%} on average ({held.bias:+.2%}), within the fit by "
            f"{held.error_within:.2%}" + (", but its base saw them" if held.base_saw else "")
        )
    if law.stack and not brief:
        weights = ", ".join(f"{name} {weight:.0%}" for name, weight in law.stack.items())
        lines.append(f"weights by what they predict of the most compute: {weights}")
    lines += [] if brief else _predicted(law) + predicted_end(law)
    lines += [
        f"without run {one.run} a parameter moves by {one.score:.1f} standard deviations"
        + (f", best size × {one.N_opt:.2f}" if one.N_opt and not law.loose else "")
        for one in law.leverage
        if one.score >= _MUCH
    ]
    return lines


def _predicted(law: "Law") -> list[str]:
    """What one run of ten times the most compute would end at."""
    if law.rows is None or {"N", "D"} != set(law.equation.variables):
        return []
    compute, best = _BEYOND * law.range["C"][1], None if law.loose else allocate(law)
    N = math.sqrt(
        compute / 6.0 / float(np.median(law.rows.variables["D"] / law.rows.variables["N"]))
    )
    N = float(best.sizes(compute)[0]) if best else N
    D = compute / (6.0 * N)
    of = law.predictor(_DRAWS)(N, D).estimates[0]
    where = f"{show_count(N)} parameters on {show_count(D)} tokens"
    return [
        f"predicted for one run of {_BEYOND:g} times the most compute, {where}: {of.value:.4g}, "
        f"95 % of such runs {of.low:.4g} to {of.high:.4g}"
    ]


def predicted_end(law: "Law") -> list[str]:
    """What one run of a base alone, ten times as long as the longest, would end at."""
    if law.rows is None or set(law.equation.variables) != {"D", "S"}:
        return []
    D, S = _BEYOND * law.range["D"][1], float(np.median(law.rows.variables["S"]))
    of = law.predictor(_DRAWS)(D=D, S=S).estimates[0]
    return [
        f"predicted for one run of {show_count(D)} tokens, {_BEYOND:g} times the most: "
        f"{of.value:.4g}, 95 % of such runs {of.low:.4g} to {of.high:.4g}"
    ]


def _origin(law: "Law") -> list[str]:
    """Where a printed law comes from, and what the languages of a fitted one's runs are to them."""
    several = "r" in law.equation.variables  # shares of replay
    runs = f"runs: {law.roles}".removesuffix(", no replay" if several else "")
    return [f"from {law.source}"] * bool(law.source) + [runs] * bool(law.roles)


def in_short(law: "Law") -> str:
    """A few lines: the formula with its numbers, their intervals, and how far to trust them."""
    about = (law.form, law.strategy if law.strategy != law.form else "", law.target)
    formula, params = law.equation.formula, law.params
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, params))})(?!\w)")
    shown = pattern.sub(lambda match: f"{params[match[1]]:.4g}", formula)
    others = [name for name in params if name not in pattern.findall(formula)]
    shown += "".join(f", {name} = {params[name]:.4g}" for name in others)
    lines = [f"{' '.join(filter(None, about))}: L = {shown}"]
    ends = (f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in law.interval.items())
    lines += [f"95 %: {', '.join(ends)}"] if law.interval else []
    if law.n_rows:
        held = f"; held out: off by {law.holdout.error:.2%}" if law.holdout else ""
        lines.append(f"fitted to {counted(law.n_rows)} of {counted(law.n_runs, 'run')}{held}")
    codes = ", ".join(dict.fromkeys(caution.code for caution in law.warnings))
    cautions = [f"cautions, explained in `law.warnings`: {codes}"] if codes else []
    return "\n".join([*lines, *_origin(law), *cautions])


def what_follows(law: "Law") -> list[str]:
    """How a fitted law is to be used and trusted, and where it comes from."""
    return [*(sentences(law) if law.n_rows else ()), *_origin(law)]


def html(law: "Law") -> str:
    """The same as HTML."""
    return html_of(parameter_rows(law), law_title(law), what_follows(law), law.warnings)


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


def draw_law(law: "Law") -> Any:
    """The loss over tokens or compute, a curve a size or share of replay, dashed beyond."""
    alt, needed = altair(), law.equation.variables
    x = next((name for name in ("D", "C") if name in needed), needed[0])
    curve = next((name for name in ("N", "r", "k") if name in needed and name != x), "")
    known = _USUAL | law.range
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
        if law.rows:
            predicted = law.predict(**variables)
            columns["low"], columns["high"] = predicted.low, predicted.high
        label = {curve: f"{level:.0%}" if curve == "r" else show_count(level)} if curve else {}
        rows += [
            label
            | {name: float(values[i]) for name, values in columns.items()}
            | {"range": within if i < _POINTS else _RANGES[1]}
            for i in range(len(points))
        ]
    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(alt.Data(values=rows), title=law_title(law)).encode(
        x=alt.X(f"{x}:Q", title=VARIABLES[x], scale=log, axis=alt.Axis(format=".0e")),
        color=alt.Color(f"{curve}:O", title=VARIABLES[curve], sort=None)
        if curve
        else alt.value("#3266a8"),
    )
    dashes = alt.Scale(domain=_RANGES, range=[[1, 0], [4, 4]])
    line = base.mark_line().encode(
        y=alt.Y("loss:Q", title="loss (nats/token)", scale=log),
        strokeDash=alt.StrokeDash("range:N", title="", scale=dashes),
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q"), y2="high:Q")
    return band + line if law.rows else line
