"""How much one way of scoring text is better than another, with intervals over documents."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.experts.heldout import FEWEST
from tongues.randomness import derive_seed

__all__ = ["Losses", "less", "less_in_all"]

_DRAWS = 1000
_LEVEL = (2.5, 97.5)

Losses = Mapping[str, np.ndarray]  # nats of every document, by language


def less(
    own: Sequence[Losses], other: Sequence[Losses], lang: str, lengths: np.ndarray
) -> dict[str, Any]:
    """How much lower its loss on a language is, nats per token, with the 95 % interval.

    own, other: of every seed of training. lengths: tokens of each document. Of too few documents
    there is no interval: `low` and `high` are None.
    """
    return _interval(_differences(own, other, lang, lengths), told=len(lengths) >= FEWEST)


def less_in_all(
    own: Sequence[Losses],
    others: Mapping[str, Sequence[Losses]],
    lengths: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """The same of the mean over languages, each against its own other.

    One document says nothing of how documents differ, so every language needs two.
    """
    each = [_differences(own, others[lang], lang, of) for lang, of in lengths.items()]
    counts = [len(of) for of in lengths.values()]
    return _interval(np.mean(each, axis=0), told=sum(counts) >= FEWEST and min(counts) > 1)


def _differences(
    own: Sequence[Losses], other: Sequence[Losses], lang: str, lengths: np.ndarray
) -> np.ndarray:
    """Loss of the other less its own: first as measured, then in draws of the documents."""
    gap = np.mean([of[lang] for of in other], axis=0) - np.mean([of[lang] for of in own], axis=0)
    random = np.random.default_rng(derive_seed(0, "documents", lang))
    drawn = random.multinomial(len(lengths), np.full(len(lengths), 1 / len(lengths)), _DRAWS)
    weights = np.vstack([np.ones(len(lengths)), drawn])
    return (weights @ gap) / (weights @ lengths)


def _interval(differences: np.ndarray, *, told: bool) -> dict[str, Any]:
    low, high = np.percentile(differences[1:], _LEVEL).tolist() if told else (None, None)
    return {"mean": float(differences[0]), "low": low, "high": high}
