"""Task scores of a study's runs, and what they will be at lower losses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Accuracy, Evaluation
from tongues.evaluate.kept import kept_evaluations
from tongues.laws.observed import RunCurves
from tongues.laws.task_scores import TaskLaw, fit_task_law
from tongues.runs import Run
from tongues.study.findings import Findings

if TYPE_CHECKING:
    from tongues.laws import Law

__all__ = ["TaskForecast", "task_forecasts"]

_LOWER = 0.9  # of the lowest loss of a run: one forecast
_LONGER = 10.0  # times the most tokens of a run: the other, by the study's law of loss
_NORMAL = 1.96


class _Kind(NamedTuple):
    """What scores must have alike to be of one law."""

    num_fewshot: int
    normalisation: str | None
    items: int
    example: str | None  # the first item with its prompt


@dataclass(frozen=True, slots=True, eq=False)
class TaskForecast:
    """A task in a language: its law, and what it says. Losses are in bits per byte."""

    task: str
    language: str
    num_fewshot: int
    items: int
    law: TaskLaw
    best: Estimate  # accuracy of the run with the lowest loss
    lowest: float  # that loss
    longer: Estimate | None  # loss after ten times the most tokens, by the study's law

    @property
    def at_lower_loss(self) -> Estimate:
        """The accuracy at a loss 10 % below the lowest."""
        return self.law.forecast(_LOWER * self.lowest)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "task": self.task,
            "language": self.language,
            "num_fewshot": self.num_fewshot,
            "items": self.items,
            "runs": self.law.runs,
            "chance": self.law.chance,
            "reason": self.law.reason,
            "lowest_loss": self.lowest,
            "at_lower_loss": self.at_lower_loss.to_json(),
            "at_ten_times_the_tokens": self.longer and self.law.forecast(self.longer).to_json(),
        }


def task_forecasts(
    places: Iterable[Path], records: Sequence[Run], known: Findings
) -> list[TaskForecast]:
    """Of every task and language on which finished runs were evaluated, in the newest evaluations.

    Scores compare where demonstrations, normalization, items and prompts are alike; of several
    kinds that with the most runs counts. places: of the runs, below the workspace with the
    evaluations.
    """
    runs = {(record.run, record.fingerprint) for record in records}
    losses = {(run.name, lang): x for run in known.runs for lang, x in run.bits_per_byte.items()}
    scores: dict[tuple[str, str], dict[_Kind, dict[str, Accuracy]]] = {}
    for evaluation in _evaluations(places):
        trained = {x.name: x.trained for x in evaluation.models if x.trained}
        for task, of in evaluation.tasks.items():
            for model, by_language in of.accuracies.items():
                run = trained.get(model)
                if run is None or (run.run, run.fingerprint) not in runs:
                    continue
                for lang, accuracy in by_language.items():
                    if accuracy.chance and (run.run, lang) in losses:
                        example = evaluation.examples.get(task, {}).get(lang)
                        kind = _Kind(of.num_fewshot, of.normalisation, accuracy.items, example)
                        kinds = scores.setdefault((task, lang), {})
                        kinds.setdefault(kind, {}).setdefault(run.run, accuracy)
    forecasts: list[TaskForecast] = []
    for (task, lang), kinds in scores.items():
        kind = max(kinds, key=lambda kind: len(kinds[kind]))  # the newest of equals
        forecasts.append(_forecast(task, lang, kind, kinds[kind], losses, known))
    return forecasts


def _evaluations(places: Iterable[Path]) -> Iterator[Evaluation]:
    """Those of every workspace above the places."""
    paths = [place.absolute() for place in places]
    for above in dict.fromkeys(folder for path in paths for folder in (path, *path.parents)):
        yield from (evaluation for _, evaluation in kept_evaluations(above))


def _forecast(
    task: str,
    lang: str,
    kind: _Kind,
    scores: Mapping[str, Accuracy],
    losses: Mapping[tuple[str, str], float],
    known: Findings,
) -> TaskForecast:
    names = sorted(scores, key=lambda name: losses[name, lang])
    shares = [scores[name].share for name in names]
    errors = [
        (of.high - of.low) / (2 * _NORMAL) if of.low is not None and of.high is not None else 0.05
        for of in shares
    ]
    levels = [scores[name].guessing for name in names]
    x = [losses[name, lang] for name in names]
    law = fit_task_law(x, [of.value for of in shares], errors, levels[0])
    longer = _longer([run for run in known.runs if run.name in scores], lang, known)
    sizes = kind.num_fewshot, kind.items
    return TaskForecast(task, lang, *sizes, law, shares[0], x[0], longer)


def _longer(runs: Sequence[RunCurves], lang: str, known: Findings) -> Estimate | None:
    """The loss after ten times the most tokens of a run, where the study has a law of loss."""
    learned = [run for run in runs if run.lang == lang]
    if not learned:
        return None
    longest = max(learned, key=lambda run: (run.tokens, run.params))
    fitted = (of.laws for of in known.laws if of.target == longest.target)
    law: Law | None = next(fitted, {}).get(longest.strategy)
    final = longest.final(lang)
    if law is None or law.loose or not final or law.equation.role != "loss":
        return None
    ratio = longest.bits_per_byte[lang] / final
    (ahead,) = law.predict(N=[longest.params], D=[_LONGER * longest.tokens]).estimates
    return ahead.times(ratio, "bits/byte")
