"""Embeddings of tokens that a base's tokenizer does not have: three initializations.

- `mean`: the mean of the embeddings of the base's tokens that spell the new one.
- `similar`: the mean of the embeddings of the ten old tokens that occur in the most similar
  contexts, weighted by similarity; after FOCUS (Dobler and de Melo 2023), with counts of neighbours
  in the run's own tokens as vectors, so that nothing has to be fetched or trained.
- `plain`: random, with the mean and the spread that each column has over the base's embeddings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import embedding_bag
from transformers import PreTrainedModel

from tongues.models.anatomy import embedding_matrices

__all__ = [
    "INITIALIZATIONS",
    "Initialization",
    "MissingTokens",
    "initialize_embeddings",
    "missing_tokens",
    "similar_tokens",
]

Initialization = Literal["mean", "similar", "plain"]
INITIALIZATIONS: tuple[Initialization, ...] = ("mean", "similar", "plain")

_READ = 2**21  # tokens of each text, from its start, in which neighbours are counted
_NEIGHBOURS = 256  # kinds that are counted before and after a token: the most frequent
_OFTEN = 5  # times a token must occur to be compared
_NEAREST = 10
_TEMPERATURE = 0.1  # of the softmax over cosines
_ROWS = 1024  # compared at a time


@dataclass(frozen=True, slots=True)
class MissingTokens:
    """Tokens of a tokenizer that its base does not have."""

    known: int  # ids below are the base's
    size: int  # ids of the new vocabulary
    spellings: dict[int, list[int]]  # the base's tokens that spell each new one, by its id


def missing_tokens(base: Tokenizer, tokenizer: Tokenizer) -> MissingTokens | None:
    """The tokens that `base` does not have; None unless each of its own has the same id in both."""
    old, new = base.get_vocab(), tokenizer.get_vocab()
    if any(new.get(token) != number for token, number in old.items()):
        return None
    known, size = max(old.values()) + 1, max(new.values()) + 1
    missing = {number: token for token, number in new.items() if token not in old}
    if min(missing, default=known) < known:
        return None
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    spellings = {
        # an added token is text, others are in the model's alphabet
        number: base.encode(token, add_special_tokens=False).ids
        if token in added
        else [part.id for part in base.model.tokenize(token)]
        for number, token in sorted(missing.items())
    }
    return MissingTokens(known, size, spellings)


def initialize_embeddings(
    model: PreTrainedModel,
    missing: MissingTokens,
    name: Initialization,
    texts: Sequence[np.ndarray] = (),
    *,
    seed: int = 0,
) -> None:
    """Give the new tokens their input and output embeddings, in place; the old ones stay.

    texts: token ids of the new tokenizer, one array a language, for `similar`.
    seed: of the random embeddings, for `plain`.
    """
    if len(embedding_matrices(model)[0]) < missing.size:
        model.resize_token_embeddings(missing.size, mean_resizing=False)
    # a token that the base cannot spell gets the mean of all embeddings
    bags = {
        number: (list(parts or range(missing.known)), [1.0] * (len(parts) or missing.known))
        for number, parts in missing.spellings.items()
    }
    bags |= similar_tokens(missing, texts) if name == "similar" else {}
    random = torch.Generator().manual_seed(seed)
    numbers = torch.tensor(list(missing.spellings), dtype=torch.long)
    with torch.no_grad():
        for matrix in embedding_matrices(model):
            known = matrix[: missing.known]
            if name == "plain":
                drawn = torch.randn(len(numbers), known.shape[1], generator=random).to(known)
                rows = known.mean(0) + known.std(0) * drawn
            else:
                rows = _weighted_means(known, list(bags.values()))
            matrix[numbers.to(matrix.device)] = rows


def similar_tokens(
    missing: MissingTokens, texts: Sequence[np.ndarray]
) -> dict[int, tuple[list[int], list[float]]]:
    """The old tokens most similar to each new one in the texts, with weights that add up to 1.

    Similarity is the cosine of context vectors. New tokens too rare to have one are left out.
    """
    frequent, vectors = _contexts([np.asarray(text[:_READ]) for text in texts], missing.size)
    old = frequent < missing.known
    new = np.isin(frequent, list(missing.spellings))
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
        pairs = zip(frequent[old][nearest].tolist(), weights.tolist(), strict=True)
        similar |= dict(zip(numbers.tolist(), pairs, strict=True))
    return similar


def _weighted_means(known: Tensor, bags: Sequence[tuple[list[int], list[float]]]) -> Tensor:
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
