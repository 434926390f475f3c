"""Losses that are not in nats per token, told by their name, their size, or a step of 1.44."""

import re
from collections.abc import Mapping

import numpy as np

from tongues.errors import Caution

__all__ = ["in_bits", "other_unit"]

_BITS = -np.log(np.log(2))  # the logarithm of how much larger a loss is in bits
_HIGHEST = 15.0  # nats: more than guessing among three million tokens
_FEWEST = 3  # rows in bits; fewer may be outliers
_POWER = -0.35  # near the exponents that laws of sizes and tokens have
_STARTS, _ROUNDS, _SAMPLE = 60, 4, 300


def other_unit(column: str, loss: np.ndarray) -> Caution | None:
    """Whether the column's name or its size says that its unit is another one."""
    advice = "divide bits by 1.4427 (1 / ln 2), and take the logarithm of perplexities"
    if re.search(r"bit|bpb|bpc|bpt|ppl|perplex", column.lower()):
        sentence = f"`{column}` does not sound like nats per token: {advice}"
    elif len(loss) and np.median(loss) > _HIGHEST:
        sentence = f"half of `{column}` is above {_HIGHEST:g}, too much for nats: {advice}"
    else:
        return None
    return Caution("not_nats", sentence)


def in_bits(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    """The rows that stand 1.44 times above what the others lead to expect.

    Power laws of usual exponents are laid through a few rows taken to be in nats, many times,
    and each through all rows once those above it are brought down. Rows are told only where nine
    tenths of both groups lie close together and the groups apart by that step.
    """
    scaled = [(values / np.exp(np.log(values).mean())) ** _POWER for values in variables.values()]
    terms = np.stack([np.ones(len(loss)), *scaled], axis=1)
    few = terms.shape[1] + 1
    generator = np.random.default_rng(0)
    sample = generator.permutation(len(loss))[:_SAMPLE]
    if len(sample) < few + 2 * _FEWEST:
        return np.zeros(0, int)

    def law_of(rows: np.ndarray, nats: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(terms[rows] / nats[:, None], np.ones(len(rows)), rcond=None)[0]

    def heights(law: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        """How far losses are above a law, in logarithms."""
        return np.log(loss[rows] / np.maximum(terms[rows] @ law, 0.01 * loss[rows]))

    best, least = np.zeros(few - 1), np.inf
    for _ in range(_STARTS):
        rows = generator.choice(sample, few, replace=False)
        law = law_of(rows, loss[rows])
        for _ in range(_ROUNDS):
            lifted = heights(law, sample) > _BITS / 2
            law = law_of(sample, np.where(lifted, loss[sample] * np.log(2), loss[sample]))
        height = heights(law, sample)
        spread = np.abs(height - _BITS * (height > _BITS / 2)).mean()
        if spread < least:
            best, least = law, spread
    height = heights(best, slice(None))
    lifted = height > _BITS / 2
    if not _FEWEST <= lifted.sum() <= len(loss) - _FEWEST:
        return np.zeros(0, int)
    groups = height[lifted], height[~lifted]
    middles = [np.median(group) for group in groups]
    pairs = zip(groups, middles, strict=True)
    close = min(np.mean(np.abs(group - middle) < _BITS / 5) for group, middle in pairs)
    found = abs(middles[0] - middles[1] - _BITS) < 0.04 and close > 0.9
    return np.flatnonzero(lifted) if found else np.zeros(0, int)
