"""The figure of replay: what continued runs score, by their share of replay."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores
from tongues.report.charts import Figure, colour, data, panel
from tongues.report.evaluation.names import labels
from tongues.roles import list_languages

__all__ = ["replay_figure"]

Row = dict[str, Any]


def replay_figure(evaluation: Evaluation) -> Figure | None:
    """Scores relative to the first model against the share of replay, a line per language."""
    groups = _groups(evaluation)
    if not groups:
        return None
    first = evaluation.models[0].name
    said = labels(evaluation)[first]
    panels, rows = [], []
    for (target, shape), replays in groups.items():
        of_group = f", {target} {shape}" if len(groups) > 1 else ""
        for task, scores in evaluation.tasks.items():
            own = list(_relative(scores, replays, first))
            if len({row["replay"] for row in own}) > 1:
                panels.append(
                    _panel(evaluation, own, f"{task}{of_group}", f"score beside {said}", 1.0)
                )
                rows += [{"on": task, **row} for row in own]
        for text, scores in evaluation.texts.items():
            own = list(_above(scores, replays, first))
            if len({row["replay"] for row in own}) > 1:
                unit = f"bits per byte above {said}"
                panels.append(_panel(evaluation, own, f"{text}{of_group}", unit, 0.0))
                rows += [{"on": text, **row} for row in own]
    if not panels:
        return None
    on = {row["on"] for row in rows}
    score = (
        " The score beside it is (accuracy − chance) / (its accuracy − chance), so that 1 is as "
        "good; it is left out where that model cannot be told from chance."
    )
    loss = " Of texts it is shown how much higher the loss is."
    caption = (
        "Models that continued another, by the share of replay in their training, beside "
        f"`{said}`.{score if on & set(evaluation.tasks) else ''}"
        f"{loss if on & set(evaluation.texts) else ''} Bars are 95 % intervals."
    )
    return Figure("replay", "By share of replay", caption, tuple(panels), tuple(rows))


def _groups(evaluation: Evaluation) -> dict[tuple[str, str], dict[str, float]]:
    """Continued runs that differ in their replay: the shares by name, by target and shape."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for about in evaluation.models:
        made = about.trained
        if made and made.strategy == "cpt":
            targets = list_languages(made.roles.targets)
            group = groups.setdefault((targets, made.shape), {})
            group[about.name] = made.roles.replay_share
    return {key: of for key, of in groups.items() if len(set(of.values())) > 1}


def _relative(scores: TaskScores, replays: Mapping[str, float], first: str) -> Iterator[Row]:
    beside = {one.model: one.relative_of for one in scores.compared}
    lacking: set[str] = set()
    for by in beside.values():
        lacking |= {language for language, of in by.items() if of.low is None}
    for model, replay in replays.items():
        for language in next(iter(scores.accuracies.values())):
            if language in lacking:
                continue
            if model == first:
                yield _row(model, replay, language, Estimate(1.0))
            elif model in beside:  # not so a seed that nobody named
                yield _row(model, replay, language, beside[model][language])


def _above(scores: TextScores, replays: Mapping[str, float], first: str) -> Iterator[Row]:
    beside = {one.model: one.languages for one in scores.compared}
    for model, replay in replays.items():
        for language in next(iter(scores.losses.values())):
            if model == first:
                yield _row(model, replay, language, Estimate(0.0))
            elif model in beside:
                yield _row(model, replay, language, beside[model][language])


def _row(model: str, replay: float, language: str, of: Estimate) -> Row:
    percent = f"{100 * replay:.3g} %"
    return {
        "model": model,
        "series": language,
        "replay": replay,
        "share": percent,
        "value": of.value,
        "low": of.low,
        "high": of.high,
    }


def _panel(
    evaluation: Evaluation, rows: list[Row], title: str, unit: str, level: float
) -> alt.LayerChart:
    """Shares of replay side by side, a line per language."""
    languages: dict[str, None] = {}
    for scores in (*evaluation.texts.values(), *evaluation.tasks.values()):
        languages |= dict.fromkeys(scores.languages)
    shares = sorted({(row["replay"], row["share"]) for row in rows})
    axis = alt.Axis(labelAngle=0, grid=False)
    x = alt.X("share:O", title="replay", sort=[share for _, share in shares], axis=axis)
    y = alt.Y(
        "value:Q", title=unit, scale=alt.Scale(zero=False, padding=10), axis=alt.Axis(tickCount=5)
    )
    tips = [
        alt.Tooltip("model:N"),
        alt.Tooltip("series:N", title="language"),
        *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("value", "low", "high")),
    ]
    tint = colour(list(languages), (row["series"] for row in rows), "circle")
    base = alt.Chart(data(rows)).encode(x=x, color=tint, tooltip=tips)
    line = alt.Chart(data([{"value": level}])).encode(y=y)
    return panel(
        title,
        line.mark_rule(strokeDash=[4, 4], style="quiet"),
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=alt.Y("mean(value):Q", title=unit)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_circle(size=60, opacity=1).encode(y=y),
    )
