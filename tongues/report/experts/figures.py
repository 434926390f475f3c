"""The figures of settings: what experts gain, what they cost, and how many are worth running."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from tongues.report.charts import Figure, colour, data, label, panel
from tongues.report.experts.forgetting_figures import forgetting, shares, unlearned
from tongues.report.experts.language_figures import added, gains, languages
from tongues.report.experts.numbers import drawn, setting_name
from tongues.report.experts.outcome import (
    Experts,
    Setting,
    best,
    dense_setting,
    expert_divisions,
    expert_settings,
    models,
    references,
)

__all__ = ["expert_figures"]

_ROW = 21  # pixels of a setting
_SHAPES = {
    "language": ("circle", "●"),
    "text": ("square", "■"),
    "tfidf": ("triangle-up", "▲"),
    "posterior": ("diamond", "◆"),
}
_LOSS = "mean loss (nats per token)"


def expert_figures(found: Experts) -> dict[str, Figure]:
    """Every figure that there is something to show in, by its name, in the page's order."""
    drawn = (
        _settings(found),
        _cost(found),
        added(found),
        languages(found),
        gains(found),
        shares(found),
        forgetting(found),
        unlearned(found),
    )
    return {figure.name: figure for figure in drawn if figure}


def _settings(found: Experts) -> Figure | None:
    """How much lower than the seed and dense each setting's loss is, with intervals."""
    shown = sorted(expert_settings(found), key=lambda one: one.mean.loss)
    if not shown:
        return None
    rows = [
        {
            "setting": setting_name(one),
            "series": one.division,
            "against": name,
            **drawn(one.lower(name)),
        }
        for name in reversed(references(found))
        for one in shown
    ]
    order = [setting_name(one) for one in shown]
    panels = [
        _intervals(
            [row for row in rows if row["against"] == name],
            f"Lower than {'the seed' if name == 'seed' else 'dense'}",
            order,
            models(found),
        )
        for name in reversed(references(found))
    ]
    caption = (
        "How much lower the loss is than that of "
        + ("the dense model (left) and of the seed (right)" if len(panels) > 1 else "the seed")
        + ", mean over languages, best setting first. A dot right of the line at 0 is better; bars "
        "are 95 % intervals over held-out documents. Equal weights and experts by lot, which are "
        "there to compare with, stand in the table only."
    )
    return Figure("settings", "What experts gain", caption, tuple(panels), tuple(rows))


def _intervals(
    rows: Sequence[Mapping[str, Any]], title: str, order: list[str], names: list[str]
) -> alt.LayerChart:
    axis = alt.Axis(domain=False, ticks=False, grid=True, labelLimit=190, labelPadding=8)
    y = alt.Y("setting:N", title=None, sort=order, axis=axis)
    tint = alt.Color("series:N", scale=alt.Scale(domain=names), legend=None)
    x = alt.X(
        "mean:Q", title="nats per token", scale=alt.Scale(padding=8), axis=alt.Axis(tickCount=5)
    )
    tips = [
        alt.Tooltip("setting:N"),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high")),
    ]
    base = alt.Chart(data(rows)).encode(y=y, color=tint, tooltip=tips)
    told = base.transform_filter("isValid(datum.low)")
    zero = alt.Chart(data([{"mean": 0.0}])).mark_rule(strokeDash=[4, 4], style="quiet")
    return panel(
        title,
        zero.encode(x=x),
        told.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_circle(size=75, opacity=1).encode(x=x),
        height=_ROW * len(order) + 20,
    )


def _cost(found: Experts) -> Figure | None:
    """The loss of each setting against the experts that it runs, and of tfidf against its m."""
    shown = [one for one in expert_settings(found) if one.k > 1]
    if not shown:
        return None
    names, dense = models(found), dense_setting(found)
    rows = [
        {
            "series": one.division,
            "routing": one.routing,
            "way": one.routing.partition(":")[0],
            "experts run": one.cost.experts_run,
            "milliseconds": one.cost.seconds * 1e3,
            "megabytes": one.cost.memory / 1e6,
            "k": one.k,
            "m": _kept(one),
            "loss": one.mean.loss,
        }
        for one in [*shown, *([dense] if dense else [])]
    ]
    losses = [row["loss"] for row in rows]
    panels = [_runs(rows, names, losses)]
    sparse = [row for row in rows if row["way"] == "tfidf" and row["k"] > 1]
    said = [
        "Every setting by the experts that run for a token, which is what it costs beside one "
        f"model of their size ({_shapes_said(rows)})"
    ]
    if len({row["m"] for row in sparse}) > 1:
        panels.append(_sparse(sparse, rows, names, losses))
        said.append(
            "tfidf routing that runs only the m nearest experts; the last point of a line weights "
            "all of them"
        )
    if by_k := _by_k(found):
        panels.append(_parts(by_k, names, losses))
        said.append("the best routing of each way to divide, by how many parts it makes")
    caption = f"{'. Then '.join(said)}. Losses are means over languages" + (
        "; the dashed line is the dense model." if dense else "."
    )
    return Figure("cost", "What a loss costs", caption, tuple(panels), (*rows, *by_k))


def _shapes_said(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the shapes of the points stand for."""
    ways = {row["way"] for row in rows if row["series"] != "dense"}
    return ", ".join(f"{way} {shape}" for way, (_, shape) in _SHAPES.items() if way in ways)


def _kept(one: Setting) -> int:
    """How many experts may have a weight."""
    _, _, m = one.routing.partition(":")
    return int(m) if m else one.k


def _runs(
    rows: Sequence[Mapping[str, Any]], names: list[str], losses: Sequence[float]
) -> alt.LayerChart:
    scale = alt.Scale(domain=list(_SHAPES), range=[shape for shape, _ in _SHAPES.values()])
    shape = alt.Shape("way:N", scale=scale, legend=None)
    most = max(row["experts run"] for row in rows)
    x = alt.X("experts run:Q", title="experts run for a token", **_doubling(1.0, most))
    points = [row for row in rows if row["series"] != "dense"]
    base = alt.Chart(data(points)).encode(x=x, y=_loss(losses))
    tips = [
        alt.Tooltip("series:N", title="division"),
        alt.Tooltip("routing:N"),
        alt.Tooltip("experts run:Q", format=".2f"),
        alt.Tooltip("milliseconds:Q", title="ms per token", format=".3~g"),
        alt.Tooltip("megabytes:Q", title="MB of weights", format=".3~g"),
        alt.Tooltip("loss:Q", format=".3f"),
    ]
    marks = base.mark_point(size=75, opacity=0.9, filled=True)
    tint = colour(names, (row["series"] for row in points), "circle")
    dense = _level(rows, losses)
    return panel("By experts run", *dense, marks.encode(color=tint, shape=shape, tooltip=tips))


def _sparse(
    sparse: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    names: list[str],
    losses: Sequence[float],
) -> alt.LayerChart:
    counts = [row["m"] for row in sparse]
    x = alt.X("m:Q", title="m, experts with a weight", **_doubling(min(counts), max(counts)))
    tips = [
        alt.Tooltip("series:N", title="division"),
        alt.Tooltip("m:Q"),
        alt.Tooltip("loss:Q", format=".4f"),
    ]
    base = alt.Chart(data(sparse)).encode(x=x, y=_loss(losses))
    tint = colour(names, (row["series"] for row in sparse), "circle")
    return panel(
        "Sparse tfidf",
        *_level(rows, losses),
        base.mark_line(strokeWidth=2).encode(color=tint),
        base.mark_circle(size=70, opacity=1).encode(color=tint, tooltip=tips),
    )


def _by_k(found: Experts) -> list[dict[str, Any]]:
    """The best of every way to divide that was tried with several numbers of parts."""
    rows: list[dict[str, Any]] = []
    for name in expert_divisions(found):
        top, way = best(expert_settings(found, name)), found.scores.partitions[name].by
        if top and name not in ("before", "grown"):
            rows.append({"series": way, "parts": top.k, "loss": top.mean.loss})
    ways = [row["series"] for row in rows]
    return [row for row in rows if ways.count(row["series"]) > 1]


def _parts(
    rows: Sequence[Mapping[str, Any]], names: list[str], losses: Sequence[float]
) -> alt.LayerChart:
    counts = [row["parts"] for row in rows]
    x = alt.X("parts:Q", title="k, parts of the text", **_doubling(min(counts), max(counts)))
    ways = list(dict.fromkeys(row["series"] for row in rows))
    tint = colour([*names, *ways], ways)
    base = alt.Chart(data(rows)).encode(x=x, y=_loss(losses), color=tint)
    return panel(
        "By number of parts",
        base.mark_line(strokeWidth=2),
        base.mark_circle(size=70, opacity=1).encode(tooltip=["series:N", "parts:Q", "loss:Q"]),
    )


def _level(rows: Sequence[Mapping[str, Any]], losses: Sequence[float]) -> list[alt.Chart]:
    """The dense model's loss across a panel."""
    dense = [{"loss": row["loss"], "name": "dense"} for row in rows if row["series"] == "dense"]
    if not dense:
        return []
    at = alt.Chart(data(dense)).encode(y=_loss(losses))
    rule = at.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, style="quiet")
    here = at.encode(x=alt.value("width"))
    return [rule, *label(here, "name:N", "note", align="right", baseline="bottom", dy=-3)]


def _loss(losses: Iterable[float]) -> alt.Y:
    low, high = min(losses := list(losses)), max(losses)
    room = 0.08 * (high - low or 0.1)
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    return alt.Y("loss:Q", title=_LOSS, scale=scale, axis=alt.Axis(tickCount=5))


def _doubling(low: float, high: float) -> dict[str, Any]:
    """A scale and an axis for counts that double."""
    values = [2**i for i in range(12) if low * 0.99 <= 2**i <= high * 1.01]
    values = sorted({*values, round(high)}) if round(high) < 2 * values[-1] else values
    scale = alt.Scale(type="log", base=2, domain=[low * 0.92, high * 1.09], nice=False)
    return {"scale": scale, "axis": alt.Axis(values=values, format="d", grid=False)}
