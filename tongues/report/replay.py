"""What replay does to both languages: their losses by tokens, and by compute on each."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

import altair as alt

from tongues.laws.observed import RunCurves, size_order
from tongues.report.charts import (
    LOSS,
    SCIENTIFIC,
    Figure,
    colour,
    data,
    log_axis,
    log_scale,
    panel,
    points,
    tips,
)
from tongues.report.findings import Findings
from tongues.report.meeting import meetings
from tongues.report.statistics import by_unit
from tongues.report.theme import domain
from tongues.roles import list_languages

__all__ = ["by_language", "forgetting"]


def forgetting(findings: Findings) -> Figure | None:
    """The losses on source and target language through CPT, with replay and without."""
    known, shown = findings.base_languages, _shown(findings)
    if not shown:
        return None
    rows = [row for run in shown for lang in (*known, run.lang) for row in points(run, lang)]
    tokens = [row["tokens"] for row in rows]
    x = alt.X(
        "tokens:Q",
        title="Tokens trained on, all languages",
        scale=log_scale(tokens),
        axis=log_axis(tokens, grid=False),
    )
    panels = []
    for target in dict.fromkeys(run.target for run in shown):
        own = [row for row in rows if row["target"] == target]
        names = domain(findings.ratios)
        for lang in known:
            on_base = [row for row in own if row["lang"] == lang]
            title, start = f"Loss on {lang}, while learning {target}", _start(shown, target, lang)
            panels.append(_through_training(title, on_base, x, names, start))
        on_target = [row for row in own if row["lang"] not in known]
        panels.append(_through_training(f"Loss on {target}", on_target, x, names))
    caption = (
        f"CPT of one size, {shown[0].shape}{_seeds(shown)}. The dashed line is the base model "
        f"before the first step: what lies above it on {list_languages(known)} is forgotten."
    )
    return Figure(
        "forgetting", "What replay keeps, and what it costs", caption, tuple(panels), tuple(rows)
    )


def by_language(findings: Findings) -> Figure | None:
    """Both losses against the compute spent on that language alone, a line a share of replay."""
    known, shown = findings.base_languages, _shown(findings)
    if len({run.replay for run in shown}) < 2:
        return None
    if not all(lang in run.seen for run in shown for lang in (*known, run.lang)):
        return None
    rows = [row for run in shown for lang in (run.lang, *known) for row in _on(run, lang)]
    names, panels = domain(findings.ratios), []
    for target in dict.fromkeys(run.target for run in shown):
        own = [row for row in rows if row["target"] == target]
        own_lang = next(run.lang for run in shown if run.target == target)
        starts = {own_lang: None} | {lang: _start(shown, target, lang) for lang in known}
        for lang, start in starts.items():
            on = [row for row in own if row["lang"] == lang]
            if on:
                x = _compute_axis((row["own"] for row in rows if row["lang"] == lang), lang)
                title = f"Loss on {lang}" + (f", while learning {target}" if start else "")
                panels.append(_through_training(title, on, x, names, start))
    caption = (
        f"The same runs of {shown[0].shape}, against the part of their compute that went into the "
        f"language itself: total compute times its share{_seeds(shown)}. Without replay nothing "
        f"goes into {list_languages(known)}, whose loss before the first step is dashed."
        f"{_met(shown)}"
    )
    title = "Each language by the compute spent on it"
    return Figure("by-language", title, caption, tuple(panels), tuple(rows))


def _shown(findings: Findings) -> list[RunCurves]:
    """The continued runs of one size, that of most shares of replay, and their longest length."""
    names = {run.name for f in findings.forgetting for run in f.runs}
    continued = [run for run in findings.usual if run.name in names]
    if not continued:
        return []
    sizes = size_order(continued)
    shares = {size: {run.replay for run in continued if run.shape == size} for size in sizes}
    size = max(sizes, key=lambda size: (len(shares[size]), sizes.index(size)))
    longest = max(
        {run.tokens for run in continued if run.shape == size},
        key=lambda tokens: (_shares_of(continued, size, tokens), tokens),
    )
    return [run for run in continued if (run.shape, run.tokens) == (size, longest)]


def _start(shown: Sequence[RunCurves], target: str, lang: str) -> float:
    """The mean loss on a base language before the first step."""
    return fmean(float(run.curves[lang].loss[0]) for run in shown if run.target == target)


def _seeds(shown: Sequence[RunCurves]) -> str:
    """What the lines are, where there are several for a share of replay."""
    several = len({run.seed for run in shown}) > 1
    return "; thin lines are seeds, thick ones their mean" if several else ""


def _shares_of(runs: Iterable[RunCurves], size: str, tokens: float) -> int:
    return len({run.replay for run in runs if (run.shape, run.tokens) == (size, tokens)})


def _on(run: RunCurves, lang: str) -> list[dict[str, Any]]:
    """The evaluations on a language, with the compute that had gone into it by then.

    Where none of it was read since the evaluation before, the later one counts.
    """
    curve, seen = run.curves[lang], run.seen[lang]
    late = curve.tokens > 0
    spent = curve.compute[late] * seen[late] / curve.tokens[late]
    last = {
        own: row | {"own": float(cost)}
        for own, cost, row in zip(seen[late], spent, points(run, lang), strict=True)
        if own > 0
    }
    return list(last.values())


def _compute_axis(values: Iterable[float], lang: str) -> alt.X:
    values = list(values)
    axis = log_axis(values, SCIENTIFIC, grid=False)
    title = f"Compute on {lang} (FLOPs)"
    return alt.X("own:Q", title=title, scale=log_scale(values), axis=axis)


def _met(shown: Sequence[RunCurves]) -> str:
    """By how much the losses on the targets differ at equal compute on them."""
    found = meetings(shown)
    if not found:
        return ""
    means: list[float] = []
    for key in {(met.run.target, met.run.replay) for met in found}:
        apart = [(m.run.unit, m.apart) for m in found if (m.run.target, m.run.replay) == key]
        means.append(100.0 * math.expm1(fmean(by_unit(apart))))
    least, most = (f"{end:+.1f}".replace("-", "−") for end in (min(means), max(means)))
    between = f"{least} %" if least == most else f"{least} to {most} %"
    return (
        f" At equal compute on the target and past the warm-up, its loss with more replay differs "
        f"from that with the least by {between} in the mean."
    )


def _through_training(
    title: str,
    rows: Sequence[dict[str, Any]],
    x: alt.X,
    names: Sequence[str],
    start: float | None = None,
) -> alt.LayerChart:
    losses = [row["loss"] for row in rows] + ([] if start is None else [start])
    room = 0.06 * (max(losses) - min(losses) or 1.0)
    scale = alt.Scale(domain=[min(losses) - room, max(losses) + room], nice=False)
    axis = alt.Axis(tickCount=5)
    y = alt.Y("loss:Q", title=LOSS, scale=scale, axis=axis)
    mean = alt.Y("mean(loss):Q", title=LOSS, scale=scale, axis=axis)
    tint = colour(names, (row["series"] for row in rows))
    base = alt.Chart(data(rows))
    before = alt.Chart(data([] if start is None else [{"loss": start}]))
    return panel(
        title,
        before.mark_rule(strokeDash=[4, 4], strokeWidth=1.2, style="quiet").encode(y),
        base.mark_line(strokeWidth=1, opacity=0.45).encode(x, y, tint, alt.Detail("run:N")),
        base.mark_line(strokeWidth=2.5).encode(x, mean, tint),
        base.mark_circle(size=60, opacity=0).encode(x, y, tooltip=tips()),
    )
