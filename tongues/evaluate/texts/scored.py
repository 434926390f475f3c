"""Documents scored by a subject, window by window."""

from collections.abc import Callable, Sequence

import numpy as np

from tongues.evaluate.alike import Row
from tongues.evaluate.rows import each_expert, expert_weights
from tongues.evaluate.tasks.spelling import Spelling
from tongues.evaluate.texts.losses import DocumentLosses
from tongues.evaluate.texts.windows import Policy, resolved, windows
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.score import mixed
from tongues.text import Document

__all__ = ["text_losses", "token_nats"]


def text_losses(
    subject: Model,
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> DocumentLosses:
    """What documents of one language cost a subject.

    All of it is scored, so the bytes are those of the whole text.
    """
    tokens = [subject.encode(document.text) for document in documents]
    nats = token_nats(
        subject, tokens, policy, languages=[document.lang for document in documents], tell=tell
    )
    spelling = Spelling(subject.tokenizer)
    return DocumentLosses(
        ids=tuple(document.id for document in documents),
        nats=np.array([own.sum() for own in nats], dtype=np.float64),
        tokens=np.array([len(own) for own in nats], dtype=np.int64),
        bytes=np.array([len(document.text.encode()) for document in documents], dtype=np.int64),
        segments=tuple(document.group for document in documents),
        missing=np.array([spelling.missing(document.text) for document in documents]),
    )


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
    texts = [np.concatenate([np.array([subject.first]), own]) for own in documents]
    weights = None
    if subject.ensemble.k > 1 and not subject.routing.learns:
        langs = languages or [None] * len(documents)
        weights = [
            expert_weights(subject, own, lang) for own, lang in zip(documents, langs, strict=True)
        ]
    rows: list[Row] = []
    parts: list[np.ndarray] = []
    for place, text in enumerate(texts):
        for window in windows(policy, len(text)):
            tokens = text[window.begin : window.stop]
            rows.append(Row(tokens, window.start - window.begin, None, len(rows)))
            if weights is not None:
                parts.append(weights[place][window.start - 1 : window.stop - 1])
    each = iter(each_expert(subject, rows, None if weights is None else parts, tell=tell))
    found = []
    for place, (text, own_tokens) in enumerate(zip(texts, documents, strict=True)):
        none = np.empty((0, subject.ensemble.k))
        own = [next(each).likely for _ in windows(policy, len(text))]
        likely = np.concatenate([none, *own])
        if weights is not None:
            found.append(-mixed(weights[place], likely))
        else:
            language = languages[place] if languages else None
            own = expert_weights(subject, own_tokens, language, likely)
            found.append(-mixed(own, likely))
    return found
