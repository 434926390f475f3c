"""How likely an ensemble finds whole documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import Routing
from tongues.models.scorer import BatchScorer, batch_scorer

__all__ = ["Scored", "expert_log_probs", "mixed", "score", "tokens_read"]

_TOKENS = 4096  # in a batch of windows
_PADDING = 16  # tokens of a row that cost less than a batch of its own


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A document under the mixture of experts."""

    nats: np.ndarray  # [T], -log p of every token
    weights: np.ndarray  # [T, k], what each expert counted for it
    experts: tuple[str, ...]  # that ran
    computed: int  # tokens over all experts that ran, whatever they counted for


@dataclass(frozen=True, slots=True)
class _Window:
    """Tokens of a document that one expert must predict: from `start`, `count` of them."""

    document: int
    start: int
    count: int


def score(
    ensemble: Ensemble,
    documents: Sequence[np.ndarray],
    routing: Routing,
    languages: Sequence[str] | None = None,
    *,
    context: int | None = None,
    seed: int = 0,
) -> list[Scored]:
    """Score documents of token ids; each is predicted from the end token on, in whole windows.

    Of a routing that chooses among the experts, each runs only on windows in which it has a weight.
    languages: of each document, for a routing that needs them. context: tokens of a window, at
    most what the experts can see, which is the default. seed: for `random`.
    """
    context = _window(ensemble, context)
    each = zip(documents, languages or [None] * len(documents), strict=True)
    given = [(tokens, ensemble.about(routing, language, seed)) for tokens, language in each]
    weights = [None if routing.learns else routing.weights(*one) for one in given]
    asked = weights if routing.chooses(ensemble.k) else [None] * len(documents)
    found = _all_log_probs(ensemble, documents, asked, context)
    read = tokens_read(documents, asked, ensemble.k, context)
    scored = []
    for one, likely, weight, ran in zip(given, found, weights, read, strict=True):
        own = routing.weights(*one, likely) if weight is None else weight
        names = tuple(np.array(ensemble.lineage.names)[ran > 0].tolist())
        scored.append(Scored(-mixed(own, likely), own, names, int(ran.sum())))
    return scored


def expert_log_probs(
    ensemble: Ensemble, documents: Sequence[np.ndarray], *, context: int | None = None
) -> list[np.ndarray]:
    """Of each document, the log-probability [T, k] of its tokens by every expert."""
    context = _window(ensemble, context)
    return _all_log_probs(ensemble, documents, [None] * len(documents), context)


def tokens_read(
    documents: Sequence[np.ndarray],
    weights: Sequence[np.ndarray | None],
    k: int,
    context: int | None,
) -> np.ndarray:
    """How many tokens of each document every expert reads where it is scored [documents, k].

    weights: [T, k] of each document, of which only those above 0 are asked for; None: all are.
    """
    found = np.zeros((len(documents), k), dtype=np.int64)
    for expert in range(k):
        for window in _windows(documents, weights, expert, context):
            found[window.document, expert] += window.count
    return found


def _all_log_probs(
    ensemble: Ensemble,
    documents: Sequence[np.ndarray],
    weights: Sequence[np.ndarray | None],
    context: int | None,
) -> list[np.ndarray]:
    """Of each document, log-probabilities [T, k], -inf where not computed.

    weights: [T, k] of each document; None: every expert predicts all of it.
    """
    found = [np.full((len(tokens), ensemble.k), -np.inf) for tokens in documents]
    for expert in range(ensemble.k):
        windows = list(_windows(documents, weights, expert, context))
        if not windows:
            continue
        scorer = batch_scorer(ensemble.models[expert])
        for batch in _batches(windows, min(_TOKENS, scorer.logits // scorer.vocabulary)):
            rows = _run(scorer, ensemble.end_id, documents, batch)
            for window, log_probs in zip(batch, rows, strict=True):
                place = slice(window.start, window.start + window.count)
                found[window.document][place, expert] = log_probs
    return found


def mixed(weights: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    """The log-probability of every token [T] by the weighted mean of the experts', by [T, k].

    No number where none of the experts that count finds one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(weights > 0, np.log(weights) + log_probs, -np.inf)
        highest = terms.max(axis=1, initial=-np.inf)
        return np.log(np.exp(terms - highest[:, None]).sum(axis=1)) + highest


def _window(ensemble: Ensemble, context: int | None) -> int | None:
    if context and ensemble.context and context > ensemble.context:
        raise ValueError(f"a window of {context} tokens; the experts see {ensemble.context}")
    return context or ensemble.context


def _windows(
    documents: Sequence[np.ndarray],
    weights: Sequence[np.ndarray | None],
    expert: int,
    context: int | None,
) -> Iterator[_Window]:
    """What an expert must predict of the documents: up to the last token it has a weight in."""
    for place, (tokens, weight) in enumerate(zip(documents, weights, strict=True)):
        step = context or max(1, len(tokens))
        for start in range(0, len(tokens), step):
            count = min(step, len(tokens) - start)
            if weight is not None:
                needed = np.flatnonzero(weight[start : start + count, expert])
                count = int(needed[-1]) + 1 if len(needed) else 0
            if count:
                yield _Window(place, start, count)


def _batches(windows: list[_Window], tokens: int) -> Iterator[list[_Window]]:
    """Windows of like lengths together, the longest first, up to so many tokens or one window."""
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda window: -window.count):
        if batch:
            longest = batch[0].count
            full = (len(batch) + 1) * longest > tokens
            if full or longest - window.count > max(_PADDING, longest // 8):
                yield batch
                batch = []
        batch.append(window)
    if batch:
        yield batch


@torch.inference_mode()
def _run(
    scorer: BatchScorer,
    end_id: int,
    documents: Sequence[np.ndarray],
    batch: list[_Window],
) -> list[np.ndarray]:
    """The log-probability of each window's tokens."""
    rows = torch.full((len(batch), batch[0].count + 1), end_id, dtype=torch.long)
    for row, window in zip(rows, batch, strict=True):
        tokens, stop = documents[window.document], window.start + window.count
        if window.start:
            row[0] = int(tokens[window.start - 1])
        row[1 : window.count + 1] = torch.from_numpy(tokens[window.start : stop].astype(np.int64))
    rows = rows.to(scorer.device)
    mask = torch.ones_like(rows[:, 1:], dtype=torch.bool)
    found = scorer.score(rows[:, :-1], rows[:, 1:], mask)[0].double().cpu().numpy()
    return [row[: window.count] for row, window in zip(found, batch, strict=True)]
