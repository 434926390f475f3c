"""The figures of an evaluation: a row per language with intervals, and scores by replay."""

from collections.abc import Mapping, Sequence

from tongues.core.estimate import Estimate
from tongues.core.files import file_name
from tongues.core.pages import Figure
from tongues.core.pages.axes import Row, categories, colour, linear
from tongues.core.pages.plots import Marks, alt, chart, intervals, rule
from tongues.core.roles import list_languages
from tongues.evaluate.evaluation import Evaluation, TaskScores
from tongues.report.evaluation import words
from tongues.report.evaluation.measures import Measure

_TIPS = ("value:.4~g", "low:.4~g", "high:.4~g")


def score_figure(measure: Measure) -> Figure | None:
    """Losses or accuracies by language, and differences to the bases and to the first model."""
    rows = _rows({measure.names[model]: by for model, by in measure.values.items()})
    if len(rows) < 2:
        return None
    chance: dict[str, float] = {}
    if isinstance(measure.scores, TaskScores):
        first = next(iter(measure.scores.accuracies.values()))
        chance = {x: 100 * of.chance.level for x, of in first.items() if of.chance}
        rows = [{**row, "chance": chance.get(row["language"])} for row in rows]
    names = list(measure.names.values())
    panels = [_panel(measure.kind, rows, measure.quantity, names, chance)]
    for reference, compared in measure.versus.items():
        other = measure.called(reference)
        values = {measure.names[each.model]: measure.differences(each) for each in compared}
        shown = [{**row, "versus": other} for row in _rows(values)]
        panels.append(_panel(f"Versus {other}", shown, measure.unit, names, {"": 0.0}))
        rows += shown
    caption = [words.INTERVALS]
    if chance:
        caption.append(words.CHANCE)
    if measure.versus:
        caption.append(words.SIDES[measure.lower_is_better])
    name = f"{'task' if measure.task else 'loss'}-{file_name(measure.name)}"
    return Figure.of(name, measure.title, caption, panels, rows)


def _rows(values: Mapping[str, Mapping[str, Estimate]], **more: str) -> list[Row]:
    return [
        {"language": lang, "series": name, "value": of.value, "low": of.low, "high": of.high} | more
        for name, by_language in values.items()
        for lang, of in by_language.items()
    ]


def _panel(
    title: str,
    rows: Sequence[Row],
    unit: str,
    names: Sequence[str],
    levels: Mapping[str, float],
    place: str = "language",
) -> alt.LayerChart:
    """A row per place, in it a dot with its interval per series.

    names: of all series, a colour for each. levels: by language, a dashed line where they are one.
    """
    shown = list(dict.fromkeys(row["series"] for row in rows))
    order = list(dict.fromkeys(row[place] for row in rows))
    x, y = linear("value", unit), categories(place, order, labelLimit=190, grid=True)
    ticks = chart([{place: name, "value": of} for name, of in levels.items()])
    ticks = ticks.encode(x=x.channel(alt.X), y=y.channel(alt.Y))
    ticks = ticks.mark_tick(thickness=2, size=26, style="quiet")
    level = next(iter(levels.values()), None)
    same = len({round(of, 2) for of in levels.values()}) == 1
    return intervals(
        title,
        rows,
        x,
        y,
        colour(list(names), shown, "circle"),
        height=max(28, 10 * len(shown) + 12) * len(order) + 20,
        side_by_side=shown,
        tooltip=(place, "model" if place == "share" else "series=model", *_TIPS),
        marks=Marks(size=48, width=2, padding=0.8),
        under=[rule(x=x, at=level) if same else ticks if levels else None],
    )


def replay_figure(evaluation: Evaluation, measures: Sequence[Measure]) -> Figure | None:
    """Scores relative to the first model by the share of replay, a colour per language."""
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
                unit = "score relative to" if measure.task else f"{measure.unit} above"
                unit = f"{unit} {measure.names[first]}"
                level = {"": 1.0 if measure.task else 0.0}
                panels.append(_panel(title, own, unit, measure.scores.languages, level, "share"))
                rows += [{"on": measure.name, **row} for row in own]
    return Figure.of("replay", "By share of replay", words.REPLAY, panels, rows)


def _relative(measure: Measure, shares: Mapping[str, float], first: str) -> list[Row]:
    compared = {
        each.model: each.relative_of if measure.task else each.languages
        for each in measure.scores.compared
    }
    each = ((lang, of) for by in compared.values() for lang, of in by.items())
    missing = {lang for lang, of in each if measure.task and of.low is None}
    same = dict.fromkeys(measure.scores.languages, Estimate(1.0 if measure.task else 0.0))
    rows: list[Row] = []
    for model, share in shares.items():
        values = same if model == first else compared.get(model, {})
        there = {lang: {lang: of} for lang, of in values.items() if lang not in missing}
        rows += _rows(there, model=measure.names[model], share=f"{100 * share:.3g} %")
    return rows
