"""Documents scored by a model, or by an ensemble in several ways at once, window by window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from tongues.evaluate.alike import Row
from tongues.evaluate.rows import each_expert, expert_weights
from tongues.evaluate.tasks.spelling import Spelling
from tongues.evaluate.texts.losses import DocumentLosses, Reading
from tongues.evaluate.texts.windows import Policy, Window, resolved, windows
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.score import mixed
from tongues.text import Document

__all__ = ["routed_losses", "text_losses", "token_nats"]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Documents as the experts of an ensemble found them."""

    likely: list[np.ndarray]  # log-probabilities [T, k] of each document
    seconds: float  # of processor time for a token of an expert


def text_losses(
    subject: Model,
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> DocumentLosses:
    """What documents of one language cost a model, or an ensemble by a routing."""
    return routed_losses([subject], documents, policy, tell=tell)[0]


def routed_losses(
    subjects: Sequence[Model],
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> list[DocumentLosses]:
    """What documents of one language cost an ensemble by each of several routings.

    subjects: one ensemble, each with a routing; of several, every expert reads every document once
    and all routings follow; of one, experts read only what that routing needs. All of a text is
    scored, so the bytes are those of the whole text.
    """
    first = subjects[0]
    tokens = [first.encode(document.text) for document in documents]
    spelling = Spelling(first.tokenizer)
    missing = np.array([spelling.missing(document.text) for document in documents])
    sizes = np.array([len(document.text.encode()) for document in documents], dtype=np.int64)
    policy = resolved(policy or Policy(), first.ensemble.context)
    languages = [document.lang for document in documents]
    known = _weights(first, tokens, languages) if len(subjects) == 1 else None
    read = _read(first, tokens, policy, known, tell)
    alone: tuple[float, ...] = ()
    if known is None:
        alone = tuple((-np.concatenate(read.likely).sum(axis=0)).tolist())
    found = []
    for subject in subjects:
        nats, cost = _routed(subject, tokens, languages, policy, read)
        found.append(
            DocumentLosses(
                ids=tuple(document.id for document in documents),
                nats=np.array([own.sum() for own in nats], dtype=np.float64),
                tokens=np.array([len(own) for own in nats], dtype=np.int64),
                bytes=sizes,
                segments=tuple(document.group for document in documents),
                missing=missing,
                cost=cost,
                of_experts=alone,
            )
        )
    return found


def token_nats(
    subject: Model,
    documents: Sequence[np.ndarray],
    policy: Policy | None = None,
    *,
    languages: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[np.ndarray]:
    """The nats of every token of documents of token ids, which come without `first`.

    languages: of each document, for the routing `language`.
    """
    policy = resolved(policy or Policy(), subject.ensemble.context)
    langs = languages or [None] * len(documents)
    read = _read(subject, documents, policy, _weights(subject, documents, langs), tell)
    return _routed(subject, documents, langs, policy, read)[0]


def _weights(
    subject: Model, documents: Sequence[np.ndarray], languages: Sequence[str | None]
) -> list[np.ndarray] | None:
    """The experts' weights [T, k] of each document, where they are known without reading."""
    if subject.ensemble.k == 1 or subject.routing.learns:
        return None
    both = zip(documents, languages, strict=True)
    return [expert_weights(subject, tokens, language) for tokens, language in both]


def _read(
    subject: Model,
    documents: Sequence[np.ndarray],
    policy: Policy,
    weights: Sequence[np.ndarray] | None,
    tell: Callable[[str], None],
) -> _Read:
    """What every expert finds of every token; weights: of the tokens that it must read."""
    texts = [np.concatenate([np.array([subject.first]), own]) for own in documents]
    rows: list[Row] = []
    parts: list[np.ndarray] = []
    for place, text in enumerate(texts):
        for window in windows(policy, len(text)):
            tokens = text[window.begin : window.stop]
            rows.append(Row(tokens, window.start - window.begin, None, len(rows)))
            if weights is not None:
                parts.append(weights[place][window.start - 1 : window.stop - 1])
    reached, seconds = each_expert(subject, rows, None if weights is None else parts, tell=tell)
    each = iter(reached)
    none = np.empty((0, subject.ensemble.k))
    likely = [
        np.concatenate([none, *(next(each).likely for _ in windows(policy, len(text)))])
        for text in texts
    ]
    return _Read(likely, seconds)


def _routed(
    subject: Model,
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy,
    read: _Read,
) -> tuple[list[np.ndarray], Reading]:
    """The nats of every token by a routing, and what that takes."""
    ensemble = subject.ensemble
    sizes = np.array(ensemble.models.bytes)
    nats: list[np.ndarray] = []
    total, choosing, memory = 0, 0.0, 0
    for tokens, language, likely in zip(documents, languages, read.likely, strict=True):
        began = process_time()
        if ensemble.k == 1:
            weights = np.ones((len(tokens), 1))
        else:
            weights = expert_weights(subject, tokens, language, likely)
        nats.append(-mixed(weights, likely))
        choosing += process_time() - began
        asked = weights if subject.routing.chooses(ensemble.k) else np.ones_like(weights)
        each = sum(
            (_needed(asked, window) for window in windows(policy, len(tokens) + 1)),
            start=np.zeros(ensemble.k, dtype=np.int64),
        )
        total += int(each.sum())
        memory = max(memory, int(sizes[each > 0].sum()))
    return nats, Reading(total, total * read.seconds + choosing, memory)


def _needed(weights: np.ndarray, window: Window) -> np.ndarray:
    """Tokens of a window that each expert reads: up to the last one that it has a weight in."""
    own = weights[window.start - 1 : window.stop - 1] > 0
    last = len(own) - np.argmax(own[::-1], axis=0)
    return np.where(own.any(axis=0), last, 0)
