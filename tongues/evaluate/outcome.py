"""What an evaluation's units come to, put together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version

from tongues.errors import UserError
from tongues.evaluate.accuracies import task_scores
from tongues.evaluate.conduct import Results
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores
from tongues.evaluate.losses import text_scores
from tongues.evaluate.tasks import Exam, ItemFault, ItemScore, count_faults
from tongues.evaluate.tasks.score import Answers
from tongues.evaluate.units import Unit

__all__ = ["put_together"]


def put_together(done: Results, named: Sequence[str] | None = None) -> Evaluation:
    """An evaluation of what was scored; every model is compared with the first.

    named: the models that are compared with the first, where others are there only as bases. A
    task, or a language of it, of which no item suits every model is left out; a UserError where
    nothing is left then.
    """
    names = [model.name for model in done.models]
    pairs = [(name, names[0]) for name in named or names if name in names[1:]]
    tasks: dict[str, TaskScores] = {}
    examples: dict[str, dict[str, str]] = {}
    faults = dict.fromkeys(done.asked.faults)
    unanswered: list[str] = []
    for name, by in done.asked.exams.items():
        units = {lang: [unit for unit in done.answers if _is_of(unit, name, lang)] for lang in by}
        told = {lang: _faults(done.answers, units[lang], exam) for lang, exam in by.items()}
        faults |= dict.fromkeys(fault for each in told.values() for fault in each)
        answers = {
            model: {
                lang: [done.answers[unit].scores for unit in own if unit.subject == model]
                for lang, own in units.items()
            }
            for model in names
        }
        suited = [lang for lang in by if _common([own[lang] for own in answers.values()])]
        unanswered += _unsuited(name, {lang: told[lang] for lang in by if lang not in suited}, by)
        if not suited:
            continue
        exam = by[suited[0]]
        tasks[name] = task_scores(
            {model: {lang: own[lang] for lang in suited} for model, own in answers.items()},
            pairs,
            done.asked.normalisation or exam.task.normalisation,
            len(exam.demonstrations[0]),
        )
        examples[name] = {lang: by[lang].items[0].shown(exam.task.separator) for lang in suited}
    counted = count_faults(list(faults))
    texts = _texts(done, names, pairs)
    if done.asked.exams and not (tasks or texts):
        what = "nothing could be asked of every model"
        raise UserError(what, where="--on", hint="; ".join([*unanswered, *counted]))
    return Evaluation(
        tongues=version("tongues"),
        models=done.models,
        policy=done.asked.policy,
        texts=texts,
        tasks=tasks,
        examples=examples,
        left_out=[*unanswered, *counted],
    )


def _texts(
    done: Results, names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> dict[str, TextScores]:
    bases = {model.name: model.base for model in done.models if model.base in names}
    return {
        text: text_scores(
            {model: {lang: done.texts[Unit(model, text, lang)] for lang in by} for model in names},
            pairs,
            {model: str(base) for model, base in bases.items()},
        )
        for text, by in done.asked.texts.items()
    }


def _is_of(unit: Unit, task: str, language: str) -> bool:
    return (unit.what, unit.language) == (task, language)


def _faults(answers: Mapping[Unit, Answers], units: Iterable[Unit], exam: Exam) -> list[ItemFault]:
    """What is no item, and what some model could not be asked."""
    return [*exam.faults, *(fault for unit in units for fault in answers[unit].faults)]


def _common(models: Sequence[Sequence[Sequence[ItemScore]]]) -> set[str]:
    """The items that all models answered in every draw."""
    return set.intersection(*({of.id for of in scores} for draws in models for scores in draws))


def _unsuited(
    task: str, told: Mapping[str, Sequence[ItemFault]], asked: Collection[str]
) -> list[str]:
    """That no item of a task in these languages suits every model, and why."""
    reasons = {lang: ", ".join({of.reason: None for of in each}) for lang, each in told.items()}
    if len(told) == len(asked):
        why = ", ".join(dict.fromkeys(reasons.values()))
        return [f"`{task}`: no item suits every model ({why})"]
    return [
        f"`{task}` in `{lang}`: no item suits every model ({why})" for lang, why in reasons.items()
    ]
