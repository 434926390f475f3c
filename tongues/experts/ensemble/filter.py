"""In which language the next token of a text is, by the tokens before it: a forward filter.

A hidden Markov model whose states c are the languages (or topics) that experts learned. With the
belief b_t(c) about token x_t, from the tokens before it, and the prior π:

    b_1(c)     = π(c)
    b_{t+1}(c) = (1 - s) · b_t(c) p(x_t | c)^γ / Σ_c' b_t(c') p(x_t | c')^γ  +  s · π(c)
    p(x | c)   = (n(x, c) + m q(x)) / (Σ_x' n(x', c) + m)
    α_e        = Σ_{c of expert e} b_t(c)

n(x, c) counts token x in a sample of c's training text, q is the probability in the text of all and
m its weight (`_COMMON`). A text changes its language with probability s (`switch`); γ (`power`)
makes up for tokens that depend on each other. Both are the ones of a grid by which held-out text is
most probable under the mixture of experts. A token costs one row of a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# Tokens of all text that are added to what a language was counted on, so that none is ruled out:
# between 100 and 1,000 the losses of `benchmarks/mixed_text.py` differ little, with samples of
# 5,000 to 500,000 tokens; a fixed share, which helps small samples, is too much for large ones.
_COMMON = 300.0
# Chosen; the grid of γ and s. Expected tokens in a language are 1/s, from 33 to 1,000; a γ of 1 is
# right where tokens are independent. The loss of `filter` depends on both.
_POWERS = (0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
_SWITCHES = (0.001, 0.003, 0.01, 0.03)  # chosen, as above
_LENGTH = 240  # chosen; tokens of a text that the two are fitted on, four turns of a mixed one
# Chosen; texts that a mixed one is put together from, and tokens of each: as in `mixed_text.py`.
_PARTS, _PART = 4, 60


@dataclass(frozen=True, slots=True, eq=False)
class LanguageFilter:
    """The belief in each state: a distribution [c], updated by every token."""

    logs: np.ndarray  # [V, c], log-probability of every token in each state
    prior: np.ndarray  # [c], before the first token, and after a switch
    power: float = 0.5  # of the probabilities: tokens of a text depend on each other
    switch: float = 0.01  # probability of another state at the next token

    def follow(self, belief: np.ndarray, token: int) -> np.ndarray:
        """The belief about the token after this one."""
        return self.after(belief, self.logs[token])

    def read(self, tokens: np.ndarray) -> np.ndarray:
        """The belief after a text."""
        return self.beliefs(np.append(tokens, 0))[-1]

    def beliefs(self, tokens: np.ndarray) -> np.ndarray:
        """The belief [T, c] about each token of a text, from those before it."""
        found = np.empty((len(tokens), len(self.prior)))
        belief = self.prior
        for place, row in enumerate(self.logs[tokens]):
            found[place] = belief
            belief = self.after(belief, row)
        return found

    def after(self, belief: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """The belief [..., c] after tokens whose log-probabilities in each state are `logs`."""
        seen = belief * np.exp(self.power * logs.astype(np.float64))
        seen *= (1 - self.switch) / seen.sum(-1, keepdims=True)
        return seen + self.switch * self.prior


def count_tokens(samples: Sequence[Sequence[np.ndarray]], vocabulary: int) -> np.ndarray:
    """How often each token is in the documents of each state, [V, c]."""
    counts = np.zeros((vocabulary, len(samples)))
    for state, documents in enumerate(samples):
        for tokens in documents:
            counts[:, state] += np.bincount(tokens, minlength=vocabulary)
    return counts


def token_logs(
    counts: np.ndarray, common: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """Log-probabilities [V, c] by counts [V, c] and each token's probability in all text [V].

    others: log-probabilities [V, .] of states next to these. A token that no state has favours
    none of them: of two samples, the smaller one says less of what is not in it.
    """
    has = counts.max(axis=1) > 0
    if others is not None:
        has = has | (others != _neutral(common)).any(axis=1)
    sums = counts.sum(0) + _COMMON
    logs = np.log((counts + _COMMON * common[:, None]) / sums).astype(np.float32)
    return np.where(has[:, None], logs, _neutral(common))


def _neutral(common: np.ndarray) -> np.ndarray:
    return np.log(common)[:, None].astype(np.float32)


def fit_filter(
    given: LanguageFilter,
    owned: np.ndarray,
    documents: Sequence[np.ndarray],
    log_probs: Sequence[np.ndarray],
) -> LanguageFilter:
    """The filter with the power and the switch by which texts are most probable, plain and mixed.

    owned: [c, k], 1 where a state is an expert's. log_probs: of each document, the log-probability
    [T, k] of its tokens by every expert. Mixed texts are parts of documents from all over the list.
    """
    texts = [(t[:_LENGTH], logs[:_LENGTH]) for t, logs in zip(documents, log_probs, strict=True)]
    texts = [text for text in texts if len(text[0])]
    if not texts:
        return given
    far = max(1, len(texts) // _PARTS)
    mixed = []
    for start in range(len(texts)):
        parts = [texts[(start + far * part) % len(texts)] for part in range(_PARTS)]
        mixed.append([np.concatenate([part[n][:_PART] for part in parts]) for n in (0, 1)])
    every = [*texts, *mixed]
    width = max(len(tokens) for tokens, _ in every)
    tokens = np.zeros((len(every), width), dtype=np.int64)
    likely = np.full((len(every), width, owned.shape[1]), np.nan)
    for row, (ids, logs) in enumerate(every):
        tokens[row, : len(ids)], likely[row, : len(ids)] = ids, logs
    likely -= likely.max(2, keepdims=True)

    def cost(trial: LanguageFilter) -> float:
        belief, total = np.tile(trial.prior, (len(every), 1)), 0.0
        for place in range(width):
            reached = ((belief @ owned) * np.exp(likely[:, place])).sum(1)
            total -= float(np.nansum(np.log(np.maximum(reached, 1e-300))))
            belief = trial.after(belief, trial.logs[tokens[:, place]])
        return total

    trials = (replace(given, power=p, switch=s) for p in _POWERS for s in _SWITCHES)
    return min(trials, key=cost)
