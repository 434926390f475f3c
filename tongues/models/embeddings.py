"""Rows for pieces that a parent's tokenizer lacks: three ways to make them from its own rows.

- `mean`: the mean of the rows of the parent's pieces that spell the new one.
- `similar`: the mean of the rows of the ten old pieces that stand in the most similar company,
  the more similar the more; after FOCUS (Dobler and de Melo 2023), with counted neighbours in
  the run's own tokens for vectors, so that nothing has to be fetched or trained.
- `plain`: random, with the mean and the spread that each column has over the parent's rows.
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

__all__ = ["WAYS", "NewPieces", "Way", "embed", "new_pieces", "similar_pieces"]

Way = Literal["mean", "similar", "plain"]
WAYS: tuple[Way, ...] = ("mean", "similar", "plain")

_READ = 2**21  # tokens of each text, from its start, in which neighbours are counted
_NEIGHBOURS = 256  # kinds that are counted before and after a piece: the most frequent
_OFTEN = 5  # times a piece must occur to be compared
_NEAREST = 10
_TEMPERATURE = 0.1  # of the softmax over cosines
_ROWS = 1024  # compared at a time


@dataclass(frozen=True, slots=True)
class NewPieces:
    """What a tokenizer has beyond its parent's."""

    known: int  # ids below are the parent's
    size: int  # ids of the new vocabulary
    parts: dict[int, list[int]]  # the parent's pieces that spell each new one, by its id


def new_pieces(parent: Tokenizer, tokenizer: Tokenizer) -> NewPieces | None:
    """The pieces that `parent` lacks; None unless each of its own has the same id in both."""
    old, new = parent.get_vocab(), tokenizer.get_vocab()
    if any(new.get(piece) != number for piece, number in old.items()):
        return None
    known, size = max(old.values()) + 1, max(new.values()) + 1
    missing = {number: piece for piece, number in new.items() if piece not in old}
    if min(missing, default=known) < known:
        return None
    whole = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    parts: dict[int, list[int]] = {}
    for number, piece in sorted(missing.items()):
        if piece in whole:  # an added token is text, others are in the model's alphabet
            parts[number] = parent.encode(piece, add_special_tokens=False).ids
        else:
            parts[number] = [token.id for token in parent.model.tokenize(piece)]
    return NewPieces(known, size, parts)


def embed(
    model: PreTrainedModel,
    pieces: NewPieces,
    way: Way,
    texts: Sequence[np.ndarray] = (),
    *,
    seed: int = 0,
) -> None:
    """Give the new pieces their rows, input and output, in place; the old rows stay as they are.

    texts: token ids of the new tokenizer, one array a language, for `similar`.
    seed: of the random rows, for `plain`.
    """
    if len(embedding_matrices(model)[0]) < pieces.size:
        model.resize_token_embeddings(pieces.size, mean_resizing=False)
    # a piece that the parent cannot spell gets the mean of all its rows
    spelt = {number: parts or range(pieces.known) for number, parts in pieces.parts.items()}
    bags = {number: (list(parts), [1.0] * len(parts)) for number, parts in spelt.items()}
    bags |= similar_pieces(pieces, texts) if way == "similar" else {}
    chance = torch.Generator().manual_seed(seed)
    numbers = torch.tensor(list(pieces.parts), dtype=torch.long)
    with torch.no_grad():
        for matrix in embedding_matrices(model):
            known = matrix[: pieces.known]
            if way == "plain":
                drawn = torch.randn(len(numbers), known.shape[1], generator=chance).to(known)
                rows = known.mean(0) + known.std(0) * drawn
            else:
                rows = _blended(known, list(bags.values()))
            matrix[numbers.to(matrix.device)] = rows


def similar_pieces(
    pieces: NewPieces, texts: Sequence[np.ndarray]
) -> dict[int, tuple[list[int], list[float]]]:
    """The old pieces most like each new one in the texts, with weights that add up to 1.

    A piece is described by how much more often than by chance each frequent neighbour stands
    right before and right after it; pieces are alike by the cosine. New pieces too rare to be
    described are left out.
    """
    described, vectors = _company([np.asarray(text[:_READ]) for text in texts], pieces.size)
    old = described < pieces.known
    new = np.isin(described, list(pieces.parts))
    if not (old.any() and new.any()):
        return {}
    found: dict[int, tuple[list[int], list[float]]] = {}
    count = min(_NEAREST, int(old.sum()))
    for start in range(0, int(new.sum()), _ROWS):
        numbers = described[new][start : start + _ROWS]
        cosines = vectors[new][start : start + _ROWS] @ vectors[old].T
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        nearness = np.take_along_axis(cosines, nearest, axis=1)
        weights = np.exp((nearness - nearness.max(axis=1, keepdims=True)) / _TEMPERATURE)
        weights /= weights.sum(axis=1, keepdims=True)
        alike = described[old][nearest].tolist()
        found |= dict(zip(numbers.tolist(), zip(alike, weights.tolist(), strict=True), strict=True))
    return found


def _blended(known: Tensor, bags: Sequence[tuple[list[int], list[float]]]) -> Tensor:
    """The weighted mean of old rows of each bag."""
    starts = np.cumsum([0, *(len(ids) for ids, _ in bags[:-1])])
    weights = np.concatenate([np.array(weights) / sum(weights) for _, weights in bags])
    arrays = np.concatenate([ids for ids, _ in bags]), weights.astype(np.float32), starts
    ids, shares, offsets = (torch.from_numpy(array).to(known.device) for array in arrays)
    shares = shares.to(known.dtype)
    return embedding_bag(ids, known, offsets, mode="sum", per_sample_weights=shares)


def _company(texts: Sequence[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The pieces that occur often enough, and a unit vector of the company of each."""
    counts = np.sum([np.bincount(text, minlength=size) for text in texts], axis=0, dtype=np.int64)
    described = np.flatnonzero(counts >= _OFTEN)
    row = np.full(size, -1)
    row[described] = np.arange(len(described))
    frequent = np.argsort(-counts, kind="stable")[:_NEIGHBOURS]
    column = np.full(size, -1)
    column[frequent] = np.arange(len(frequent))
    company = np.zeros((len(described), 2 * len(frequent)), dtype=np.float32)
    for text in texts:
        before, after = text[:-1], text[1:]
        for side, (piece, neighbour) in enumerate(((after, before), (before, after))):
            seen = (row[piece] >= 0) & (column[neighbour] >= 0)
            place = column[neighbour[seen]] + side * len(frequent)
            cells = row[piece[seen]] * company.shape[1] + place
            kinds, times = np.unique(cells, return_counts=True)
            company.ravel()[kinds] += times
    # positive pointwise mutual information of rows and columns, each row of length 1
    rows, columns = company.sum(axis=1, keepdims=True), company.sum(axis=0, keepdims=True)
    expected = np.maximum(rows * (columns / max(columns.sum(), 1.0)), 1e-30)
    surprise = np.log(np.maximum(company / expected, 1.0))
    return described, surprise / np.maximum(np.linalg.norm(surprise, axis=1, keepdims=True), 1e-30)
