"""The words of an evaluation: of its page, its answer in the terminal, and a model's card.

Every sentence is a template here; what is true is decided in `facts` and in `evaluate/choice`.
"""

from collections.abc import Iterator, Mapping, Sequence

from tongues.core.estimate import Estimate
from tongues.core.pages import Show, interval, minus, number, signed, too_few
from tongues.core.roles import Role, list_languages
from tongues.core.significance import POWER
from tongues.evaluate.choice import Choice
from tongues.evaluate.evaluation import EvaluatedModel, Evaluation, TaskScores, TextScores
from tongues.report.evaluation.facts import (
    at_chance,
    best_models,
    changes_by_role,
    detectable_differences,
    guessed_languages,
    kind_of_choice,
    measured_values,
)
from tongues.report.evaluation.tables import Measure

_NAMED = 6  # chosen; languages that a sentence names, at most
_MOST = 8  # chosen; sentences of a topic: all numbers are in the tables

_TOPICS: dict[Role | None, str] = {
    "target": "Target languages",
    "base": "Base languages",
    "other": "Other languages",
    None: "Languages",
}
_CHOICES = {
    "open": "{place}not decided: too few {things} on {untested} to choose among {count} models; "
    "{more}.",
    "equal": "{place}no model is significantly better than another.",
    "take": "{place}take {models}: no other model is significantly better on {languages}.",
    "split": "{place}no model is best in every language{best}.",
}
_MORE = {
    "limit": "evaluate on more than `--limit {limit}`",
    "text": "hold out more",
    "task": "take more",
}
_SIGNIFICANT = "**Significant differences: {significant} of {count}**, at p < 0.05{tests}."
_CORRECTED = "p is Holm-corrected for all languages and models of a table."
_SURE = (
    "Brackets are 95 % confidence intervals over documents, items and draws of demonstrations.",
    "They do not include the variance between random seeds of training.",
)
_CHANGES = {
    "higher": "{size} {unit} higher on {where}",
    "lower": "{size} {unit} lower on {where}",
    "untested": "{size} {unit} on {where} (not tested)",  # the caveats have the reason
    "none": "no significant difference on {where} {between}",
}
_PAIRS = {"base": "`{model}` versus its base `{other}`", "first": "`{model}` versus `{other}`"}
_HOW = {
    "text": "In bits per byte, comparable between tokenizers.",
    "task": "In %; choices compared by {way}, {shots}.",
    "metric": "{unit}; items, prompts and metric of lm-eval, {shots}.",
    "loss": "{unit}; lower is better; items, prompts and metric of lm-eval, {shots}.",
}
_COMPARED = {
    "token": "mean log-probability of a token",
    "character": "log-probability per character",
    "sum": "log-probability",
}
_VERSUS = {
    "base": "In {unit}: positive is forgotten, negative learned.",
    "first": "In {unit}.",
}
_ONCE = "In the mean, translations count once."
_DETECTED = "Differences of {size} {unit} are detected with {power:.0%} probability."
_ABOVE_CHANCE = "All above chance and the majority answer."
_AT_CHANCE = "Not significantly above chance and the majority answer: {each}."
_NOT_SEPARATED = (
    "`{task}` cannot separate these models: none is significantly above chance and the majority "
    "answer."
)
_CONTEXTS = "The models' contexts differ, and with them losses; `--window` makes them equal."
WINDOWS = {  # by whether there is no `--window`
    True: "Long texts are scored in windows as long as a model's context.",
    False: "Long texts are scored in windows of {window:,} tokens.",
}
BOLD = "Bold: the best, and those not significantly worse than it."
SEGMENTS = "Of {:,} segments that are translations of each other: languages compare here."
SOURCES = (
    "Bits per byte by the file or data set that a document is from, and paired differences, "
    "Holm-corrected for all sources and pairs of models."
)
INTERVALS = "With 95 % confidence intervals."
CHANCE = "The dashed line is chance."
SIDES = {
    True: "Of differences, left of the line at 0 is better.",
    False: "Of differences, right of the line at 0 is better.",
}
REPLAY = (
    "Continued runs by the share of replay in their training. Of a text, the difference of "
    "losses; of a task, (accuracy − chance) / (accuracy of the first model − chance), left out "
    "where that model is not significantly above chance."
)
_CARD = (
    "Measured with tongues {version}; in brackets 95 % confidence intervals.",
    "Differences: p < 0.05, Holm-corrected for all models and languages compared.",
)
_ROUTING = "Routing: `{}`."
_FIRST = {
    True: "Before every text comes {}.",
    False: "Before every text comes {}, but nothing before the prompts of tasks.",
}


def answer(evaluation: Evaluation) -> dict[str, list[str]]:
    """Sentences by topic, the choice first; topics without any are left out."""
    measures = Measure.of(evaluation)
    several = [measure for measure in measures if len(measure.values) > 1]
    choice = [_choice(evaluation, measure, _place(measure, measures)) for measure in several]
    topics: dict[str, list[str]] = {"Choice": choice, "Certainty": [_certainty(measures)]}
    topics |= {title: [] for title in _TOPICS.values()}
    for measure in measures:
        place = f"{_place(measure, measures)}, ".removeprefix(", ")
        for reference, comparisons in measure.versus.items():
            for of in comparisons:
                names = {"model": measure.names[of.model], "other": measure.names[of.other]}
                pair = _PAIRS[reference].format(**names)
                for role, by_language in changes_by_role(evaluation, measure, of).items():
                    said = describe_changes(by_language, measure.show, measure.unit)
                    topics[_TOPICS[role]].append(f"{place}{pair}: {said}.")
        if not (measure.scores.compared or measure.versus):
            topics[_TOPICS[None]].append(f"{place}{_alone(measure)}")
    for title in _TOPICS.values():
        if (more := len(topics[title]) - _MOST) > 0:
            topics[title][_MOST:] = [f"{more} more comparisons are in the tables."]
    topics["Caveats"] = list(_caveats(evaluation, measures))
    topics["Left out"] = _whole(evaluation.left_out)
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def _place(measure: Measure, measures: Sequence[Measure]) -> str:
    """Where a sentence is about; nothing where all are about the same."""
    if len(measures) == 1:
        return ""
    return f"In `{measure.name}`" if measure.task else f"On `{measure.name}`"


def _choice(evaluation: Evaluation, measure: Measure, place: str) -> str:
    """Which models to take by a text or a task."""
    choice = Choice.of(evaluation, measure.scores)
    roles = sorted({role for lang in choice.counted for role in choice.roles[lang]}, reverse=True)
    more = _MORE["limit" if evaluation.limit else "task" if measure.task else "text"]
    each = best_models(measure, choice)
    best = ", ".join(f"{_models(measure, m)} on {_where(x)}" for m, x in each.items())
    line = _CHOICES[kind_of_choice(measure, choice)].format(
        place=f"{place} " if place else "",
        things="items" if measure.task else "independent documents",
        untested=_languages(choice.untested),
        count=len(measure.values),
        more=more.format(limit=evaluation.limit),
        models=_models(measure, choice.models),
        languages=" ".join(filter(None, ("any", " or ".join(roles), "language"))),
        best=f": {best}" if best else "",
    )
    return line[0].upper() + line[1:]


def _models(measure: Measure, models: Sequence[str]) -> str:
    return " or ".join(f"`{measure.names[model]}`" for model in models)


def _languages(languages: Sequence[str]) -> str:
    return list_languages(f"`{lang}`" for lang in languages)


def _where(languages: Sequence[str]) -> str:
    few = len(languages) <= _NAMED
    return _languages(languages) if few else f"{len(languages)} languages"


def _certainty(measures: Sequence[Measure]) -> str:
    """How many differences are significant, and by which tests."""
    compared = [each for m in measures for of in m.versus.values() for each in of]
    each = [of for comparison in compared for of in comparison.languages.values()]
    if not each:
        return " ".join(_SURE)
    count = sum(of.significant != 0 for of in each)
    tests = dict.fromkeys(of.method for of in each if of.p is not None and of.method)
    by = f" by {' and '.join(tests)}" if tests else ""
    first = _SIGNIFICANT.format(significant=count, count=len(each), tests=by)
    return " ".join((first, _CORRECTED, *_SURE))


def describe_changes(by_language: Mapping[str, Estimate], show: Show, unit: str) -> str:
    """Such as `0.15 [0.14, 0.17] points lower on qaa; no significant difference on qab [-1, 2]`."""
    groups: dict[str, dict[str, Estimate]] = {}
    for language, of in by_language.items():
        kind = "untested" if of.reason else "none"
        kind = {1: "higher", -1: "lower"}.get(of.significant, kind)
        groups.setdefault(kind, {})[language] = of.times(of.significant or 1)
    each = []
    for kind, members in groups.items():
        ordered = sorted(members.values(), key=lambda of: of.value)
        ends = [ordered[end].value for end in (0, -1)]
        ends = [signed(x, show) if kind == "untested" else minus(show(x)) for x in ends]
        one = number(ordered[0], show) if kind != "untested" else ends[0]
        size = one if len(ordered) == 1 else " to ".join(dict.fromkeys(ends))
        between = interval(ordered[0], show) if len(ordered) == 1 else ""
        words = {"size": size, "unit": unit, "where": _where(list(members)), "between": between}
        each.append(_CHANGES[kind].format(**words).rstrip())
    return "; ".join(each)


def _alone(measure: Measure) -> str:
    """What a model that is compared with nothing has."""
    model, values = next(iter(measure.values.items()))
    each = "; ".join(f"`{lang}` {number(of, measure.show)}" for lang, of in values.items())
    chance = versus_chance(measure) if measure.task else ""
    return f"`{measure.names[model]}` has {each} {measure.quantity}. {chance}".rstrip()


def _caveats(evaluation: Evaluation, measures: Sequence[Measure]) -> Iterator[str]:
    """Why an evaluation may say less than it seems to."""
    for scores in evaluation.texts.values():
        yield from _whole(scores.cautions)
    for measure in filter(at_chance, measures):
        yield _NOT_SEPARATED.format(task=measure.name)
    if few := too_few(measured_values(evaluation, measures)):
        yield few
    contexts = {model.context for model in evaluation.models}
    if evaluation.texts and evaluation.policy.window is None and len(contexts) > 1:
        yield _CONTEXTS


def _whole(lines: Sequence[str]) -> list[str]:
    """Lines as sentences, each with one full stop."""
    return [f"{line.rstrip('.')}." for line in lines]


def how(measure: Measure) -> str:
    """In which unit values are, and how choices were compared."""
    scores = measure.scores
    if isinstance(scores, TextScores):
        return _HOW["text"]
    draws = next(iter(next(iter(scores.accuracies.values())).values())).fewshot_seeds
    shots = f"{scores.num_fewshot} demonstrations, drawn {draws} times"
    shots = shots if scores.num_fewshot else "no demonstrations"
    if scores.normalisation is not None:
        return _HOW["task"].format(way=_COMPARED[scores.normalisation], shots=shots)
    unit = "In %" if scores.share else scores.metric
    return _HOW["loss" if scores.lower_is_better else "metric"].format(unit=unit, shots=shots)


def versus_chance(measure: Measure) -> str:
    """Which models are no better than guessing; nothing of a metric without chance."""
    if not (isinstance(measure.scores, TaskScores) and measure.scores.chance):
        return ""
    guessed = {model: langs for model, langs in guessed_languages(measure).items() if langs}
    each = [f"`{measure.names[model]}` on {_languages(langs)}" for model, langs in guessed.items()]
    return _AT_CHANCE.format(each="; ".join(each)) if each else _ABOVE_CHANCE


def versus(measure: Measure, reference: str, model: str) -> str:
    """What a table of differences is in, and what it could detect; model: empty: all."""
    lines = [_VERSUS[reference].format(unit=measure.unit)]
    if measure.scores.translated and not measure.roles:
        lines.append(_ONCE)
    ends = None if reference == "base" else detectable_differences(measure, model)
    if ends:
        size = " to ".join(dict.fromkeys(map(measure.show, ends)))
        lines.append(_DETECTED.format(size=size, unit=measure.unit, power=POWER))
    return " ".join(lines)


def measured(evaluation: Evaluation, model: EvaluatedModel) -> str:
    """How the scores of a model's card were measured."""
    first = f"the token `{model.first}`" if model.first else "nothing"
    lines = [line.format(version=evaluation.tongues) for line in _CARD]
    if model.routing:
        lines.append(_ROUTING.format(model.routing))
    lines.append(_FIRST[model.prompted].format(first))
    return " ".join((*lines, *_whole(evaluation.left_out)))
