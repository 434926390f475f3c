"""What an evaluation answers: which model to take, how sure, gains and losses by role, the cost."""

from collections import Counter
from collections.abc import Iterator, Mapping

from tongues.core.estimate import Estimate
from tongues.core.pages import Show, interval, minus, number, signed, too_few
from tongues.core.pages import blocks as b
from tongues.core.quantities import show_bytes
from tongues.core.roles import Role, list_languages
from tongues.core.significance import POWER, detectable
from tongues.core.significance.signs import fewest_languages, fewest_wins
from tongues.evaluate.choice import Choice
from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores, TextScores
from tongues.report.evaluation.measures import SOURCES, Measure, how

_ROLES: dict[Role | None, str] = {
    "target": "Target languages",
    "base": "Base languages",
    "other": "Other languages",
    None: "Languages",
}
_NAMED = 6  # languages that a sentence names, at most
_MOST = 8  # sentences of a topic; all numbers are in the tables
_SURE = (
    "Brackets are 95 % confidence intervals over documents, items and draws of demonstrations; "
    "they do not include the variance between random seeds of training."
)
_BOLD = "Bold: the best, and those not significantly worse than it."
_TRANSLATED = "The languages are translations of each other: their number adds nothing to the mean."


def answer(evaluation: Evaluation) -> dict[str, list[str]]:
    """Sentences by topic, the choice first; topics without any are left out."""
    measures = Measure.of(evaluation)
    choice = [
        _choice(evaluation, measure, measures) for measure in measures if len(measure.values) > 1
    ]
    topics: dict[str, list[str]] = {"Choice": [], "Certainty": [_certainty(measures)]}
    topics |= {title: [] for title in _ROLES.values()}
    topics["Choice"] = [line[0].upper() + line[1:] for line in choice]
    for measure in measures:
        for title, sentence in _differences(evaluation, measure, measures):
            topics[title].append(sentence)
    for title in _ROLES.values():
        if (more := len(topics[title]) - _MOST) > 0:
            topics[title][_MOST:] = [f"{more} more comparisons are in the tables."]
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
    groups: dict[tuple[int, bool], dict[str, Estimate]] = {}
    for language, of in by_language.items():
        untested = bool(of.reason) and not of.significant  # the caveats have the reason
        groups.setdefault((of.significant, untested), {})[language] = of
    clauses = []
    for (sign, untested), members in groups.items():
        few = len(members) <= _NAMED
        named = list_languages(f"`{name}`" for name in members)
        where = named if few else f"{len(members)} languages"
        sizes = sorted((of.times(sign or 1) for of in members.values()), key=lambda of: of.value)
        write = (lambda value: minus(show(value))) if sign else (lambda value: signed(value, show))
        size = " to ".join(dict.fromkeys(write(sizes[end].value) for end in (0, -1)))
        if sign:
            size = number(sizes[0], show) if len(sizes) == 1 else size
            clauses.append(f"{size} {unit} {'higher' if sign > 0 else 'lower'} on {where}")
        elif untested:
            clauses.append(f"{size} {unit} on {where} (not tested)")
        else:
            between = interval(sizes[0], show) if len(sizes) == 1 else f"({size})"
            clauses.append(f"no significant difference on {where} {between}".rstrip())
    return "; ".join(clauses)


def _versus_chance(measure: Measure) -> str:
    assert isinstance(measure.scores, TaskScores)
    each: list[str] = []
    for model, by in measure.scores.accuracies.items():
        lows = {lang: (of.share.low or 0.0, of.guessing) for lang, of in by.items()}
        guessed = [f"`{lang}`" for lang, (low, level) in lows.items() if low <= level]
        each += [f"`{measure.names[model]}` on {list_languages(guessed)}"] if guessed else []
    if measure.scores.chance is None:
        return ""
    if not each:
        return "All above chance and the majority answer."
    return f"Not significantly above chance and the majority answer: {'; '.join(each)}."


def _detectable(measure: Measure, model: str) -> str:
    """What the comparisons with the first model could detect."""
    compared = [each for each in measure.scores.versus_first if model in ("", each.model)]
    each = [detectable(of) for one in compared for of in measure.differences(one).values()]
    ends = sorted(of for of in each if of is not None)
    if not ends:
        return ""
    size = " to ".join(dict.fromkeys(measure.show(end) for end in (ends[0], ends[-1])))
    return f" Differences of {size} {measure.unit} are detected with {POWER:.0%} probability."


def measure_blocks(evaluation: Evaluation, measure: Measure, model: str = "") -> Iterator[b.Block]:
    """All tables of a text or task, or what they say of one model."""
    scores, models = measure.scores, [model] if model else list(measure.values)
    about = [how(measure), _versus_chance(measure) if measure.task and not model else ""]
    about.append(_BOLD if len(models) > 1 else "")
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
            text = "Of {:,} segments that are translations of each other: languages compare here."
            yield text.format(scores.segments)
            yield measure.segment_table(models)
    once = " In the mean, translations count once." * (scores.translated and not measure.roles)
    for versus, comparisons in measure.versus.items():
        signs = ": positive is forgotten, negative learned" * (versus == "its base")
        if compared := [each for each in comparisons if model in ("", each.model)]:
            yield b.Heading(f"Versus {versus}")
            power = "" if versus == "its base" else _detectable(measure, model)
            text = f"In {measure.unit}, versus {versus}{signs}.{once}{power}"
            yield text
            yield measure.comparison_table(compared)
    if table := measure.source_table(models):
        yield b.Heading("By source")
        yield SOURCES
        yield table
    if measure.task:
        (language, example), *_ = evaluation.examples[measure.name].items()
        yield b.Heading("Example prompt")
        yield b.Quote(example, language)


def _place(measure: Measure, measures: list[Measure]) -> str:
    """Where a sentence is about; nothing where all are about the same."""
    return f"{'In' if measure.task else 'On'} `{measure.name}`" if len(measures) > 1 else ""


def _by_role(
    evaluation: Evaluation, measure: Measure, comparison: Comparison
) -> dict[Role | None, dict[str, Estimate]]:
    """Differences by what languages are to the first model with a base that knows them, or any."""
    pair = [evaluation.model(name) for name in (comparison.model, comparison.other)]
    bases = [model for model in evaluation.models if model.name in {of.base for of in pair}]
    each = [model.roles for model in (*pair, *bases) if model.roles]
    each = [roles for roles in each if roles.base_languages] or each
    groups: dict[Role | None, dict[str, Estimate]] = {}
    for language, of in measure.differences(comparison).items():
        roles: list[Role] = [roles.role(language) for roles in each]
        known: list[Role] = [role for role in roles if role != "other"] or roles
        groups.setdefault(known[0] if known else None, {})[language] = of
    return groups


def _differences(
    evaluation: Evaluation, measure: Measure, measures: list[Measure]
) -> Iterator[tuple[str, str]]:
    names, place = measure.names, f"{_place(measure, measures)}, ".removeprefix(", ")
    for each in (*measure.scores.versus_base, *measure.scores.versus_first):
        its = "its base " if each in measure.scores.versus_base else ""
        pair = f"`{names[each.model]}` versus {its}`{names[each.other]}`"
        for role, members in _by_role(evaluation, measure, each).items():
            words = describe_changes(members, measure.show, measure.unit)
            yield _ROLES[role], f"{place}{pair}: {words}."
    if not measure.scores.compared and not measure.scores.versus_base:
        model, values = next(iter(measure.values.items()))
        each = "; ".join(f"`{lang}` {number(of, measure.show)}" for lang, of in values.items())
        chance = f" {_versus_chance(measure)}".rstrip() if measure.task else ""
        yield _ROLES[None], f"{place}`{names[model]}` has {each} {measure.quantity}.{chance}"


def _choice(evaluation: Evaluation, measure: Measure, measures: list[Measure]) -> str:
    names, place = measure.names, _place(measure, measures)
    choice = Choice.of(evaluation, measure.scores)
    roles, counted, take = choice.roles, choice.counted, choice.models
    named = list_languages(f"`{lang}`" for lang in choice.untested)
    few = "items" if measure.task else "independent documents"
    few = f"too few {few} on {named} to choose among {len(measure.values)} models"
    rest = f" There are {few}." if named else ""
    if not choice.decided:
        best = ", ".join(_best_by_language(measure, choice))
        what = f"{best}; for the rest not decided" if best else "not decided"
        more = "hold out more" if not measure.task else "take more"
        if evaluation.limit:
            more = f"evaluate on more than `--limit {evaluation.limit}`"
        return f"{place} {what}: {few}; {more}.".lstrip()
    if len(take) == len(measure.values):
        return f"{place} no model is significantly better than another.{rest}".lstrip()
    if take:
        every = " or ".join(sorted({roles[lang] for lang in counted} - {""}, reverse=True))
        every = f"any {every} language".replace("  ", " ")
        models = " or ".join(f"`{names[model]}`" for model in take)
        why = f"no other model is significantly better on {every}"
        return f"{place} take {models}: {why}.{rest}".lstrip()
    best = _best_by_language(measure, choice)
    what = f": {', '.join(best)}" if best else ""
    return f"{place} no model is best in every language{what}.{rest}".lstrip()


def _best_by_language(measure: Measure, choice: Choice) -> list[str]:
    """Such as "`one` or `two` on target languages", where some model is worse."""
    roles, groups = choice.roles, dict[str, list[str]]()  # of one role, or of the same leaders
    tested = [lang for lang in choice.counted if lang not in choice.untested]
    sole = Counter(roles[lang] for lang in choice.counted if lang in choice.untested)
    for lang in sorted(tested, key=lambda lang: roles[lang], reverse=True):  # targets first
        one = roles[lang] in ("target", "base") and not sole[roles[lang]]
        groups.setdefault(roles[lang] if one else str(measure.leaders(lang)), []).append(lang)
    clauses: list[str] = []
    for key, langs in groups.items():
        best = [m for m in measure.values if all(m in measure.leaders(lang) for lang in langs)]
        where = list_languages(f"`{lang}`" for lang in langs)
        where = where if len(langs) <= _NAMED else f"{len(langs)} languages"
        where = f"{key} languages" if key in ("target", "base") else where
        models = " or ".join(f"`{measure.names[model]}`" for model in best)
        clauses += [f"{models} on {where}"] if best and len(best) < len(measure.values) else []
    return clauses


def _certainty(measures: list[Measure]) -> str:
    """How many differences are significant, by which test."""
    each = [
        of
        for measure in measures
        for comparison in (*measure.scores.versus_base, *measure.scores.versus_first)
        for of in comparison.languages.values()
    ]
    if not each:
        return _SURE
    significant = sum(of.significant != 0 for of in each)
    tests = list(dict.fromkeys(of.method for of in each if of.p is not None and of.method))
    by = f" by {' and '.join(tests)}" if tests else ""
    verb = "is" if significant == 1 else "are"
    return (
        f"**{significant} of {len(each)} differences {verb} significant** at p < 0.05{by}, "
        f"Holm-corrected for all languages and models of a table. {_SURE}"
    )


def _caveats(evaluation: Evaluation, measures: list[Measure]) -> Iterator[str]:
    for scores in evaluation.texts.values():
        yield from (f"{line.rstrip('.')}." for line in scores.cautions)
    for measure in measures:
        if (
            isinstance(measure.scores, TaskScores)
            and measure.scores.chance
            and len(measure.values) > 1
        ):
            each = [of for by in measure.scores.accuracies.values() for of in by.values()]
            if not any((of.share.low or 0.0) > of.guessing for of in each):
                yield (
                    f"`{measure.name}` cannot separate these models: none is significantly above "
                    "chance and the majority answer."
                )
    values = [of for m in measures for by in m.values.values() for of in by.values()]
    for each in evaluation.comparisons:
        values += [*each.languages.values(), each.overall]
    if few := too_few(values):
        yield few
    each = [
        comparison
        for measure in measures
        if not measure.roles
        for comparison in (*measure.scores.versus_base, *measure.scores.compared)
    ]
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
