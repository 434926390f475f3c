"""The figures of an evaluation: a row per language with intervals, and scores by replay."""

from collections.abc import Mapping, Sequence

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation, TaskScores
from tongues.files import file_name
from tongues.pages import Figure
from tongues.pages.axes import Row, categories, colour, linear
from tongues.pages.plots import alt, chart, dots, intervals, line, panel, rule
from tongues.report.evaluation.measures import Measure
from tongues.roles import list_languages

__all__ = ["dots_panel", "estimate_rows", "replay_figure", "score_figure"]

_TIPS = ("language", "series=model", "value:.4~g", "low:.4~g", "high:.4~g")


def score_figure(measure: Measure) -> Figure | None:
    """Losses or accuracies by language, and differences to the bases and to the first model."""
    rows = estimate_rows({measure.names[model]: by for model, by in measure.values.items()})
    if len(rows) < 2:
        return None
    chance: dict[str, float] = {}
    if isinstance(measure.scores, TaskScores):
        first = next(iter(measure.scores.accuracies.values()))
        chance = {language: 100 * of.chance.level for language, of in first.items()}
        rows = [{**row, "chance": chance[row["language"]]} for row in rows]
    unit = "% of items right" if measure.task else "bits per byte"
    same = len({round(of, 2) for of in chance.values()}) == 1
    level, marks = (next(iter(chance.values())), None) if same else (None, chance)
    names, title = list(measure.names.values()), measure.title.split()[0]
    panels = [dots_panel(title, rows, unit, names, level=level, marks=marks)]
    for other, compared in measure.versus.items():
        values = {measure.names[each.model]: measure.differences(each) for each in compared}
        beside = [{**row, "versus": other} for row in estimate_rows(values)]
        panels.append(dots_panel(f"Versus {other}", beside, measure.unit, names, level=0.0))
        rows += beside
    caption = "With 95 % confidence intervals." + " The dashed line is chance." * bool(chance)
    side = "right" if measure.task else "left"
    caption += f" Of differences, {side} of the line at 0 is better." * bool(measure.versus)
    name = f"{'task' if measure.task else 'loss'}-{file_name(measure.name)}"
    return Figure(name, measure.title, caption, tuple(panels), tuple(rows))


def estimate_rows(values: Mapping[str, Mapping[str, Estimate]]) -> list[Row]:
    """A row for each series and language, with the ends of the interval."""
    return [
        {"language": lang, "series": name, "value": of.value, "low": of.low, "high": of.high}
        for name, by_language in values.items()
        for lang, of in by_language.items()
    ]


def dots_panel(
    title: str,
    rows: Sequence[Row],
    unit: str,
    names: Sequence[str],
    *,
    level: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> alt.LayerChart:
    """A row per language, in it a dot with its interval per series.

    names: of all series, a colour for each. level: where a dashed line is; marks: or a mark for
    each language.
    """
    shown = list(dict.fromkeys(row["series"] for row in rows))
    order = list(dict.fromkeys(row["language"] for row in rows))
    x, y = linear("value", unit), categories("language", order, labelLimit=190, grid=True)
    ticks = chart([{"language": name, "value": of} for name, of in (marks or {}).items()])
    ticks = ticks.encode(x=x.channel(alt.X), y=y.channel(alt.Y))
    return intervals(
        title,
        rows,
        x,
        y,
        colour(list(names), shown, "circle"),
        height=max(28, 10 * len(shown) + 12) * len(order) + 20,
        side_by_side=shown,
        tooltip=_TIPS,
        size=48,
        width=2,
        under=(
            rule(x=x, at=level),
            ticks.mark_tick(thickness=2, size=26, style="quiet") if marks else None,
        ),
        padding=0.8,
    )


def replay_figure(evaluation: Evaluation, measures: Sequence[Measure]) -> Figure | None:
    """Scores relative to the first model against the share of replay, a line per language."""
    groups: dict[tuple[str, str], dict[str, float]] = {}  # shares by run, by target and shape
    for model in evaluation.models:
        if (run := model.trained) and run.strategy == "cpt":
            group = groups.setdefault((list_languages(run.roles.targets), run.shape), {})
            group[model.name] = run.roles.replay_share
    first, panels, rows = evaluation.models[0].name, list[alt.LayerChart](), list[Row]()
    for (target, shape), shares in groups.items():
        for measure in measures:
            own = _relative(measure, dict(sorted(shares.items(), key=lambda of: of[1])), first)
            if len({row["share"] for row in own}) > 1:
                title = f"{measure.name}{f', {target} {shape}' if len(groups) > 1 else ''}"
                panels.append(_lines(measure, own, title, measure.names[first]))
                rows += [{"on": measure.name, **row} for row in own]
    if not panels:
        return None
    caption = (
        "Continued runs by the share of replay in their training. Of a text, the difference of "
        "losses; of a task, (accuracy − chance) / (accuracy of the first model − chance), left out "
        "where that model is not significantly above chance."
    )
    return Figure("replay", "By share of replay", caption, tuple(panels), tuple(rows))


def _relative(measure: Measure, shares: Mapping[str, float], first: str) -> list[Row]:
    compared = {
        each.model: each.relative_of if measure.task else each.languages
        for each in measure.scores.compared
    }
    each = ((lang, of) for by in compared.values() for lang, of in by.items())
    lacking = {lang for lang, of in each if measure.task and of.low is None}
    same = dict.fromkeys(measure.scores.languages, Estimate(1.0 if measure.task else 0.0))
    rows: list[Row] = []
    for model, share in shares.items():
        values = same if model == first else compared.get(model, {})
        there = {lang: {lang: of} for lang, of in values.items() if lang not in lacking}
        about = {"model": measure.names[model], "share": f"{100 * share:.3g} %"}
        rows += [row | about for row in estimate_rows(there)]
    return rows


def _lines(measure: Measure, rows: Sequence[Row], title: str, first: str) -> alt.LayerChart:
    shares = list(dict.fromkeys(row["share"] for row in rows))
    unit = f"score relative to {first}" if measure.task else f"{measure.unit} above {first}"
    x, y = categories("share", shares, size=12, labelAngle=0), linear("value", unit)
    tint = colour(measure.scores.languages, (row["series"] for row in rows), "circle")
    ranged = [row for row in rows if row["low"] is not None]
    ends = chart(ranged).encode(x=x.channel(alt.X), y=y.of("low").channel(alt.Y), color=tint)
    return panel(
        title,
        rule(y=y, at=1.0 if measure.task else 0.0),
        line(rows, x, y, tint, mean=True, width=1.5, opacity=0.7),
        ends.encode(y2="high:Q").mark_rule(strokeWidth=2) if ranged else None,
        dots(rows, x, y, tint, tooltip=("model", *_TIPS[:1], *_TIPS[2:])),
    )
