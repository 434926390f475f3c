"""From the results of an evaluation's units to the evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tongues import __version__
from tongues.core.errors import UserError
from tongues.evaluate.answers import metric_scores, task_scores
from tongues.evaluate.comparing import source_losses, text_scores
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores
from tongues.evaluate.harness import HarnessTask
from tongues.evaluate.runner import Results, Unit
from tongues.evaluate.tasks import FewShotTask, ItemFault, count_faults
from tongues.evaluate.words import WORDS

Pairs = Sequence[tuple[str, str]]  # of models to compare


def build_evaluation(results: Results, named: Sequence[str] | None = None) -> Evaluation:
    """An evaluation of what was scored; every model is compared with the first.

    named: the models that are compared with the first, where others are there only as bases. A
    task, or a language of it, without an item that every model can score is left out; a UserError
    where nothing is left then.
    """
    spec, names = results.spec, [model.name for model in results.models]
    pairs = [(name, names[0]) for name in named or names if name in names[1:]]
    tasks = _Tasks(faults=dict.fromkeys(spec.faults))
    for name, by in spec.tasks.items():
        _add_own(tasks, results, name, by, pairs)
    for name, by in spec.harness.items():
        _add_harness(tasks, results, name, by, pairs)
    left_out = [*tasks.left_out, *count_faults(list(tasks.faults))]
    texts = {text: _text_scores(results, text, pairs) for text in spec.texts}
    if spec.tasks and not (tasks.scores or texts):
        what = "no item can be scored by every model"
        raise UserError(what, where="--tasks", hint="; ".join(left_out))
    return Evaluation(
        tongues=__version__,
        models=results.models,
        policy=spec.policy,
        texts=texts,
        tasks=tasks.scores,
        examples=tasks.examples,
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True)
class _Tasks:
    """The scores of tasks, an item of each in each language, and what is left out of them."""

    scores: dict[str, TaskScores] = field(default_factory=dict)
    examples: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    faults: dict[ItemFault, None] = field(default_factory=dict)


def _add_own(
    tasks: _Tasks, results: Results, name: str, by: Mapping[str, FewShotTask], pairs: Pairs
) -> None:
    """Add a task of this package."""
    names = [model.name for model in results.models]
    draws = {
        (model, lang): [
            results.answers[Unit(model, name, lang, len(shown), draw)]
            for draw, shown in enumerate(fewshot.demonstrations)
        ]
        for model in names
        for lang, fewshot in by.items()
    }
    suited: list[str] = []
    for lang, fewshot in by.items():
        each = [draw for model in names for draw in draws[model, lang]]
        here = [*fewshot.faults, *(fault for draw in each for fault in draw.faults)]
        tasks.faults.update(dict.fromkeys(here))
        if set.intersection(*({score.id for score in draw.scores} for draw in each)):
            suited.append(lang)
        else:
            reasons = ", ".join(dict.fromkeys(fault.reason for fault in here))
            line = WORDS["no_item"].format(task=name, language=lang, reasons=reasons)
            tasks.left_out.append(line)
    if not suited:
        return
    task, shown = by[suited[0]].task, by[suited[0]].demonstrations[0]
    answers = {
        model: {lang: [draw.scores for draw in draws[model, lang]] for lang in suited}
        for model in names
    }
    tasks.scores[name] = task_scores(answers, pairs, task.normalisation, len(shown))
    tasks.examples[name] = {lang: by[lang].items[0].shown(task.separator) for lang in suited}


def _add_harness(
    tasks: _Tasks, results: Results, name: str, by: Mapping[str, HarnessTask], pairs: Pairs
) -> None:
    """Add a task of lm-eval, by its metrics."""
    each = {
        model.name: {
            lang: results.harness[Unit(model.name, name, lang, task.num_fewshot or 0)]
            for lang, task in by.items()
        }
        for model in results.models
    }
    example = {lang: of.example for lang, of in each[results.models[0].name].items()}
    gaps: list[tuple[str, str]] = []
    for metric, of in metric_scores(each, pairs, gaps.append).items():
        tasks.scores[f"{name} {metric}"], tasks.examples[f"{name} {metric}"] = of, example
    for metric, lang in gaps:
        line = WORDS["no_value"].format(task=name, metric=metric, language=lang)
        tasks.left_out.append(line)


def _text_scores(results: Results, text: str, pairs: Pairs) -> TextScores:
    """All models on a text, and on each of its sources where a language has several."""
    names, by = [model.name for model in results.models], results.spec.texts[text]
    bases = {model.name: model.base for model in results.models if model.base in names}
    losses = {
        model: {lang: results.texts[Unit(model, text, lang)] for lang in by} for model in names
    }
    others = {name: str(base) for name, base in bases.items()}
    sources = {lang: [document.source for document in of] for lang, of in by.items()}
    each = source_losses(losses, sources)
    by_source = text_scores(each, pairs, others) if any(each.values()) else None
    scores, doubts = text_scores(losses, pairs, others), results.spec.cautions.get(text, ())
    cautions = [*(doubt.sentence for doubt in doubts), *scores.cautions]
    return replace(scores, by_source=by_source, cautions=cautions)
