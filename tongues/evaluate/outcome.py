"""What an evaluation's units come to, put together."""

from collections.abc import Sequence
from importlib.metadata import version

from tongues.errors import UserError
from tongues.evaluate.comparing import task_scores, text_scores
from tongues.evaluate.conduct import Results, Unit
from tongues.evaluate.evaluation import Evaluation, TaskScores
from tongues.evaluate.tasks import ItemFault, count_faults

__all__ = ["put_together"]


def put_together(results: Results, named: Sequence[str] | None = None) -> Evaluation:
    """An evaluation of what was scored; every model is compared with the first.

    named: the models that are compared with the first, where others are there only as bases. A
    task, or a language of it, of which no item suits every model is left out; a UserError where
    nothing is left then.
    """
    suite, names = results.suite, [model.name for model in results.models]
    pairs = [(name, names[0]) for name in named or names if name in names[1:]]
    tasks: dict[str, TaskScores] = {}
    examples: dict[str, dict[str, str]] = {}
    faults = dict.fromkeys(suite.faults)
    left_out: list[str] = []
    for name, by in suite.exams.items():
        answers = {
            model: {
                lang: [
                    results.answers[Unit(model, name, lang, len(shown), draw)]
                    for draw, shown in enumerate(exam.demonstrations)
                ]
                for lang, exam in by.items()
            }
            for model in names
        }
        suited, reasons = [], {}
        for lang, exam in by.items():
            draws = [draw for own in answers.values() for draw in own[lang]]
            own: list[ItemFault] = [*exam.faults, *(one for draw in draws for one in draw.faults)]
            faults |= dict.fromkeys(own)
            if set.intersection(*({score.id for score in draw.scores} for draw in draws)):
                suited.append(lang)
            else:
                reasons[f"`{name}` in `{lang}`"] = dict.fromkeys(one.reason for one in own)
        if not suited:
            every = dict.fromkeys(reason for each in reasons.values() for reason in each)
            reasons = {f"`{name}`": every}
        left_out += [
            f"{what}: no item suits every model ({', '.join(why)})" for what, why in reasons.items()
        ]
        if suited:
            task, shown = by[suited[0]].task, by[suited[0]].demonstrations[0]
            tasks[name] = task_scores(
                {
                    model: {lang: [draw.scores for draw in own[lang]] for lang in suited}
                    for model, own in answers.items()
                },
                pairs,
                suite.normalisation or task.normalisation,
                len(shown),
            )
            examples[name] = {lang: by[lang].items[0].shown(task.separator) for lang in suited}
    left_out += count_faults(list(faults))
    bases = {model.name: model.base for model in results.models if model.base in names}
    texts = {
        text: text_scores(
            {
                model: {lang: results.texts[Unit(model, text, lang)] for lang in by}
                for model in names
            },
            pairs,
            {model: str(base) for model, base in bases.items()},
        )
        for text, by in suite.texts.items()
    }
    if suite.exams and not (tasks or texts):
        what = "nothing could be asked of every model"
        raise UserError(what, where="--on", hint="; ".join(left_out))
    return Evaluation(
        tongues=version("tongues"),
        models=results.models,
        policy=suite.policy,
        texts=texts,
        tasks=tasks,
        examples=examples,
        left_out=left_out,
    )
