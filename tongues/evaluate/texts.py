"""Text: documents of each language, held out or in files, and the losses of models on them."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from tongues.evaluate.losses import Cost, DocumentLosses, Policy, Spelling, resolved, windows
from tongues.evaluate.rows import Row, Tell, each_expert, expert_weights
from tongues.experts.ensemble.ensemble import mixed
from tongues.experts.ensemble.model import Model
from tongues.text import Document


def routed_losses(
    models: Sequence[Model],
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Tell = lambda share, line: None,
) -> list[DocumentLosses]:
    """The losses of an ensemble by each of several routings on documents of one language.

    models: one ensemble, each with a routing. For several routings, every expert reads every
    document once; for one, experts read only what it needs.
    """
    first = models[0]
    tokens = [first.encode(document.text) for document in documents]
    languages = [document.lang for document in documents]
    log_probs, routed = _route(models, tokens, languages, policy, tell)
    complete = len(models) > 1 or first.ensemble.k == 1
    of_experts = tuple((-np.concatenate(log_probs).sum(axis=0)).tolist()) if complete else ()
    spelling = Spelling(first.tokenizer)
    return [
        DocumentLosses(
            ids=tuple(document.id for document in documents),
            nats=np.array([own.sum() for own in nats], dtype=np.float64),
            tokens=np.array([len(own) for own in nats], dtype=np.int64),
            bytes=np.array([len(document.text.encode()) for document in documents], dtype=np.int64),
            segments=tuple(document.group for document in documents),
            missing=np.array([spelling.lost(document.text) for document in documents]),
            cost=cost,
            of_experts=of_experts,
        )
        for nats, cost in routed
    ]


def token_nats(
    model: Model,
    documents: Sequence[np.ndarray],
    policy: Policy | None = None,
    *,
    languages: Sequence[str | None] | None = None,
    tell: Tell = lambda share, line: None,
) -> list[np.ndarray]:
    """The nats of every token of documents of token ids (without `first`)."""
    langs = languages or [None] * len(documents)
    _, ((nats, _),) = _route([model], documents, langs, policy, tell)
    return nats


def _route(
    models: Sequence[Model],
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy | None,
    tell: Tell,
) -> tuple[list[np.ndarray], list[tuple[list[np.ndarray], Cost]]]:
    """Each document's log-probabilities [T, k], and of each routing the nats and the cost.

    For one routing, log-probabilities without weight are -inf.
    """
    first, weights = models[0], None
    bos = first.ensemble.frame.bos
    policy = resolved(policy or Policy(), first.ensemble.context)
    if len(models) == 1 and first.ensemble.k > 1:
        both = zip(documents, languages, strict=True)
        weights = [expert_weights(first, tokens, language) for tokens, language in both]
    rows: list[Row] = []
    parts: list[np.ndarray] = []
    counts: list[int] = []  # windows of each document
    for place, document in enumerate(documents):
        text, before = np.concatenate([np.array([first.first]), document]), len(rows)
        for window in windows(policy, len(text)):
            tokens = text[window.begin : window.stop]
            if window.begin and bos is not None and not policy.back:  # lm-eval's have it once
                tokens = np.concatenate([[bos], tokens[1:]])
            rows.append(Row(tokens, window.start - window.begin, None, len(rows)))
            if weights is not None:
                parts.append(weights[place][window.start - 1 : window.stop - 1])
        counts.append(len(rows) - before)
    scores = each_expert(first, rows, None if weights is None else parts, tell=tell)
    each, none = iter(scores), np.empty((0, first.ensemble.width))
    read = [np.concatenate([none, *(row.log_probs for row in islice(each, n))]) for n in counts]
    return read, [_by_routing(each, documents, languages, policy, read) for each in models]


def _by_routing(
    model: Model,
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy,
    read: Sequence[np.ndarray],
) -> tuple[list[np.ndarray], Cost]:
    """The nats of every token by a routing, and its cost."""
    ensemble = model.ensemble
    sizes = np.array(ensemble.models.bytes)
    nats: list[np.ndarray] = []
    total, memory = 0, 0
    for tokens, language, log_probs in zip(documents, languages, read, strict=True):
        weights = np.ones((len(tokens), 1))
        if ensemble.k > 1:
            weights = expert_weights(model, tokens, language)
        nats.append(-mixed(weights, log_probs))
        needed = weights > 0  # where all run, weights that became 0 do not count
        needed |= needed.any(axis=0) & (not model.routing.chooses(ensemble.width))
        counts = np.zeros(ensemble.width, dtype=np.int64)
        for window in windows(policy, len(tokens) + 1):  # each up to its last token with a weight
            own = needed[window.start - 1 : window.stop - 1]
            counts += np.where(own.any(axis=0), len(own) - np.argmax(own[::-1], axis=0), 0)
        total += int(counts.sum())
        memory = max(memory, ensemble.models.shared + int(sizes[counts > 0].sum()))
    return nats, Cost(total, memory)
