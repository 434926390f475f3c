"""What an evaluation answers: gains and losses by role, which model to take, how sure, the cost."""

from collections.abc import Iterator, Mapping

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores, TextScores
from tongues.pages import Show, interval, minus, number, signed
from tongues.pages import blocks as b
from tongues.quantities import show_bytes
from tongues.report.evaluation.measures import Measure, how
from tongues.roles import Role, list_languages
from tongues.significance.signs import fewest_languages, fewest_wins

__all__ = ["answer", "describe_changes", "measure_blocks"]

_ROLES: dict[Role | None, str] = {
    "target": "Target languages",
    "base": "Base languages",
    "other": "Other languages",
    None: "Languages",
}
_NAMED = 6  # languages that a sentence names, at most
_MOST = 8  # sentences of a topic; all numbers are in the tables
_SURE = (
    "Brackets are 95 % confidence intervals over documents, items and draws of demonstrations. A "
    "difference is significant at p < 0.05, Holm-corrected for all languages and models of its "
    "table; others are grey. Bold: no model is significantly better, and some is worse. Another "
    "random seed of training is not part of any interval."
)
_TRANSLATED = "The languages are translations of each other: how many say no more than the mean."


def answer(evaluation: Evaluation) -> dict[str, list[str]]:
    """Sentences by topic, the choice first; topics without any are left out."""
    measures = Measure.of(evaluation)
    choice = [_choice(measure) for measure in measures if len(measure.values) > 1]
    topics: dict[str, list[str]] = {"Choice": choice, **{title: [] for title in _ROLES.values()}}
    for measure in measures:
        for title, sentence in _differences(evaluation, measure):
            topics[title].append(sentence)
    for title, sentences in topics.items():
        if (more := len(sentences) - _MOST) > 0:
            topics[title] = [*sentences[:_MOST], f"{more} more comparisons are in the tables."]
    topics["Certainty"] = [_SURE]
    if any(model.experts > 1 for model in evaluation.models):
        topics["Cost"] = [
            f"`{measures[0].names[model]}` runs {cost.experts_run:.2f} experts for a token and "
            f"opens {show_bytes(cost.memory)} of weights."
            for scores in list(evaluation.texts.values())[:1]
            for model, cost in scores.costs.items()
        ]
    topics["Caveats"] = list(_caveats(evaluation, measures))
    topics["Left out"] = [f"{line.rstrip('.')}." for line in evaluation.left_out]
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def describe_changes(by_language: Mapping[str, Estimate], show: Show, unit: str) -> str:
    """Such as `0.15 [0.14, 0.17] points lower on qaa; no significant difference on qab [-1, 2]`."""
    groups: dict[tuple[int, str], dict[str, Estimate]] = {}
    for language, of in by_language.items():
        reason = "" if of.significant else of.reason.partition(", there ")[0]
        groups.setdefault((of.significant, reason), {})[language] = of
    clauses = []
    for (sign, reason), members in groups.items():
        few = len(members) <= _NAMED
        named = list_languages(f"`{name}`" for name in members)
        where = named if few else f"{len(members)} languages"
        sizes = sorted((of.times(sign or 1) for of in members.values()), key=lambda of: of.value)
        write = (lambda value: minus(show(value))) if sign else (lambda value: signed(value, show))
        size = " to ".join(dict.fromkeys(write(sizes[end].value) for end in (0, -1)))
        if sign:
            size = number(sizes[0], show) if len(sizes) == 1 else size
            clauses.append(f"{size} {unit} {'higher' if sign > 0 else 'lower'} on {where}")
        elif reason:
            clauses.append(f"{size} {unit} on {where}, too few to test ({reason})")
        else:
            between = interval(sizes[0], show) if len(sizes) == 1 else f"({size})"
            clauses.append(f"no significant difference on {where} {between}".rstrip())
    return "; ".join(clauses)


def _versus_chance(measure: Measure) -> str:
    assert isinstance(measure.scores, TaskScores)
    each: list[str] = []
    for model, by in measure.scores.accuracies.items():
        lows = {lang: (of.share.low or 0.0, of.chance.level) for lang, of in by.items()}
        guessed = [f"`{lang}`" for lang, (low, level) in lows.items() if low <= level]
        each += [f"`{measure.names[model]}` on {list_languages(guessed)}"] if guessed else []
    return f"Not significantly above chance: {'; '.join(each)}." if each else "All above chance."


def measure_blocks(evaluation: Evaluation, measure: Measure, model: str = "") -> Iterator[b.Block]:
    """All tables of a text or task, or what they say of one model."""
    scores, models = measure.scores, [model] if model else list(measure.values)
    chance = f" {_versus_chance(measure)}" if measure.task and not model else ""
    yield b.Paragraph(f"{how(measure)}{chance}", "quiet")
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
            about = "Of {:,} segments that are translations of each other: languages compare here."
            yield b.Paragraph(about.format(scores.segments), "quiet")
            yield measure.segment_table(models)
    once = " In the mean, translations count once." * (scores.translated and not measure.roles)
    for versus, comparisons in measure.versus.items():
        signs = ": positive is forgotten, negative learned" * (versus == "its base")
        if compared := [each for each in comparisons if model in ("", each.model)]:
            yield b.Heading(f"Versus {versus}")
            yield b.Paragraph(f"In {measure.unit}, versus {versus}{signs}.{once}", "quiet")
            yield measure.comparison_table(compared)
    if measure.task:
        (language, example), *_ = evaluation.examples[measure.name].items()
        yield b.Heading("Example prompt")
        yield b.Quote(example, language)


def _by_role(
    evaluation: Evaluation, measure: Measure, comparison: Comparison
) -> dict[Role | None, dict[str, Estimate]]:
    """Differences by what languages are to the first of the runs with a base, or any, or theirs."""
    pair = [evaluation.model(name) for name in (comparison.model, comparison.other)]
    bases = [model for model in evaluation.models if model.name in {of.base for of in pair}]
    runs = [model.trained.roles for model in (*pair, *bases) if model.trained]
    roles = next((roles for roles in runs if roles.base_languages), next(iter(runs), None))
    groups: dict[Role | None, dict[str, Estimate]] = {}
    for language, of in measure.differences(comparison).items():
        groups.setdefault(roles.role(language) if roles else None, {})[language] = of
    return groups


def _differences(evaluation: Evaluation, measure: Measure) -> Iterator[tuple[str, str]]:
    names, place = measure.names, f"{'In' if measure.task else 'On'} `{measure.name}`"
    for each in (*measure.versus_base, *measure.versus_first):
        its = "its base " if each in measure.versus_base else ""
        pair = f"`{names[each.model]}` versus {its}`{names[each.other]}`"
        for role, members in _by_role(evaluation, measure, each).items():
            words = describe_changes(members, measure.show, measure.unit)
            yield _ROLES[role], f"{place}, {pair}: {words}."
    if not measure.scores.compared and not measure.versus_base:
        model, values = next(iter(measure.values.items()))
        kind = "% of the items right" if measure.task else "bits per byte"
        each = "; ".join(f"`{lang}` {number(of, measure.show)}" for lang, of in values.items())
        chance = f" {_versus_chance(measure)}" if measure.task else ""
        yield _ROLES[None], f"{place}, `{names[model]}` has {each} {kind}.{chance}"


def _choice(measure: Measure) -> str:
    place, names = f"{'In' if measure.task else 'On'} `{measure.name}`", measure.names
    groups: dict[str, list[str]] = {}
    for language in measure.scores.languages:
        groups.setdefault(measure.roles.get(language, ""), []).append(language)
    groups = {role: langs for role, langs in groups.items() if role != "other"} or groups
    groups = dict(sorted(groups.items(), reverse=True))  # targets first
    leading = {
        role: [m for m in measure.values if all(m in measure.leaders(lang) for lang in langs)]
        for role, langs in groups.items()
    }
    take = [m for m in measure.values if all(m in models for models in leading.values())]
    if len(take) == len(measure.values):
        return f"{place} no model is significantly better than another."
    best = {role: " or ".join(f"`{names[m]}`" for m in ms) for role, ms in leading.items() if ms}
    if take:
        each = " or ".join(f"`{names[model]}`" for model in take)
        every = f"any {' or '.join(groups)} language".replace("  ", " ")
        return f"{place} take {each}: no other is significantly better on {every}."
    clauses = ", ".join(f"on {role or 'all'} languages {each}" for role, each in best.items())
    return f"{place} no model is best in every language{f': {clauses}' if clauses else ''}."


def _caveats(evaluation: Evaluation, measures: list[Measure]) -> Iterator[str]:
    for scores in evaluation.texts.values():
        yield from (f"{line.rstrip('.')}." for line in scores.cautions)
    values = [of for m in measures for by in m.values.values() for of in by.values()]
    for each in evaluation.comparisons:
        values += [*each.languages.values(), each.overall]
    if few := list(filter(None, {of.reason.partition(", there ")[0]: 0 for of in values})):
        yield f"Where it says too few: {'; '.join(few)}."
    each = [c for m in measures if not m.roles for c in (*m.versus_base, *m.scores.compared)]
    signs = [comparison.signs for comparison in each if len(comparison.languages) > 1]
    if any(of.translated for of in signs):
        yield _TRANSLATED
    sole = [of for of in signs if not of.translated]
    if few := [of for of in sole if fewest_wins(of.wins + of.losses, of.among) is None]:
        least = max(fewest_languages(of.among) for of in few)
        yield f"The sign test of `ahead in` needs at least {least} languages."
    contexts = {model.context for model in evaluation.models}
    if evaluation.texts and evaluation.policy.window is None and len(contexts) > 1:
        yield "The models' contexts differ, and with them losses; `--window` makes them equal."
