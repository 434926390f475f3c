"""Embeddings of tokens that a base's tokenizer does not have: a method each to compose them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from tongues.models.token_map import TokenMap
from tongues.recipe import Initialization

_READ = 2**21  # tokens of each text, from its start, in which neighbours are counted
_NEIGHBOURS = 256  # kinds that are counted before and after a token: the most frequent
_OFTEN = 5  # times a token must occur to be compared
_NEAREST = 10
_TEMPERATURE = 0.1  # of the softmax over cosines
_ROWS = 1024  # compared at a time
_ENOUGH = 20  # tokens of a script whose norms are usual for it
_HALVINGS = 20

Bags = Sequence[tuple[list[int], list[float]]]  # of each new token: old ones and their weights


@dataclass(frozen=True, slots=True)
class NewTokens:
    """What the embeddings of new tokens are composed from.

    matrices: the base's input matrix, and its output matrix where that is another one.
    texts: ids of the new tokenizer by language. seed: of what is random.
    """

    tokens: TokenMap
    matrices: Sequence[Tensor]
    texts: Sequence[np.ndarray]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddingMethod:
    """A way to compose embeddings.

    compose: returns a row for each missing token, for each of the base's matrices.
    distilled: whether the input rows are trained then, until the model computes from a new token
    what it does from the base's tokens for the same text.
    """

    name: str
    summary: str
    compose: Callable[[NewTokens], list[Tensor]]
    distilled: bool = False


def _mean(new: NewTokens) -> list[Tensor]:
    bags = _parts(new.tokens)
    return [_weighted_means(matrix, bags) for matrix in new.matrices]


def _similar(new: NewTokens) -> list[Tensor]:
    bags = dict(zip(new.tokens.missing.tolist(), _parts(new.tokens), strict=True))
    bags |= similar_tokens(new.tokens, new.texts)
    return [_weighted_means(matrix, list(bags.values())) for matrix in new.matrices]


def _random(new: NewTokens) -> list[Tensor]:
    chance, count = torch.Generator().manual_seed(new.seed), len(new.tokens.missing)
    rows: list[Tensor] = []
    for matrix in new.matrices:
        drawn = torch.randn(count, matrix.shape[1], generator=chance).to(matrix)
        rows.append(matrix.mean(0) + matrix.std(0) * drawn)
    return rows


def _asymmetric(new: NewTokens) -> list[Tensor]:
    """After Joshi et al. (arXiv 2608.03494): each end of a model as suits it.

    One matrix for both ends gets what suits the output: long rows cost more there (SmolLM2 with new
    Hindi tokens: 19.6 nats per token instead of 6.3).
    """
    first, last = new.matrices[0], new.matrices[-1]
    weighted = _weighted_means(last, _parts(new.tokens, by_length=True))
    if first is last:
        return [weighted]
    plain = _weighted_means(first, _parts(new.tokens))
    scaled = plain * (_usual_norms(new) / plain.norm(dim=1).clamp_min(1e-12))[:, None]
    return [scaled, weighted]


EMBEDDING_METHODS: dict[str, EmbeddingMethod] = {
    method.name: method
    for method in (
        EmbeddingMethod("mean", "the mean of the tokens that spell it", _mean),
        EmbeddingMethod("similar", "a mean of known tokens in similar contexts", _similar),
        EmbeddingMethod(
            "asymmetric",
            "its parts; in the norm usual for its script at the input, by length at the output",
            _asymmetric,
        ),
        EmbeddingMethod(
            "distilled", "trained to have the effect of its parts", _mean, distilled=True
        ),
        EmbeddingMethod("random", "random, with the mean and variance of known ones", _random),
    )
}
assert EMBEDDING_METHODS.keys() == {*get_args(Initialization)}


@torch.no_grad()
def calibrate(
    rows: Tensor, matrix: Tensor, hidden: Tensor, tolerance: float
) -> tuple[Tensor, float]:
    """Output rows that leave text of known tokens its probability; also by how many nats it falls.

    matrix: the output matrix of the known tokens. hidden: states before it, in such text. Where
    new rows cost more than `tolerance` nats a token, they are moved towards the mean row, which
    is likely nowhere, as far as needed.
    """
    known = torch.cat([(part @ matrix.T).logsumexp(1) for part in hidden.split(128)])
    middle = matrix.mean(0)
    base, away = hidden @ middle, hidden @ (rows - middle).T

    def cost(share: float) -> float:
        new = (base[:, None] + share * away).logsumexp(1)
        return float(torch.log1p((new - known).exp()).mean())

    if (whole := cost(1.0)) <= tolerance:
        return rows, whole
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle_share = (low + high) / 2
        low, high = (middle_share, high) if cost(middle_share) <= tolerance else (low, middle_share)
    return middle + low * (rows - middle), cost(low)


def _parts(tokens: TokenMap, *, by_length: bool = False) -> Bags:
    """The old tokens that spell each new one; all of them where they cannot."""
    everything = list(range(tokens.base_size))
    bags: list[tuple[list[int], list[float]]] = []
    for number in tokens.missing.tolist():
        ids = tokens.parts[number] or everything
        lengths = [len(tokens.base_spellings[n]) if by_length else 1 for n in ids]
        bags.append(
            (ids, [float(length) for length in lengths] if any(lengths) else [1.0] * len(ids))
        )
    return bags


def _usual_norms(new: NewTokens) -> Tensor:
    """The median norm of the base's input rows of each new token's script."""
    norms = new.matrices[0].norm(dim=1).numpy(force=True)
    base, own = new.tokens.scripts
    spelt = np.array([bool(spelling) for spelling in new.tokens.base_spellings])
    usual: dict[str, float] = {}
    for script in np.unique(own[new.tokens.missing]).tolist():
        same = norms[spelt & (base == script)]
        usual[script] = float(np.median(same if len(same) >= _ENOUGH else norms))
    wanted = [usual[script] for script in own[new.tokens.missing].tolist()]
    return torch.tensor(wanted).to(new.matrices[0])


def similar_tokens(
    tokens: TokenMap, texts: Sequence[np.ndarray]
) -> dict[int, tuple[list[int], list[float]]]:
    """The base's tokens most similar to each new one in the texts, with weights that add up to 1.

    Similarity is the cosine of context vectors. New tokens too rare to have one are left out. After
    FOCUS (Dobler and de Melo 2023), with counts of neighbours in the run's own tokens as vectors,
    so that nothing has to be fetched or trained.
    """
    frequent, vectors = _contexts([np.asarray(text[:_READ]) for text in texts], tokens.size)
    old = tokens.shared[frequent] >= 0
    new = np.isin(frequent, tokens.missing)
    if not (old.any() and new.any()):
        return {}
    similar: dict[int, tuple[list[int], list[float]]] = {}
    count = min(_NEAREST, int(old.sum()))
    for start in range(0, int(new.sum()), _ROWS):
        numbers = frequent[new][start : start + _ROWS]
        cosines = vectors[new][start : start + _ROWS] @ vectors[old].T
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        highest = np.take_along_axis(cosines, nearest, axis=1)
        weights = np.exp((highest - highest.max(axis=1, keepdims=True)) / _TEMPERATURE)
        weights /= weights.sum(axis=1, keepdims=True)
        ids = tokens.shared[frequent[old]][nearest]
        pairs = zip(ids.tolist(), weights.tolist(), strict=True)
        similar |= dict(zip(numbers.tolist(), pairs, strict=True))
    return similar


def _weighted_means(known: Tensor, bags: Bags) -> Tensor:
    starts = np.cumsum([0, *(len(ids) for ids, _ in bags[:-1])])
    weights = np.concatenate([np.array(weights) / sum(weights) for _, weights in bags])
    arrays = np.concatenate([ids for ids, _ in bags]), weights.astype(np.float32), starts
    ids, shares, offsets = (torch.from_numpy(array).to(known.device) for array in arrays)
    shares = shares.to(known.dtype)
    return embedding_bag(ids, known, offsets, mode="sum", per_sample_weights=shares)


def _contexts(texts: Sequence[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The tokens that occur often enough, and a unit vector of the neighbours of each."""
    counts = np.sum([np.bincount(text, minlength=size) for text in texts], axis=0, dtype=np.int64)
    described = np.flatnonzero(counts >= _OFTEN)
    row = np.full(size, -1)
    row[described] = np.arange(len(described))
    frequent = np.argsort(-counts, kind="stable")[:_NEIGHBOURS]
    column = np.full(size, -1)
    column[frequent] = np.arange(len(frequent))
    contexts = np.zeros((len(described), 2 * len(frequent)), dtype=np.float32)
    for text in texts:
        before, after = text[:-1], text[1:]
        for side, (token, neighbour) in enumerate(((after, before), (before, after))):
            seen = (row[token] >= 0) & (column[neighbour] >= 0)
            place = column[neighbour[seen]] + side * len(frequent)
            cells = row[token[seen]] * contexts.shape[1] + place
            kinds, times = np.unique(cells, return_counts=True)
            contexts.ravel()[kinds] += times
    # positive pointwise mutual information of rows and columns, each row of length 1
    rows, columns = contexts.sum(axis=1, keepdims=True), contexts.sum(axis=0, keepdims=True)
    expected = np.maximum(rows * (columns / max(columns.sum(), 1.0)), 1e-30)
    surprise = np.log(np.maximum(contexts / expected, 1.0))
    return described, surprise / np.maximum(np.linalg.norm(surprise, axis=1, keepdims=True), 1e-30)
