"""The partition by topics: documents of like terms together, whatever their language.

Terms are weighed by how rare they are (TF-IDF), a document is the direction of its terms' sum in
few dimensions, and balanced k-means divides a sample of such directions. What that leaves behind,
centres and prices, gives every other document its part as it streams by.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from tongues.errors import UserError
from tongues.experts.partition.balanced import assign, least
from tongues.experts.partition.documents import batches, draw
from tongues.experts.partition.means import balanced_means, squared_distances
from tongues.experts.partition.partition import Distances, Partition
from tongues.experts.partition.sparse import (
    count_rows,
    join,
    principal_directions,
    sums_of_rows,
)
from tongues.experts.partition.terms import (
    TERMS,
    Terms,
    inverse_frequencies,
    term_count,
    term_reader,
    weigh,
)
from tongues.files import fingerprint, whole_file
from tongues.randomness import derive_seed
from tongues.tokens import Tokens
from tongues.tokens.shards import Shard

__all__ = [
    "Balance",
    "Topics",
    "embed",
    "label",
    "load_topics",
    "make_topics",
    "partition_by_topics",
    "save_topics",
    "term_directions",
]

Balance = Literal["documents", "tokens"]

_DIMENSIONS = 100  # of a document's direction, as in the original
_WEIGHED = 20_000  # documents that terms are weighed by and dimensions found from
_CENTRED = 100_000  # documents that centres are found from
_PRICED = 1_000_000  # documents that prices are found from


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """All that gives a document its part."""

    terms: Terms
    weights: np.ndarray  # of each term; 0 for the token that ends documents
    projection: np.ndarray  # (terms, d): the direction of each term
    centres: np.ndarray  # (k, d)
    prices: np.ndarray  # (k,): a part's number is the least of squared distance + price

    @property
    def k(self) -> int:
        """The number of parts."""
        return len(self.centres)


def make_topics(
    tokens: Tokens,
    k: int,
    *,
    terms: Terms = "pieces",
    balance: Balance = "documents",
    seed: int = 0,
) -> Topics:
    """Find k topics in the training text of all languages, in bounded memory.

    balance: what the parts have equally many of, documents or tokens.
    """
    sizes = {lang: tokens.counts[lang]["train"]["documents"] for lang in tokens.languages}
    total = sum(sizes.values())
    if not 1 <= k <= total:
        what = f"{total} documents cannot be divided into {k} topics"
        raise UserError(what, where=str(tokens.path), hint="ask for fewer")
    drawn = draw(sizes, _CENTRED, derive_seed(seed, "topics", "documents"))
    weights, projection = _term_directions(tokens, drawn, terms, seed)
    topics = Topics(terms, weights, projection, np.empty((0, 0)), np.empty(0))
    points, lengths = _embedded(tokens, drawn, topics)
    counted = lengths if balance == "tokens" else None
    means = balanced_means(points, k, counted, seed=derive_seed(seed, "topics", "centres"))
    prices = means.prices
    if total > _CENTRED:
        del points
        drawn = draw(sizes, _PRICED, derive_seed(seed, "topics", "prices"))
        parts = [
            (squared_distances(embed(topics, documents), means.centres), np.diff(of.bounds))
            for of, documents in _read(tokens, drawn, terms)
        ]
        costs = np.concatenate([distances for distances, _ in parts], axis=1)
        lengths = np.concatenate([length for _, length in parts])
        counted = lengths if balance == "tokens" else None
        prices = assign(costs.T, counted, prices=prices).prices
    return Topics(terms, weights, projection, means.centres, prices)


def embed(topics: Topics, documents: Shard) -> np.ndarray:
    """The direction of each document of term numbers, (n, d); 0 when none of them is known."""
    numbers = documents.tokens
    sums = sums_of_rows(topics.projection, numbers, topics.weights[numbers], documents.bounds)
    lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))[:, None]
    return sums / np.maximum(lengths, 1e-12)


def label(topics: Topics, documents: Shard) -> np.ndarray:
    """The part of each document of term numbers; see `term_reader` for what these are."""
    return least(squared_distances(embed(topics, documents), topics.centres), topics.prices)


def partition_by_topics(
    tokens: Tokens,
    k: int,
    *,
    terms: Terms = "pieces",
    balance: Balance = "documents",
    seed: int = 0,
) -> tuple[Partition, Topics]:
    """The partition of the training text into k topics, and what labels further text.

    Its distances are between the mean directions of the languages' documents.
    """
    topics = make_topics(tokens, k, terms=terms, balance=balance, seed=seed)
    read = term_reader(terms, tokens)
    shares: list[dict[str, float]] = [{} for _ in range(k)]
    means: dict[str, np.ndarray] = {}
    for lang in tokens.languages:
        sizes, total, count = np.zeros(k), np.zeros(topics.projection.shape[1]), 0
        for some in batches(tokens.shard(lang, "train")):
            points = embed(topics, read(some))
            labels = least(squared_distances(points, topics.centres), topics.prices)
            sizes += np.bincount(labels, np.diff(some.bounds), k)
            total += points.sum(axis=0)
            count += len(points)
        means[lang] = total / max(count, 1)
        for part, size in enumerate(sizes.tolist()):
            shares[part][lang] = size / max(float(sizes.sum()), 1.0)
    made_from = [tokens.fingerprint, "topics", k, terms, balance, seed]
    partition = Partition(
        by="topics",
        clusters=(tokens.languages,) * k,
        shares=tuple(shares),
        distances=_distances(means),
        notes=(f"documents are told by {terms}: {TERMS[terms]}",),
        fingerprint=fingerprint(made_from),
    )
    return partition, topics


def save_topics(topics: Topics, path: Path) -> None:
    """Write topics as one safetensors file."""
    from safetensors.numpy import save_file

    arrays = {
        "weights": topics.weights,
        "projection": topics.projection,
        "centres": topics.centres,
        "prices": topics.prices,
    }
    with whole_file(path) as aside:
        save_file(arrays, aside, {"terms": topics.terms})


def load_topics(path: Path) -> Topics:
    """Read what `save_topics` wrote; a UserError when it is missing or damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            kinds: dict[str, Terms] = {kind: kind for kind in TERMS}
            terms = kinds[(file.metadata() or {})["terms"]]
            names = ("weights", "projection", "centres", "prices")
            arrays = {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError, KeyError) as error:
        what = f"holds no whole topics ({error!r})"
        hint = "make the partition again: `tongues experts partition`"
        raise UserError(what, where=str(path), hint=hint) from None
    return Topics(terms, **arrays)


def term_directions(tokens: Tokens, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What each piece of the tokenizer counts, [V], and its direction, [V, d], by all languages."""
    sizes = {lang: tokens.counts[lang]["train"]["documents"] for lang in tokens.languages}
    drawn = draw(sizes, _CENTRED, derive_seed(seed, "topics", "documents"))
    return _term_directions(tokens, drawn, "pieces", seed)


def _term_directions(
    tokens: Tokens, drawn: dict[str, np.ndarray], terms: Terms, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What each term counts, and its direction, from some of the documents drawn."""
    step = -(-sum(map(len, drawn.values())) // _WEIGHED)
    few = {lang: numbers[::step] for lang, numbers in drawn.items()}
    width = term_count(terms, tokens.vocabulary_size)
    counts = [count_rows(documents, width) for _, documents in _read(tokens, few, terms)]
    whole = join(counts)
    weights = inverse_frequencies(whole, tokens.end_id if terms == "pieces" else None)
    rows = weigh(whole, weights)
    directions = principal_directions(rows, _DIMENSIONS, derive_seed(seed, "topics", "terms"))
    return weights, directions.astype(np.float32)


def _read(
    tokens: Tokens, drawn: dict[str, np.ndarray], terms: Terms
) -> Iterator[tuple[Shard, Shard]]:
    """Documents drawn, as they are and as term numbers, in batches."""
    read = term_reader(terms, tokens)
    for lang, numbers in drawn.items():
        for some in batches(tokens.shard(lang, "train"), numbers):
            yield some, read(some)


def _embedded(
    tokens: Tokens, drawn: dict[str, np.ndarray], topics: Topics
) -> tuple[np.ndarray, np.ndarray]:
    """The directions of documents drawn, and their lengths in tokens."""
    pairs = [
        (embed(topics, documents), np.diff(some.bounds))
        for some, documents in _read(tokens, drawn, topics.terms)
    ]
    return np.concatenate([p for p, _ in pairs]), np.concatenate([n for _, n in pairs])


def _distances(means: dict[str, np.ndarray]) -> Distances:
    return {
        a: {b: float(np.linalg.norm(here - there)) for b, there in means.items()}
        for a, here in means.items()
    }
