"""The partition by topics: documents of like terms together, whatever their language.

Terms are weighted by how rare they are (TF-IDF), a document is the direction of its terms' sum in
few dimensions, and balanced k-means divides a sample of such directions into clusters of equally
many tokens. The centres and prices that it finds give every other document its cluster as it
streams by. TF-IDF, the dimensions and the starts of k-means are scikit-learn's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import whole_directory, write_json
from tongues.core.randomness import derive_seed
from tongues.experts.partition.balanced import balanced_means, even_prices, least, squared_distances
from tongues.experts.partition.partition import Partition
from tongues.experts.words import WORDS
from tongues.text.tokens import Counts, Tokens, load_tokenizer
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import Shard, shard_dtype, write_shard

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_DIMENSIONS = 100  # of a document's direction, as in the original
_WEIGHED = 20_000  # documents that terms are weighted by and dimensions found from
_CENTRED = 100_000  # documents that centres are found from
_PRICED = 1_000_000  # documents that prices are found from
_TERMS, _TRIED = 10, 200  # that a topic is described by, and the tokens that they are among
_BATCH = 1_000_000  # tokens; a longer document is a batch of its own


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """All that gives a document its cluster."""

    weights: np.ndarray  # of each term; 0 for the tokens of the frame
    projection: np.ndarray  # (terms, d): the direction of each term
    centres: np.ndarray  # (k, d)
    prices: np.ndarray  # (k,): a cluster is the least of squared distance + price

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.centres)

    def directions(self, documents: Shard) -> np.ndarray:
        """The direction of each document of term numbers, (n, d); 0 when none is known."""
        from scipy.sparse import csr_matrix

        numbers, shape = documents.tokens, (len(documents.bounds) - 1, len(self.projection))
        rows = csr_matrix(
            (self.weights[numbers], numbers.astype(np.int32), documents.bounds), shape
        )
        sums = rows @ self.projection
        lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))[:, None]
        return sums / np.maximum(lengths, 1e-12)

    def clusters(self, directions: np.ndarray) -> np.ndarray:
        """The cluster of each document, by its direction."""
        return least(squared_distances(directions, self.centres), self.prices)


def cluster_by_topics(tokens: Tokens, k: int, *, seed: int = 0) -> TopicModel:
    """Find k topics of equally many training tokens of all languages, in bounded memory."""
    sizes = {lang: tokens.counts[lang]["train"]["documents"] for lang in tokens.languages}
    total = sum(sizes.values())
    if not 1 <= k <= total:
        what = f"{total} documents cannot be divided into {k} topics"
        raise UserError(what, where=str(tokens.path), hint="ask for fewer")
    weights, projection = term_directions(tokens, seed=seed)
    topics = TopicModel(weights, projection, np.empty((0, 0)), np.empty(0))

    def drawn(count: int, purpose: str) -> Iterator[Shard]:
        return _read(tokens, draw_documents(sizes, count, derive_seed(seed, "topics", purpose)))

    read = [
        (topics.directions(some), np.diff(some.bounds)) for some in drawn(_CENTRED, "documents")
    ]
    points, lengths = map(np.concatenate, zip(*read, strict=True))
    means = balanced_means(points, k, lengths, seed=derive_seed(seed, "topics", "centres"))
    topics = replace(topics, centres=means.centres, prices=means.prices)
    if total > _CENTRED:
        del points, read
        each = [
            (squared_distances(topics.directions(some), means.centres), np.diff(some.bounds))
            for some in drawn(_PRICED, "prices")
        ]
        costs = np.concatenate([distances for distances, _ in each], axis=1)
        lengths = np.concatenate([own for _, own in each])
        topics = replace(topics, prices=even_prices(costs, lengths, means.prices))
    return topics


def partition_by_topics(tokens: Tokens, topics: TopicModel) -> Partition:
    """The partition of the training text by its topics.

    Its distances are between the mean directions of the languages' documents.
    """
    k = topics.k
    shares: list[dict[str, float]] = [{} for _ in range(k)]
    means: dict[str, np.ndarray] = {}
    counts = np.zeros((k, tokens.vocabulary_size), np.int64)
    for lang in tokens.languages:
        sizes, total, count = np.zeros(k), np.zeros(topics.projection.shape[1]), 0
        for some in batches(tokens.shard(lang, "train")):
            points = topics.directions(some)
            clusters, lengths = topics.clusters(points), np.diff(some.bounds)
            sizes += np.bincount(clusters, lengths, k)
            np.add.at(counts, (np.repeat(clusters, lengths), some.tokens), 1)
            total += points.sum(axis=0)
            count += len(points)
        means[lang] = total / max(count, 1)
        for cluster, size in enumerate(sizes.tolist()):
            shares[cluster][lang] = size / max(float(sizes.sum()), 1.0)
    distances = {
        a: {b: float(np.linalg.norm(here - there)) for b, there in means.items()}
        for a, here in means.items()
    }
    notes = (WORDS["topics"], *_top_terms(tokens, counts))
    clusters = (tokens.languages,) * k
    return Partition("topics", clusters, tuple(shares), distances=distances, notes=notes)


def _top_terms(tokens: Tokens, counts: np.ndarray) -> Iterator[str]:
    if not tokens.tokenizer_path.is_file():
        return
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    expected = counts.sum(axis=0) * (counts.sum(axis=1, keepdims=True) / max(counts.sum(), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.nan_to_num(counts * np.log(counts / expected))
    for number, scores in enumerate(apart):
        best = (int(token) for token in np.argsort(-scores) if scores[token] > 0)
        decoded = (tokenizer.decode([token]).strip() for token in islice(best, _TRIED))
        terms = dict.fromkeys(term for term in decoded if len(term) > 1 and term.isalpha())
        if terms:
            yield WORDS["topic"].format(number=number, terms=", ".join(list(terms)[:_TERMS]))


def write_clusters(tokens: Tokens, topics: TopicModel, path: Path) -> dict[str, dict[str, Counts]]:
    """Write the training documents of each topic to `path/<cluster>/<lang>/train.{bin,idx}`.

    Clusters are numbered from 0; documents keep their order. The folder, with its `counts.json` of
    what each cluster holds of each language, is whole or absent. Returns these counts.
    """
    dtype = shard_dtype(tokens.vocabulary_size)
    counts: dict[str, dict[str, Counts]] = {str(number): {} for number in range(topics.k)}
    with whole_directory(path) as aside:
        for lang in tokens.languages:
            shard = tokens.shard(lang, "train")
            labels = [topics.clusters(topics.directions(some)) for some in batches(shard)]
            label = np.concatenate([np.empty(0, np.int64), *labels])
            for number, of_cluster in counts.items():
                chosen = np.flatnonzero(label == int(number))
                place = aside / number / lang
                place.mkdir(parents=True)
                parts = ((some.tokens, np.diff(some.bounds)) for some in batches(shard, chosen))
                write_shard(place / "train", parts, dtype)
                count = int(np.diff(shard.bounds)[chosen].sum())
                sizes = (tokens.token_bytes[some.tokens].sum() for some in batches(shard, chosen))
                size = sum(map(int, sizes))
                mean = round(size / max(count, 1), 4)
                of_cluster[lang] = Counts(
                    documents=len(chosen), tokens=count, bytes=size, bytes_per_token=mean
                )
        write_json(aside / "counts.json", counts)
    return counts


def term_directions(tokens: Tokens, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What each term counts, [V], and its direction, [V, d], from documents of all languages."""
    require("sklearn", "experts")
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    sizes = {lang: tokens.counts[lang]["train"]["documents"] for lang in tokens.languages}
    drawn = draw_documents(sizes, _CENTRED, derive_seed(seed, "topics", "documents"))
    step = -(-sum(map(len, drawn.values())) // _WEIGHED)
    few = {lang: numbers[::step] for lang, numbers in drawn.items()}
    size, frame = tokens.vocabulary_size, tokens.frame
    counts = vstack([term_counts(rows, size, frame) for rows in _read(tokens, few)], "csr")
    frequencies = TfidfTransformer()
    rows = frequencies.fit_transform(counts)
    weights = frequencies.idf_.astype(np.float32)
    weights[[frame.first, frame.end]] = 0
    state = derive_seed(seed, "topics", "terms") % 2**32
    reduced = TruncatedSVD(min(_DIMENSIONS, *rows.shape), random_state=state).fit(rows)
    directions = np.asarray(reduced.components_)
    return weights, np.ascontiguousarray(directions.T, np.float32)


def _read(tokens: Tokens, drawn: dict[str, np.ndarray]) -> Iterator[Shard]:
    for lang, numbers in drawn.items():
        yield from batches(tokens.shard(lang, "train"), numbers)


def batches(documents: Shard, numbers: np.ndarray | None = None) -> Iterator[Shard]:
    """The documents of these numbers, or all, in order and in batches that fit in memory."""
    lengths = np.diff(documents.bounds)
    numbers = np.arange(len(lengths)) if numbers is None else numbers
    ends = np.cumsum(lengths[numbers])
    begin = 0
    while begin < len(numbers):
        before = ends[begin] - lengths[numbers[begin]]
        end = max(int(np.searchsorted(ends, before + _BATCH, side="right")), begin + 1)
        # documents next to each other are read at once
        starts, stops = (documents.bounds[numbers[begin:end] + i] for i in (0, 1))
        breaks = np.flatnonzero(starts[1:] != stops[:-1])
        firsts, lasts = starts[np.r_[0, breaks + 1]], stops[np.r_[breaks, len(stops) - 1]]
        runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        tokens = np.concatenate([documents.tokens[first:last] for first, last in runs])
        yield Shard(tokens, np.concatenate([[0], ends[begin:end] - before]))
        begin = end


def draw_documents(sizes: Mapping[str, int], count: int, seed: int) -> dict[str, np.ndarray]:
    """Numbers of up to `count` documents, drawn alike from all languages, in order.

    sizes: the number of documents of each language.
    """
    total = sum(sizes.values())
    random = np.random.default_rng(seed)
    chosen = np.sort(random.permutation(total)[:count]) if count < total else np.arange(total)
    starts = np.cumsum([0, *sizes.values()])
    places = np.searchsorted(chosen, starts)
    return {lang: chosen[places[i] : places[i + 1]] - starts[i] for i, lang in enumerate(sizes)}


def term_counts(documents: Shard, width: int, frame: TextFrame) -> "csr_matrix":
    """How often each of `width` terms occurs in each document; tokens of the frame do not count."""
    from scipy.sparse import csr_matrix

    tokens = documents.tokens.astype(np.int32)
    counted = ((tokens != frame.first) & (tokens != frame.end)).astype(np.float32)
    counts = csr_matrix((counted, tokens, documents.bounds), (len(documents.bounds) - 1, width))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts
