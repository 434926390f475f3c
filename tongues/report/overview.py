"""The figure that sums a study up: what was saved, and what was forgotten, per target."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from tongues.report.charts import Figure, colour, data, label, panel
from tongues.report.findings import Findings
from tongues.report.statistics import Estimate
from tongues.report.theme import domain, series
from tongues.roles import list_languages

__all__ = ["overview"]

_ALL = " At 100 % the source model had that loss before its first step: no more could be saved."
_AT_MOST_ALL = "datum.value > 100 ? '' : datum.label"
_FLOOR = -100.0  # percent; what lies below stands at the edge, with its number


def overview(findings: Findings) -> Figure | None:
    """Tokens saved, and how much worse the source language became, per target with intervals."""
    saved = [
        row
        for t in findings.transfers
        if t.saved
        for row in _dots(t.target, t.replay, t.saved, [p.saved for p in t.pairs], 100, "{:.0f}")
    ]
    forgotten = [
        row
        for f in findings.forgetting
        for row in _dots(f.target, f.replay, f.rise, f.rises, 1, "{:+.2f}", f.lang)
    ]
    ratios = max(len(findings.ratios), 1)
    height = 30 + (52 if ratios < 4 else 42) * len(findings.targets) * ratios
    panels, notes = [], []
    if saved:
        title, unit = "Tokens saved beside scratch", "share of tokens saved (%)"
        panels.append(_intervals(findings, saved, title, unit, height))
        notes.append(
            "Saved: the share of tokens, and so of compute, that CPT does without at the final "
            "loss of its twin from scratch."
            + (_ALL if any(t.saturated for t in findings.transfers) else "")
        )
    for lang in findings.base_languages if forgotten else ():
        title, own = f"Rise of the loss on {lang}", [r for r in forgotten if r["lang"] == lang]
        panels.append(_intervals(findings, own, title, "nats per token", height))
    if forgotten:
        known = list_languages(findings.base_languages)
        notes.append(f"Forgotten: how far CPT's final loss on {known} lies above the base model's.")
    if not panels:
        return None
    notes.append("Small dots are single runs, the large dot their mean, the bar its 95 % interval.")
    rows = [{"measure": "tokens saved (%)"} | row for row in saved]
    rows += [{"measure": "rise of source loss (nats per token)"} | row for row in forgotten]
    caption = " ".join(notes)
    return Figure("overview", "Saved and forgotten", caption, tuple(panels), tuple(rows))


def _dots(
    target: str,
    replay: float,
    found: Estimate,
    each: Sequence[float | None],
    scale: float,
    form: str,
    lang: str = "",
) -> list[dict[str, Any]]:
    """A row for the mean and its interval, and one for each value it is the mean of."""
    shared = {"target": target, "lang": lang, "series": series("cpt", replay)}
    ends = [scale * (found.mean if end is None else end) for end in (found.low, found.high)]
    mean = {"kind": "mean", "value": scale * found.mean, "low": ends[0], "high": ends[1]}
    mean |= {
        name: form.format(value).replace("-", "−")
        for name, value in (("text", mean["value"]), ("from", ends[0]), ("to", ends[1]))
    }
    singles = [{"kind": "single", "value": scale * value} for value in each if value is not None]
    return [shared | row for row in (mean, *singles)]


def _intervals(
    findings: Findings, rows: Sequence[dict[str, Any]], title: str, unit: str, height: int
) -> alt.LayerChart:
    values = [row[key] for row in rows for key in ("value", "low", "high") if key in row]
    targets = dict.fromkeys(row["target"] for row in rows)
    if unit.endswith("(%)"):
        values = [max(value, _FLOOR) for value in values]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.2 * (high - low or 1.0)  # for the numbers above the outermost dots
    ends = [low - room / (1 if low < 0 else 2), high + room]
    scale = alt.Scale(domain=ends, nice=False, clamp=True)
    axis = alt.Axis(tickCount=5, labelExpr=_AT_MOST_ALL if unit.endswith("(%)") else alt.Undefined)
    x = alt.X("value:Q", title=unit, scale=scale, axis=axis)
    quiet = alt.Axis(
        labelFontSize=13.5, domain=False, ticks=False, labelPadding=10, grid=False, labelLimit=130
    )
    place = {
        "y": alt.Y(
            "target:N",
            title=None,
            sort=list(dict.fromkeys([*findings.targets, *targets])),
            axis=quiet,
        ),
        "yOffset": alt.YOffset("series:N", sort=domain(findings.ratios)[1:]),
    }
    tint = colour(domain(findings.ratios), (row["series"] for row in rows))
    means = alt.Chart(data(row for row in rows if row["kind"] == "mean"))
    singles = alt.Chart(data(row for row in rows if row["kind"] == "single"))
    nothing = alt.Chart(data([{"value": 0}])).mark_rule(strokeWidth=1.2, style="quiet")
    tips = [
        alt.Tooltip("series:N", title="runs"),
        alt.Tooltip("text:N", title="mean"),
        alt.Tooltip("from:N", title="95 %, from"),
        alt.Tooltip("to:N"),
    ]
    return panel(
        title,
        nothing.encode(x=x),
        singles.mark_circle(size=26, opacity=0.45).encode(x=x, color=tint, **place),
        means.mark_rule(strokeWidth=3).encode(
            x=alt.X("low:Q", title=unit, scale=scale), x2="high:Q", color=tint, **place
        ),
        means.mark_circle(size=130, opacity=1).encode(x=x, color=tint, tooltip=tips, **place),
        *label(means.encode(x=x, **place), "text:N", dy=-16),
        height=height,
    )
