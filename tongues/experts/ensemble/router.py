"""The router: experts' weights by the languages of a text so far, or by its TF-IDF embedding.

The languages are those of the forward filter (`filter`). By TF-IDF, the weight of expert e at token
x_t is that of its centres c (arXiv 2401.10440, where an expert has one centre):

    v(x_<t) = u / |u|,  u = Σ_{i<t} idf(x_i) P[x_i]
    α_e     = Σ_{c of e} exp(-dist(v(x_<t), c)² / T) / Σ_{all c'} exp(-dist(v(x_<t), c')² / T)

P[x] is the direction of token x in d dimensions (a truncated SVD of TF-IDF rows), c the mean of v
over a sample of documents, dist the Euclidean distance, and T the temperature by which held-out
text is most probable under the mixture. u is a running sum, so a token more costs the same at any
length. Where a text says nothing (u = 0), the weights are the experts' shares of all text.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import check_readable, whole_file
from tongues.experts.ensemble.filter import (
    UNKNOWN,
    LanguageFilter,
    count_tokens,
    fit_filter,
    token_logs,
    unknown_logs,
)

_ROWS = 4096  # tokens of a document at a time
_TENSORS = ("vectors", "centres", "owners", "prior", "logs", "common")
_NUMBERS = ("temperature", "power", "switch")
_SURE = 0.5  # belief from which a text's language is named: more than all others together
# Temperatures tried first: squared distances are from 0 to 4, so the ends are one centre and all.
_COARSE = np.linspace(np.log(1e-4), np.log(1e2), 41)
_FINE = 1e-3  # chosen; of log T, where the search ends: 0.1 % of T


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """What turns a text so far into the experts' weights, which add up to 1.

    An expert has a centre for each of its languages, or one for its topic. The weight of a
    centre goes with exp(-distance² / temperature), that of an expert is its centres' sum, or its
    prior as long as the text says nothing.
    """

    vectors: np.ndarray  # [V, d], of every token of the tokenizer, weighted by its idf
    centres: np.ndarray  # [c, d], mean embeddings of documents
    owners: np.ndarray  # [c], the expert of each centre
    prior: np.ndarray  # [k], adds up to 1
    logs: np.ndarray  # [V, c], of every token in what each centre stands for: the filter's
    common: np.ndarray  # [V], its probability in the text that the first languages had
    temperature: float = 0.1
    power: float = 0.5
    switch: float = 0.01
    languages: tuple[str, ...] = ()  # that each centre stands for; none: topics, older files
    fallback: bool = False  # whether the base is there for text of none, as the last of k
    _doubled: np.ndarray = field(init=False, repr=False)  # [d, c]
    _reach: np.ndarray = field(init=False, repr=False)  # [c]
    owned: np.ndarray = field(init=False, repr=False)  # [c, k], 1 where it is the expert's
    shares: np.ndarray = field(init=False, repr=False)  # [c + 1, k], of each state of the filter
    filter: LanguageFilter = field(init=False, repr=False)  # its states: the centres, and none

    def __post_init__(self) -> None:
        centres = self.centres.astype(np.float64)
        object.__setattr__(self, "_doubled", np.ascontiguousarray(2.0 * centres.T))
        object.__setattr__(self, "_reach", 1.0 + np.vecdot(centres, centres))
        object.__setattr__(self, "owned", np.eye(self.k)[self.owners])
        unknown = np.eye(self.k)[-1] if self.fallback else np.full(self.k, 1 / self.k)
        object.__setattr__(self, "shares", np.vstack([self.owned, unknown]))
        prior = self.prior[self.owners] / np.bincount(self.owners)[self.owners]
        prior = np.append((1 - UNKNOWN) * prior, UNKNOWN)
        logs = np.hstack([self.logs, unknown_logs(self.common)])
        states = LanguageFilter(logs, prior, self.power, self.switch)
        object.__setattr__(self, "filter", states)

    @property
    def k(self) -> int:
        """The number of experts, with the base where it is one."""
        return len(self.prior) + self.fallback

    def sum(self, tokens: np.ndarray) -> np.ndarray:
        """A text so far, as the router sees it: the sum [d] of the vectors of its tokens.

        One token more adds its row of `vectors`.
        """
        terms, counts = np.unique(tokens, return_counts=True)
        return counts.astype(np.float64) @ self.vectors[terms]

    def weights(self, sums: np.ndarray) -> np.ndarray:
        """The experts' weights [..., k] for the next token of texts, by their sums [..., d]."""
        return self._weigh(self.distances(sums))

    def language(self, belief: np.ndarray) -> str | None:
        """The language that a text is in by now, by the filter's belief [2, c + 1].

        "unknown" where it is none that an expert learned; None while that is not decided.
        """
        believed = belief.sum(0)
        names = (*(self.languages or ("",) * len(self.owners)), "unknown")
        return (names[int(believed.argmax())] or None) if believed.max() >= _SURE else None

    def distances(self, sums: np.ndarray) -> np.ndarray:
        """Squared distances [..., c] from the centres; NaN where a text says nothing."""
        lengths = np.sqrt(np.vecdot(sums, sums))[..., None]
        with np.errstate(invalid="ignore"):
            return self._reach - (sums @ self._doubled) / lengths

    def _weigh(self, distances: np.ndarray) -> np.ndarray:
        weights = distance_weights(distances, self.temperature) @ self.owned
        if not np.minimum.reduce(weights, axis=None, initial=1.0) >= 0:
            weights[np.isnan(weights[..., 0])] = np.append(self.prior, [0.0] * self.fallback)
        return weights

    def document_distances(self, tokens: np.ndarray) -> np.ndarray:
        """Squared distances [T, c] of what is before each token of a document."""
        distances = np.empty((len(tokens), len(self.centres)))
        before = np.zeros(self.vectors.shape[1])
        for start in range(0, len(tokens), _ROWS):
            steps = self.vectors[tokens[start : start + _ROWS]]
            sums = np.cumsum(steps, axis=0, dtype=np.float64)
            sums += before
            distances[start : start + len(steps)] = self.distances(np.vstack([before, sums[:-1]]))
            before = sums[-1]
        return distances

    def document_weights(self, tokens: np.ndarray) -> np.ndarray:
        """Weights [T, k] for each token of a document, from what is before it."""
        return self._weigh(self.document_distances(tokens))


def distance_weights(distances: np.ndarray, temperature: float) -> np.ndarray:
    """Weights [..., c] that go with exp(-distance² / temperature), by squared distances."""
    nearest = np.minimum.reduce(distances, axis=-1, keepdims=True)
    weights = np.exp((nearest - distances) / temperature)
    weights /= np.add.reduce(weights, axis=-1, keepdims=True)
    return weights


def fit_router(
    idf: np.ndarray,
    projection: np.ndarray,
    documents: Sequence[Sequence[Sequence[np.ndarray]]],
    prior: Sequence[float] | None = None,
    languages: Sequence[str] = (),
) -> Router:
    """A router for experts of any partition: their centres are means over documents.

    idf [V], projection [V, d]: of every token, such as topics have them; an idf of 0 leaves a token
    out. documents: of each expert, a sample of the tokens of each of its languages, or one
    of all it learned; a sample makes a centre. prior: the experts' weights where a text says
    nothing, such as their shares of all text; equal if left out.
    """
    vectors = (idf[:, None] * projection).astype(np.float32)
    counts = count_tokens([*chain(*documents)], len(vectors))
    common = (counts.sum(1) + 1) / (counts.sum() + len(counts))
    logs = token_logs(counts, common)
    first = np.ones(len(documents)) if prior is None else np.asarray(prior, dtype=np.float64)
    owners = np.repeat(np.arange(len(documents)), [len(samples) for samples in documents])
    none = np.zeros((len(owners), vectors.shape[1]))
    router, centres = Router(vectors, none, owners, first / first.sum(), logs, common), []
    for sample in chain(*documents):
        sums = np.array([router.sum(tokens) for tokens in sample])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres.append((sums / np.where(lengths > 0, lengths, 1)).mean(axis=0))
    return replace(router, centres=np.array(centres), languages=tuple(languages))


def fit_to_text(
    router: Router, documents: Sequence[np.ndarray], log_probs: Sequence[np.ndarray]
) -> Router:
    """The router with the settings by which held-out documents are most probable.

    log_probs: of each document, the log-probability [T, k] of its tokens by every expert.
    """
    from scipy.optimize import minimize_scalar

    states = fit_filter(router.filter, router.shares, documents, log_probs)
    router = replace(router, power=states.power, switch=states.switch)
    distances = np.concatenate([router.document_distances(tokens) for tokens in documents])
    known = ~np.isnan(distances[:, 0])
    distances, likely = distances[known], np.concatenate(list(log_probs))[known]
    highest = likely.max(axis=1, keepdims=True)
    likely = np.exp(likely - highest)[:, router.owners]

    def cost(log_temperature: float) -> float:
        weights = distance_weights(distances, float(np.exp(log_temperature)))
        return -float(np.log(np.maximum((weights * likely).sum(axis=1), 1e-300)).sum())

    at = min(range(len(_COARSE)), key=lambda place: cost(_COARSE[place]))
    bounds = (_COARSE[max(at - 1, 0)], _COARSE[min(at + 1, len(_COARSE) - 1)])
    best = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": _FINE})
    return replace(router, temperature=float(np.exp(best.x)))


def save_router(router: Router, path: Path) -> None:
    """Write one safetensors file, whole or not at all."""
    from safetensors.numpy import save_file

    tensors = {name: np.ascontiguousarray(getattr(router, name)) for name in _TENSORS}
    tensors |= {name: np.array(getattr(router, name)) for name in _NUMBERS}
    about = {"languages": json.dumps(router.languages)} if router.languages else None
    with whole_file(path) as aside:
        save_file(tensors, aside, metadata=about)


def load_router(path: Path) -> Router:
    """Read a router; a UserError when it is missing or no whole one."""
    from safetensors import SafetensorError, safe_open

    hint = "run `tongues experts train` again, which fits it again"
    if not path.is_file():
        raise UserError("the router is not there", where=str(path), hint=hint)
    check_readable(path)
    try:
        with safe_open(path, framework="numpy") as stored:
            tensors = {name: stored.get_tensor(name) for name in _TENSORS}
            temperature, power, switch = (float(stored.get_tensor(name)) for name in _NUMBERS)
            languages = tuple(json.loads((stored.metadata() or {}).get("languages", "[]")))
        router = Router(**tensors, temperature=temperature, power=power, switch=switch)
        return replace(router, languages=languages)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"is not a router ({error})", where=str(path), hint=hint) from None
