"""Scores of a run on tasks while it trains, item by item as `evaluate` computes them."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.evaluate.tasks import FewShotTask, correct, count_faults
from tongues.evaluate.tasks.score import score_task
from tongues.experts.ensemble.model import model_in_memory
from tongues.significance import chance, measured_accuracy, standard_error
from tongues.tokens import Tokens

__all__ = ["MilestoneTasks"]


@dataclass(frozen=True, slots=True)
class MilestoneTasks:
    """The tasks that a run is scored on, by name and language."""

    tasks: Mapping[str, Mapping[str, FewShotTask]]

    def __call__(
        self, network: PreTrainedModel, tokens: Tokens, between: Callable[[], None]
    ) -> list[dict[str, Any]]:
        """A row of numbers a task and language; between: called after every batch.

        Accuracies are shares; `error` is their standard error over groups of items. A UserError
        where the model can score no item of a task.
        """
        return list(self._rows(network, tokens, between))

    def _rows(
        self, network: PreTrainedModel, tokens: Tokens, between: Callable[[], None]
    ) -> Iterator[dict[str, Any]]:
        model = model_in_memory("this model", network, tokens)
        for name, by_language in self.tasks.items():
            for lang, fewshot in by_language.items():
                answers = score_task(model, fewshot, on_error="skip", tell=lambda *_: between())
                if not (scores := answers.scores):
                    what = f"`{name}` in `{lang}`: no item can be scored"
                    hint = "; ".join(count_faults(answers.faults))
                    raise UserError(what, where="train.tasks", hint=hint)
                right = correct(scores, fewshot.task.normalisation)[None].astype(float)
                groups = [score.group or score.id for score in scores]
                share = measured_accuracy(right, groups)
                error = standard_error(right, groups)
                level = chance(np.array([len(score.sums) for score in scores]), groups)
                yield {
                    "task": name,
                    "lang": lang,
                    "accuracy": share.value,
                    "error": None if math.isnan(error) else error,
                    "low": share.low,
                    "high": share.high,
                    "chance": level.level,
                    "items": len(scores),
                    "groups": len(set(groups)),
                    "left_out": len(answers.faults),
                }
