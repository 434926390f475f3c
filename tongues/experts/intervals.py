"""How much one way of scoring text is better than another, with intervals over documents."""

from collections.abc import Mapping, Sequence

import numpy as np

from tongues.significance import Difference, paired_loss, paired_mean

__all__ = ["Losses", "less", "less_in_all"]

Losses = Mapping[str, np.ndarray]  # nats of every document, by language


def less(
    own: Sequence[Losses],
    other: Sequence[Losses],
    lang: str,
    lengths: np.ndarray,
    groups: Sequence[str],
) -> Difference:
    """How much lower its loss on a language is, nats per token.

    own, other: of every seed of training. lengths: tokens of each document. groups: what each
    belongs to.
    """
    return paired_loss(_mean(other, lang), _mean(own, lang), lengths, groups)


def less_in_all(
    own: Sequence[Losses],
    others: Mapping[str, Sequence[Losses]],
    lengths: Mapping[str, np.ndarray],
    groups: Mapping[str, Sequence[str]],
) -> Difference:
    """The same of the mean over languages, each against its own other."""
    return paired_mean(
        [_mean(others[lang], lang) for lang in lengths],
        [_mean(own, lang) for lang in lengths],
        list(lengths.values()),
        [groups[lang] for lang in lengths],
    )


def _mean(seeds: Sequence[Losses], lang: str) -> np.ndarray:
    """Nats of each document in the mean over seeds of training."""
    return np.mean([of[lang] for of in seeds], axis=0)
