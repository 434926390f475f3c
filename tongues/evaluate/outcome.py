"""From the results of an evaluation's units to the evaluation."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

from tongues.core.errors import UserError
from tongues.evaluate.answers import metric_scores, task_scores
from tongues.evaluate.comparing import source_losses, text_scores
from tongues.evaluate.evaluation import Evaluation, TaskScores
from tongues.evaluate.runner import Results, Unit
from tongues.evaluate.tasks import count_faults


def build_evaluation(results: Results, named: Sequence[str] | None = None) -> Evaluation:
    """An evaluation of what was scored; every model is compared with the first.

    named: the models that are compared with the first, where others are there only as bases. A
    task, or a language of it, without an item that every model can score is left out; a UserError
    where nothing is left then.
    """
    spec, names = results.spec, [model.name for model in results.models]
    pairs = [(name, names[0]) for name in named or names if name in names[1:]]
    tasks: dict[str, TaskScores] = {}
    examples: dict[str, dict[str, str]] = {}
    faults = dict.fromkeys(spec.faults)
    left_out: list[str] = []
    for name, by in spec.tasks.items():
        draws = {
            (model, lang): [
                results.answers[Unit(model, name, lang, len(shown), draw)]
                for draw, shown in enumerate(fewshot.demonstrations)
            ]
            for model in names
            for lang, fewshot in by.items()
        }
        reasons: dict[str, dict[str, None]] = {}  # by language that is left out
        for lang, fewshot in by.items():
            each = [draw for model in names for draw in draws[model, lang]]
            here = [*fewshot.faults, *(fault for draw in each for fault in draw.faults)]
            faults |= dict.fromkeys(here)
            if not set.intersection(*({score.id for score in draw.scores} for draw in each)):
                reasons[lang] = dict.fromkeys(fault.reason for fault in here)
        suited = [lang for lang in by if lang not in reasons]
        every = dict.fromkeys(reason for why in reasons.values() for reason in why)
        whys = {f"`{name}` in `{lang}`": why for lang, why in reasons.items()}
        for what, why in (whys if suited else {f"`{name}`": every}).items():
            left_out.append(f"{what}: no item suits every model ({', '.join(why)})")
        if suited:
            task, shown = by[suited[0]].task, by[suited[0]].demonstrations[0]
            answers = {
                model: {lang: [draw.scores for draw in draws[model, lang]] for lang in suited}
                for model in names
            }
            tasks[name] = task_scores(answers, pairs, task.normalisation, len(shown))
            examples[name] = {lang: by[lang].items[0].shown(task.separator) for lang in suited}
    for name, by in spec.harness.items():
        each = {
            model: {
                lang: results.harness[Unit(model, name, lang, task.num_fewshot or 0)]
                for lang, task in by.items()
            }
            for model in names
        }

        def say(line: str, name: str = name) -> None:
            left_out.append(f"`{name}` {line}")

        for metric, scores in metric_scores(each, pairs, say).items():
            tasks[f"{name} {metric}"] = scores
            example = {lang: of.example for lang, of in each[names[0]].items()}
            examples[f"{name} {metric}"] = example
    left_out += count_faults(list(faults))
    bases = {model.name: model.base for model in results.models if model.base in names}
    texts = {}
    for text, by in spec.texts.items():
        losses = {
            model: {lang: results.texts[Unit(model, text, lang)] for lang in by} for model in names
        }
        others = {name: str(base) for name, base in bases.items()}
        sources = {lang: [document.source for document in of] for lang, of in by.items()}
        each = source_losses(losses, sources)
        by_source = text_scores(each, pairs, others) if any(each.values()) else None
        scores, doubts = text_scores(losses, pairs, others), spec.cautions.get(text, ())
        cautions = [*(doubt.sentence for doubt in doubts), *scores.cautions]
        texts[text] = replace(scores, by_source=by_source, cautions=cautions)
    if spec.tasks and not (tasks or texts):
        what = "no item can be scored by every model"
        raise UserError(what, where="--tasks", hint="; ".join(left_out))
    return Evaluation(
        tongues=version("tongues"),
        models=results.models,
        policy=spec.policy,
        texts=texts,
        tasks=tasks,
        examples=examples,
        left_out=left_out,
    )
