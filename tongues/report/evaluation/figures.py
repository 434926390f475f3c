"""The figures of an evaluation: a row per language, models side by side, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Comparison, Evaluation
from tongues.files import file_name
from tongues.report.charts import Figure, colour, data, panel
from tongues.report.evaluation.names import compared_with_first, labels

__all__ = ["accuracy_figure", "figure_name", "forgetting_figure", "loss_figure"]

Row = dict[str, Any]

_MEAN = "mean"
_FEWEST = 2  # values that make a figure


def figure_name(kind: str, what: str) -> str:
    """Of a figure's files: the kind, and the text's or task's name as far as files take it."""
    return f"{kind}-{file_name(what)}"


def loss_figure(evaluation: Evaluation, text: str) -> Figure | None:
    """Losses by language, and how much higher they are than the first model's."""
    scores, names = evaluation.texts[text], labels(evaluation)
    rows = [
        _row(names[model], language, of.bits_per_byte)
        for model, by in scores.losses.items()
        for language, of in by.items()
    ]
    if len(rows) < _FEWEST:
        return None
    panels = [_dots(evaluation, rows, "Loss", "bits per byte")]
    caption = f"Bits per byte of {text} with 95 % intervals."
    if compared := compared_with_first(scores):
        first = names[compared[0].other]
        beside = _differences(compared, names)
        panels.append(_dots(evaluation, beside, f"Above {first}", "bits per byte", level=0.0))
        rows += [{**row, "beside": first} for row in beside]
        caption += (
            f" Right, how much higher than those of `{first}`, document by document: left of the "
            "line at 0 a model is better."
        )
    return Figure(
        figure_name("loss", text), f"Losses on {text}", caption, tuple(panels), tuple(rows)
    )


def forgetting_figure(evaluation: Evaluation, text: str) -> Figure | None:
    """How much higher each language's loss is than that of what a model began with."""
    compared, names = evaluation.texts[text].forgotten, labels(evaluation)
    if not compared:
        return None
    rows = _differences(compared, names)
    chart = _dots(evaluation, rows, "Above its seed", "bits per byte", level=0.0)
    caption = (
        f"Bits per byte of {text} above the seed's, with 95 % intervals: right of the line at 0 "
        "something was forgotten; left of it, learned."
    )
    title = f"What was forgotten and learned, on {text}"
    return Figure(figure_name("forgetting", text), title, caption, (chart,), tuple(rows))


def accuracy_figure(evaluation: Evaluation, task: str) -> Figure | None:
    """Accuracies by language beside chance."""
    scores, names = evaluation.tasks[task], labels(evaluation)
    rows = [
        _row(names[model], language, of.share, scale=100.0)
        for model, by in scores.accuracies.items()
        for language, of in by.items()
    ]
    if len(rows) < _FEWEST:
        return None
    first = next(iter(scores.accuracies.values()))
    levels = {language: of.chance.level for language, of in first.items()}
    if len(first) > 1:
        rows += [_row(names[model], _MEAN, of, 100.0) for model, of in scores.mean.items()]
        levels[_MEAN] = scores.chance.level
    shown = [{**row, "chance": 100.0 * levels[row["language"]]} for row in rows]
    panels = [_dots(evaluation, shown, "Accuracy", "% of items answered rightly", chance=levels)]
    caption = "Accuracy with 95 % intervals; the dashed line is chance."
    if compared := scores.compared:
        other = names[compared[0].other]
        beside = _differences(compared, names, scale=100.0, mean=len(first) > 1)
        panels.append(_dots(evaluation, beside, f"Above {other}", "points", level=0.0))
        caption += f" Right, how many points above `{other}`."
        shown += [{**row, "beside": other} for row in beside]
    title = f"Accuracy in {task}"
    return Figure(figure_name("task", task), title, caption, tuple(panels), tuple(shown))


def _row(model: str, language: str, of: Estimate, scale: float = 1.0) -> Row:
    of = of.times(scale)
    row: Row = {"language": language, "series": model, "value": of.value}
    return row | {"low": of.low, "high": of.high}


def _differences(
    compared: Sequence[Comparison],
    names: Mapping[str, str],
    scale: float = 1.0,
    *,
    mean: bool = False,
) -> list[Row]:
    rows = [
        _row(names[one.model], language, of, scale)
        for one in compared
        for language, of in one.languages.items()
    ]
    return rows + [
        _row(names[one.model], _MEAN, one.mean, scale) for one in compared if mean and one.mean
    ]


def _dots(
    evaluation: Evaluation,
    rows: Sequence[Row],
    title: str,
    unit: str,
    *,
    level: float | None = None,
    chance: Mapping[str, float] | None = None,
) -> alt.LayerChart:
    """A row per language, in it a dot with its interval per model; a dashed line at a level."""
    shown = list(dict.fromkeys(row["series"] for row in rows))
    languages = list(dict.fromkeys(row["language"] for row in rows))
    room = alt.Axis(labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=True)
    y = alt.Y("language:N", title=None, sort=languages, axis=room)
    offset = alt.YOffset("series:N", scale=alt.Scale(paddingOuter=0.8), sort=shown)
    x = alt.X(
        "value:Q",
        title=unit,
        scale=alt.Scale(zero=False, padding=10),
        axis=alt.Axis(tickCount=5),
    )
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("series:N", title="model"),
        *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("value", "low", "high")),
    ]
    tint = colour(list(labels(evaluation).values()), shown, "circle")
    base = alt.Chart(data(rows)).encode(y=y, yOffset=offset, color=tint, tooltip=tips)
    told = base.transform_filter("isValid(datum.low)")
    return panel(
        title,
        *_lines(x, y, level, chance),
        told.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_circle(size=48, opacity=1).encode(x=x),
        height=max(28, 10 * len(shown) + 12) * len(languages) + 20,
    )


def _lines(
    x: alt.X, y: alt.Y, level: float | None, chance: Mapping[str, float] | None
) -> list[alt.Chart]:
    """A line at a level; at chance one line, or a mark per language where they differ."""
    if chance is not None and len({round(of, 4) for of in chance.values()}) == 1:
        level = 100.0 * next(iter(chance.values()))
    if level is not None:
        line = alt.Chart(data([{"value": level}])).encode(x=x)
        return [line.mark_rule(strokeDash=[4, 4], style="quiet")]
    marks = [{"language": name, "value": 100.0 * of} for name, of in (chance or {}).items()]
    ticks = alt.Chart(data(marks)).encode(x=x, y=y)
    return [ticks.mark_tick(thickness=2, size=26, style="quiet")] if marks else []
