"""The words of an evaluation: of its page, its answer in the terminal, and a model's card.

Every sentence is a template in `words.toml`; what is true is decided in `facts` and in
`evaluate/choice`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.pages import too_few
from tongues.core.roles import list_languages
from tongues.core.significance import POWER
from tongues.evaluate.choice import Choice
from tongues.evaluate.evaluation import EvaluatedModel, Evaluation, TaskScores, TextScores
from tongues.languages import language_name
from tongues.report.evaluation.facts import (
    at_chance,
    best_models,
    detectable_differences,
    guessed_languages,
    kind_of_choice,
    measured_values,
)
from tongues.report.evaluation.tables import Measure

_NAMED = 6  # chosen; languages that a sentence names, at most

WORDS: dict[str, Any] = read_beside(__file__)


def answer(evaluation: Evaluation) -> dict[str, list[str]]:
    """Sentences by topic, the choice first; topics without any are left out."""
    measures = Measure.of(evaluation)
    several = [measure for measure in measures if len(measure.values) > 1]
    topics = {
        "Choice": [_choice(evaluation, of, _place(of, measures)) for of in several],
        "Certainty": _certainty(measures),
        "Caveats": list(_caveats(evaluation, measures)),
        "Left out": _whole(evaluation.left_out),
    }
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def _place(measure: Measure, measures: Sequence[Measure]) -> str:
    """Where a sentence is about; nothing where all are about the same."""
    if len(measures) == 1:
        return ""
    return f"In task `{measure.name}`," if measure.task else f"On text `{measure.name}`,"


def _choice(evaluation: Evaluation, measure: Measure, place: str) -> str:
    """Which models to take by a text or a task."""
    choice = Choice.of(evaluation, measure.scores)
    roles = sorted({role for lang in choice.counted for role in choice.roles[lang]}, reverse=True)
    more = WORDS["more"]["limit" if evaluation.limit else "task" if measure.task else "text"]
    each = best_models(measure, choice)
    best = ", ".join(f"{_models(measure, m)} for {_where(x)}" for m, x in each.items())
    kind = kind_of_choice(measure, choice)
    line = WORDS["choice"]["none" if kind == "split" and not best else kind].format(
        place=f"{place} " if place else "",
        things="items" if measure.task else "independent documents",
        untested=_languages(choice.untested),
        count=len(measure.values),
        more=more.format(limit=evaluation.limit),
        models=_models(measure, choice.models),
        languages=" ".join(filter(None, ("any", " or ".join(roles), "language"))),
        best=best,
    )
    return line[0].upper() + line[1:]


def _models(measure: Measure, models: Sequence[str]) -> str:
    return " or ".join(f"`{measure.names[model]}`" for model in models)


def _languages(languages: Sequence[str]) -> str:
    return list_languages(f"`{language_name(lang)}`" for lang in languages)


def _where(languages: Sequence[str]) -> str:
    few = len(languages) <= _NAMED
    return _languages(languages) if few else f"{len(languages)} languages"


def _certainty(measures: Sequence[Measure]) -> list[str]:
    """How many differences are significant, and by which tests."""
    compared = [each for m in measures for of in m.versus.values() for each in of]
    each = [of for comparison in compared for of in comparison.languages.values()]
    if not each:
        return list(WORDS["sure"])
    count = sum(of.significant != 0 for of in each)
    tests = dict.fromkeys(of.method for of in each if of.p is not None and of.method)
    by = f" by {' and '.join(tests)}" if tests else ""
    first = WORDS["significant"].format(significant=count, count=len(each), tests=by)
    return [first, WORDS["corrected"], *WORDS["sure"]]


def _caveats(evaluation: Evaluation, measures: Sequence[Measure]) -> Iterator[str]:
    """Why an evaluation may say less than it seems to."""
    for scores in evaluation.texts.values():
        yield from _whole(scores.cautions)
    for measure in filter(at_chance, measures):
        yield WORDS["not_separated"].format(task=measure.name)
    for task, of_task in evaluation.tasks.items():
        for language, of in next(iter(of_task.accuracies.values())).items():
            if of.worth:
                about = {"language": language, "groups": of.groups, "worth": of.worth}
                yield WORDS["uneven"].format(task=task, **about)
    if few := too_few(measured_values(evaluation, measures)):
        yield few
    contexts = {model.context for model in evaluation.models}
    if evaluation.texts and evaluation.policy.window is None and len(contexts) > 1:
        yield WORDS["contexts"]


def _whole(lines: Sequence[str]) -> list[str]:
    """Lines as sentences, each with one full stop."""
    return [f"{line.rstrip('.')}." for line in lines]


def how(measure: Measure) -> str:
    """In which unit values are, and how choices were compared."""
    scores = measure.scores
    if isinstance(scores, TextScores):
        return WORDS["how"]["text"]
    draws = next(iter(next(iter(scores.accuracies.values())).values())).fewshot_seeds
    shots = f"{scores.num_fewshot} demonstrations, drawn {draws} times"
    shots = shots if scores.num_fewshot else "no demonstrations"
    if scores.normalisation is not None:
        return WORDS["how"]["task"].format(way=WORDS["compared"][scores.normalisation], shots=shots)
    unit = "In %" if scores.share else scores.metric
    return WORDS["how"]["loss" if scores.lower_is_better else "metric"].format(
        unit=unit, shots=shots
    )


def versus_chance(measure: Measure) -> str:
    """Which models do not beat guessing; nothing of a metric without chance."""
    if not (isinstance(measure.scores, TaskScores) and measure.scores.chance):
        return ""
    guessed = {model: langs for model, langs in guessed_languages(measure).items() if langs}
    each = [f"`{measure.names[model]}` on {_languages(langs)}" for model, langs in guessed.items()]
    return WORDS["at_chance"].format(each="; ".join(each)) if each else WORDS["above_chance"]


def versus(measure: Measure, reference: str, model: str) -> str:
    """What a table of differences is in, and what it could detect; model: empty: all."""
    lines = [WORDS["versus"][reference].format(unit=measure.unit)]
    if measure.scores.translated and not measure.roles:
        lines.append(WORDS["once"])
    ends = None if reference == "base" else detectable_differences(measure, model)
    if ends:
        size = " to ".join(dict.fromkeys(map(measure.show, ends)))
        lines.append(WORDS["detected"].format(size=size, unit=measure.unit, power=POWER))
    return " ".join(lines)


def measured(evaluation: Evaluation, model: EvaluatedModel) -> str:
    """How the scores of a model's card were measured."""
    first = f"the token `{model.first}`" if model.first else "nothing"
    lines = [line.format(version=evaluation.tongues) for line in WORDS["card"]]
    if model.routing:
        lines.append(WORDS["routing"].format(model.routing))
    lines.append(WORDS["first" if model.prompted else "first_of_texts"].format(first))
    return " ".join((*lines, *_whole(evaluation.left_out)))
