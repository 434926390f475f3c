"""Which choice a model finds likeliest, by each way to compare choices of unlike lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.tasks.task import Normalisation

__all__ = ["ItemScore", "accuracy", "chance", "choose", "correct"]


@dataclass(frozen=True, slots=True)
class ItemScore:
    """What a model said to an item: a number per choice.

    sums: log-likelihoods in nats. tokens, characters, bytes: how long each choice is; the last two
    without the separator before it. unconditional: log-likelihoods of the choices standing alone.
    """

    id: str
    label: int
    sums: tuple[float, ...]
    tokens: tuple[int, ...]
    characters: tuple[int, ...]
    bytes: tuple[int, ...]
    unconditional: tuple[float, ...] | None = None

    def scores(self, normalisation: Normalisation) -> np.ndarray:
        """What the choices are compared by; the highest is the model's answer."""
        sums = np.array(self.sums)
        if normalisation == "pmi":
            if self.unconditional is None:
                what = "choices were not scored standing alone, which `pmi` needs"
                raise UserError(what, where=f"item {self.id}", hint="evaluate again with `pmi`")
            return sums - np.array(self.unconditional)
        lengths = {
            "token": self.tokens,
            "character": self.characters,
            "byte": self.bytes,
            "sum": (1,) * len(sums),
        }
        return sums / np.array(lengths[normalisation], dtype=float)


def choose(score: ItemScore, normalisation: Normalisation) -> int:
    """The likeliest choice; the first of equals."""
    return int(np.argmax(score.scores(normalisation)))


def correct(scores: Sequence[ItemScore], normalisation: Normalisation) -> np.ndarray:
    """Whether each item was answered rightly [items]."""
    right = [choose(score, normalisation) == score.label for score in scores]
    return np.array(right, dtype=bool)


def accuracy(scores: Sequence[ItemScore], normalisation: Normalisation) -> float:
    """The share of items answered rightly."""
    return float(correct(scores, normalisation).mean())


def chance(scores: Sequence[ItemScore]) -> float:
    """The accuracy that guessing would have."""
    return float(np.mean([1 / len(score.sums) for score in scores]))
