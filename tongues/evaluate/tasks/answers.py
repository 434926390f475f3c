"""Which choice a model finds likeliest, by each normalisation, and what could not be asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.tasks.task import Normalisation

__all__ = ["ItemFault", "ItemScore", "correct", "count_faults", "stop_at"]


@dataclass(frozen=True, slots=True)
class ItemScore:
    """What a model answers to an item: a number per choice."""

    id: str
    label: int
    sums: tuple[float, ...]  # log-likelihoods, nats
    tokens: tuple[int, ...]  # how long each choice is
    characters: tuple[int, ...]  # without the separator before it, as are the bytes
    bytes: tuple[int, ...]
    unconditional: tuple[float, ...] | None = None  # log-likelihoods of choices standing alone

    def scores(self, normalisation: Normalisation) -> np.ndarray:
        """What the choices are compared by; the highest is the model's answer."""
        sums = np.array(self.sums)
        if normalisation == "pmi":
            if self.unconditional is None:
                what = "choices were not scored standing alone, which `pmi` needs"
                raise UserError(what, where=f"item {self.id}", hint="evaluate again with `pmi`")
            return sums - np.array(self.unconditional)
        lengths = {"token": self.tokens, "character": self.characters, "byte": self.bytes}
        return sums / np.array(lengths.get(normalisation, (1,) * len(sums)), dtype=float)


def correct(scores: Sequence[ItemScore], normalisation: Normalisation) -> np.ndarray:
    """Whether each item was answered rightly [items], by the first of the likeliest choices."""
    right = [int(np.argmax(score.scores(normalisation))) == score.label for score in scores]
    return np.array(right, dtype=bool)


@dataclass(frozen=True, slots=True)
class ItemFault:
    """Something that was not scored: a row that is no item, or an item a model cannot be asked."""

    source: str  # the file or data set
    place: str  # `line 12`, `row 12` or the item's id
    reason: str  # in few words that can be counted
    sample: str  # what it is about, or its beginning


def count_faults(faults: Sequence[ItemFault]) -> list[str]:
    """A sentence for each reason: how many things it concerns, and the first of them."""
    first: dict[str, ItemFault] = {}
    for fault in faults:
        first.setdefault(fault.reason, fault)
    things = {(fault.reason, fault.source, fault.place) for fault in faults}
    counts = Counter(reason for reason, _, _ in things)
    return [
        f"{counts[reason]} left out: {reason} (first {one.source}, {one.place}: {one.sample})"
        for reason, one in first.items()
    ]


def stop_at(fault: ItemFault, hint: str = "mend it, or go on without such items") -> UserError:
    """The error for a fault where the user chose to stop."""
    what = f"{fault.reason}: {fault.sample}" if fault.sample else fault.reason
    return UserError(what, where=f"{fault.source}, {fault.place}", hint=hint)
