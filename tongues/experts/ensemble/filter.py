"""In which language the next token of a text is, by the tokens before it: a forward filter.

A hidden Markov model whose states c are the languages (or topics) that experts learned, and one
more for text of none of them. Each is met at two paces f: text keeps its language, or changes it
every few words. With the belief b_t(f, c) about token x_t, from the tokens before it:

    b_1(f, c)     = ρ(f) π(c)
    seen(f, c)    = b_t(f, c) p(x_t | c)^γ / Σ_f'c' b_t(f', c') p(x_t | c')^γ
    moved(f, c)   = (1 - s_f) seen(f, c) + s_f π(c) Σ_c' seen(f, c')
    b_{t+1}(f, c) = (1 - r) moved(f, c) + r ρ(f) Σ_f' moved(f', c)
    p(x | c)      = (n(x, c) + m q(x)) / (Σ_x' n(x', c) + m);  of none: q(x)^½ / Σ_x' q(x')^½
    α_e           = Σ_f Σ_{c of expert e} b_t(f, c)

n(x, c) counts token x in a sample of c's training text, q is the probability in the text of all and
m its weight (`_COMMON`). A text changes its language with probability s_f (`switch`, or `FAST`),
and its pace with probability r; γ (`power`) makes up for tokens that depend on each other. Power
and switch are the ones of a grid by which held-out text is most probable under the mixture of
experts. A token costs one row of a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# Tokens of all text that are added to what a language was counted on, so that none is ruled out:
# between 100 and 1,000 the losses of `benchmarks/mixed_text.py` differ little, with samples of
# 5,000 to 500,000 tokens; a fixed share, which helps small samples, is too much for large ones.
_COMMON = 300.0
# Chosen; the grid of γ and s. Expected tokens in a language are 1/s, from 10 to 10,000; a γ of 1 is
# right where tokens are independent. The loss of `filter` depends on both.
_POWERS = (0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
_SWITCHES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)  # chosen, as above
# Of text that switches within sentences: s, its share at first, and r. Losses of
# `benchmarks/mixed_text.py` differ little with s from 0.1 to 0.4 and r from 0.003 to 0.03.
FAST, PACES, CHANGE = 0.2, np.array([[0.9], [0.1]]), 0.01
UNKNOWN = 0.2  # chosen; the prior of none of the languages: text begins with the base, or all
_LENGTH = 240  # chosen; tokens of a text that the two are fitted on, four turns of a mixed one
# Chosen; texts that a mixed one is put together from, and tokens of each: as in `mixed_text.py`.
_PARTS, _PART = 4, 60


@dataclass(frozen=True, slots=True, eq=False)
class LanguageFilter:
    """The belief in each state: a distribution [2, c] by pace, updated by every token."""

    logs: np.ndarray  # [V, c], log-probability of every token in each state
    prior: np.ndarray  # [c], before the first token, and after a switch
    power: float = 0.5  # of the probabilities: tokens of a text depend on each other
    switch: float = 0.01  # probability of another state at the next token

    @property
    def start(self) -> np.ndarray:
        """The belief before the first token."""
        return PACES * self.prior

    def follow(self, belief: np.ndarray, token: int) -> np.ndarray:
        """The belief about the token after this one."""
        return self.after(belief, self.logs[token])

    def read(self, tokens: np.ndarray) -> np.ndarray:
        """The belief after a text."""
        belief = self.start
        for row in self.logs[tokens]:
            belief = self.after(belief, row)
        return belief

    def beliefs(self, tokens: np.ndarray) -> np.ndarray:
        """The belief [T, c] about each token of a text at any pace, from those before it."""
        found = np.empty((len(tokens), len(self.prior)))
        belief = self.start
        for place, row in enumerate(self.logs[tokens]):
            found[place] = belief.sum(0)
            belief = self.after(belief, row)
        return found

    def after(self, belief: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """The belief [..., 2, c] after tokens whose log-probabilities in each state are `logs`."""
        seen = belief * np.exp(self.power * logs.astype(np.float64))[..., None, :]
        seen /= seen.sum((-2, -1), keepdims=True)
        switch = np.array([[self.switch], [FAST]])
        moved = (1 - switch) * seen + switch * seen.sum(-1, keepdims=True) * self.prior
        return (1 - CHANGE) * moved + CHANGE * PACES * moved.sum(-2, keepdims=True)


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


def unknown_logs(common: np.ndarray) -> np.ndarray:
    """Log-probabilities [V, 1] in text of no language: rare tokens are more probable there."""
    return (np.log(common) / 2 - np.log(np.sqrt(common).sum()))[:, None].astype(np.float32)


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
        belief, total = np.tile(trial.start, (len(every), 1, 1)), 0.0
        for place in range(width):
            reached = ((belief.sum(1) @ owned) * np.exp(likely[:, place])).sum(1)
            total -= float(np.nansum(np.log(np.maximum(reached, 1e-300))))
            belief = trial.after(belief, trial.logs[tokens[:, place]])
        return total

    trials = (replace(given, power=p, switch=s) for p in _POWERS for s in _SWITCHES)
    return min(trials, key=cost)
