"""The page of an evaluation, its tables in the terminal, and its part of a model's card."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tongues.core.estimate import Estimate
from tongues.core.files import file_name
from tongues.core.pages import Figure, as_markdown
from tongues.core.pages import blocks as b
from tongues.core.pages.axes import Row, categories, colour, linear
from tongues.core.pages.plots import Marks, alt, chart, intervals, rule
from tongues.core.quantities import counted
from tongues.core.roles import list_languages
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores
from tongues.evaluate.kept import newest_evaluation
from tongues.report.evaluation import words
from tongues.report.evaluation.opening import Verdict, opening_tiles
from tongues.report.evaluation.tables import Measure, model_table
from tongues.report.evaluation.words import WORDS
from tongues.train.metadata import CardScores, ScoredText

# The figures of an evaluation: a row per language with intervals, and scores by replay.

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
    caption = [WORDS["intervals"]]
    if chance:
        caption.append(WORDS["chance"])
    if measure.versus:
        caption.append(WORDS["left_is_better" if measure.lower_is_better else "right_is_better"])
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
    return Figure.of("replay", "By share of replay", WORDS["replay"], panels, rows)


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


def evaluation_page(evaluation: Evaluation, name: str) -> b.Page:
    """What came of it, then texts, forgetting, tasks, and what the models are."""
    measures, topics, blocks = Measure.of(evaluation), words.answer(evaluation), list[b.Block]()
    outcome = Verdict.of(evaluation)
    for measure in measures:
        inside = list(_measure_blocks(evaluation, measure))
        opened = outcome is not None and outcome.measure.name == measure.name
        drawn = opened and len(evaluation.models) == 2 and not measure.task
        blocks.append(b.Section(measure.name, measure.title, inside))
        blocks.append(None if drawn else score_figure(measure))
    doubts = [line for topic in ("Caveats", "Left out") for line in topics.get(topic, ())]
    sure, count = [*doubts, *topics["Certainty"]], counted(len(doubts), "caveat") * bool(doubts)
    window = evaluation.policy.window
    models = [
        WORDS["windows"]["whole" if window is None else "fixed"].format(window=window),
        model_table(evaluation),
    ]
    return b.Page(
        f"Evaluation: {name}",
        [
            b.Tiles(opening_tiles(evaluation)),
            outcome.figure() if outcome else None,
            b.Details("How sure is this?", [b.Items(sure, "plain")], count=count),
            *blocks,
            replay_figure(evaluation, measures),
            b.Section("models", "Models", models),
        ],
        lead=[b.Paragraph(line, "lead") for line in topics.get("Choice", ())],
        numbers={"findings": topics, **evaluation.to_json()},
    )


def score_blocks(evaluation: Evaluation, *, compare: bool = False) -> list[b.Block]:
    """The tables of scores, and of all differences with the answer, for the terminal."""
    blocks: list[b.Block] = []
    for measure in Measure.of(evaluation):
        title = f"{measure.title}. {words.how(measure)}"
        blocks.append(b.Section("", title, [measure.score_table()]))
        for reference, compared in measure.versus.items() if compare else ():
            title = f"{measure.title} versus {measure.called(reference)}, {measure.unit}"
            blocks.append(b.Section("", title, [measure.comparison_table(compared)]))
        if compare and (table := measure.source_table()):
            title = f"{measure.title} by source. {WORDS['sources']}"
            blocks.append(b.Section("", title, [table]))
    blocks.append(b.Tiles(opening_tiles(evaluation)))
    topics = words.answer(evaluation)
    shown = topics | {"Certainty": topics["Certainty"][:1]}  # the page has the rest
    answers = [b.Section("", topic, [b.Items(lines)]) for topic, lines in shown.items()]
    return [*blocks, b.Section("", "", answers)] if compare else blocks


def card_section(evaluation: Evaluation, model: str) -> str:
    """What a model scored, versus what, and how that was measured."""
    blocks: list[b.Block] = [
        b.Section("", measure.title, list(_measure_blocks(evaluation, measure, model)))
        for measure in Measure.of(evaluation)
    ]
    blocks.append(b.Paragraph(words.measured(evaluation, evaluation.model(model))))
    return as_markdown([b.Section("", "Evaluation", blocks)]) + "\n"


def _measure_blocks(evaluation: Evaluation, measure: Measure, model: str = "") -> Iterator[b.Block]:
    """All tables of a text or task, or what they say of one model."""
    scores, models = measure.scores, [model] if model else list(measure.values)
    about = [words.how(measure), "" if model else words.versus_chance(measure)]
    about.append(WORDS["bold"] if len(models) > 1 else "")
    yield " ".join(filter(None, about))
    yield measure.score_table(models)
    if isinstance(scores, TextScores):
        by_tokenizer: dict[str, list[str]] = {}
        for name in models:
            by_tokenizer.setdefault(evaluation.model(name).tokenizer, []).append(name)
        some = ", models of one tokenizer" if len(by_tokenizer) > 1 else ""
        for names in by_tokenizer.values():
            if len(names) > 1 or not some:
                yield b.Heading(f"Perplexity of a token{some}")
                yield measure.perplexity_table(names)
        if any(name in scores.bits_per_segment for name in models):
            yield b.Heading("Bits per segment")
            yield WORDS["segments"].format(scores.segments)
            yield measure.segment_table(models)
    for reference, comparisons in measure.versus.items():
        if compared := [each for each in comparisons if model in ("", each.model)]:
            yield b.Heading(f"Versus {measure.called(reference)}")
            yield words.versus(measure, reference, model)
            yield measure.comparison_table(compared)
    if table := measure.source_table(models):
        yield b.Heading("By source")
        yield WORDS["sources"]
        yield table
    if measure.task:
        (language, example), *_ = evaluation.examples[measure.name].items()
        yield b.Heading("Example prompt")
        yield b.Quote(example, language)


def newest_scores(place: Path, workspace: Path) -> CardScores:
    """What a card says of the newest evaluation of a model; nothing where there is none."""
    if (newest := newest_evaluation(place, workspace)) is None:
        return CardScores()
    return CardScores(card_section(*newest), tuple(_scores(*newest)))


def _scores(evaluation: Evaluation, model: str) -> Iterator[ScoredText]:
    """What is a number of the model alone: losses on texts and accuracies in tasks."""
    for text, losses in evaluation.texts.items():
        for lang, loss in losses.losses.get(model, {}).items():
            yield ScoredText(text, lang, "bits_per_byte", loss.bits_per_byte)
    for task, right in evaluation.tasks.items():
        for lang, accuracy in right.accuracies.get(model, {}).items():
            yield ScoredText(task, lang, right.metric or "accuracy", accuracy.share)
