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


@dataclass(frozen=True, slots=True)
class _Blends:
    """Weighted sums of old rows, one for each new piece, end to end."""

    ids: np.ndarray
    weights: np.ndarray
    starts: np.ndarray


def new_pieces(parent: Tokenizer, tokenizer: Tokenizer) -> NewPieces | None:
    """The pieces that `parent` lacks; None unless each of its own has the same id in both."""
    old, new = parent.get_vocab(), tokenizer.get_vocab()
    if any(new.get(piece) != number for piece, number in old.items()):
        return None
    known, size = max(old.values()) + 1, max(new.values()) + 1
    lacked = {number: piece for piece, number in new.items() if piece not in old}
    if min(lacked, default=known) < known:
        return None
    whole = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    parts = {
        number: _spelling(parent, piece, as_text=piece in whole)
        for number, piece in sorted(lacked.items())
    }
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
    matrix = _matrices(model)[0]
    if len(matrix) < pieces.size:
        model.resize_token_embeddings(pieces.size, mean_resizing=False)
    blends = None
    if way != "plain":
        spelt = {number: (parts, [1.0] * len(parts)) for number, parts in pieces.parts.items()}
        similar = similar_pieces(pieces, texts) if way == "similar" else {}
        blends = _blends({**spelt, **similar}, pieces)
    chance = torch.Generator().manual_seed(seed)
    numbers = torch.tensor(list(pieces.parts), dtype=torch.long)
    with torch.no_grad():
        for matrix in _matrices(model):
            known = matrix[: pieces.known]
            rows = _blended(known, blends) if blends else _drawn(known, len(numbers), chance)
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
    for numbers, rows in _blocks(described[new], vectors[new]):
        cosines = rows @ vectors[old].T
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        nearness = np.take_along_axis(cosines, nearest, axis=1)
        weights = np.exp((nearness - nearness.max(axis=1, keepdims=True)) / _TEMPERATURE)
        weights /= weights.sum(axis=1, keepdims=True)
        alike = described[old][nearest].tolist()
        found |= dict(zip(numbers.tolist(), zip(alike, weights.tolist(), strict=True), strict=True))
    return found


def _spelling(parent: Tokenizer, piece: str, as_text: bool) -> list[int]:
    """The parent's ids for a piece; an added token is text, others are in the model's alphabet."""
    if as_text:
        return parent.encode(piece, add_special_tokens=False).ids
    return [token.id for token in parent.model.tokenize(piece)]


def _matrices(model: PreTrainedModel) -> Sequence[Tensor]:
    """The input matrix, and the output matrix where it is another one."""
    layers = (model.get_input_embeddings(), model.get_output_embeddings())
    weights = [layer.get_parameter("weight") for layer in layers if layer is not None]
    return weights[:1] if weights[0] is weights[-1] else weights


def _blends(mixed: dict[int, tuple[list[int], list[float]]], pieces: NewPieces) -> _Blends:
    """Bags of old rows; a piece that the parent cannot spell gets the mean of all."""
    everything = (list(range(pieces.known)), [1.0] * pieces.known)
    bags = [mixed[number] if mixed[number][0] else everything for number in pieces.parts]
    lengths = [len(ids) for ids, _ in bags]
    weights = [np.array(weights) / sum(weights) for _, weights in bags]
    return _Blends(
        ids=np.concatenate([ids for ids, _ in bags]),
        weights=np.concatenate(weights).astype(np.float32),
        starts=np.cumsum([0, *lengths[:-1]]),
    )


def _blended(known: Tensor, blends: _Blends) -> Tensor:
    ids, weights, starts = (
        torch.from_numpy(array).to(known.device)
        for array in (blends.ids, blends.weights, blends.starts)
    )
    return embedding_bag(ids, known, starts, mode="sum", per_sample_weights=weights.to(known.dtype))


def _drawn(known: Tensor, count: int, chance: torch.Generator) -> Tensor:
    drawn = torch.randn(count, known.shape[1], generator=chance).to(known)
    return known.mean(0) + known.std(0) * drawn


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
            kinds, times = np.unique(
                row[piece[seen]] * company.shape[1] + place, return_counts=True
            )
            company.ravel()[kinds] += times
    return described, _surprises(company)


def _surprises(counts: np.ndarray) -> np.ndarray:
    """Positive pointwise mutual information of rows and columns, each row of length 1."""
    rows, columns = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    expected = np.maximum(rows * (columns / max(columns.sum(), 1.0)), 1e-30)
    surprise = np.log(np.maximum(counts / expected, 1.0))
    return surprise / np.maximum(np.linalg.norm(surprise, axis=1, keepdims=True), 1e-30)


def _blocks(numbers: np.ndarray, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    starts = range(0, len(numbers), _ROWS)
    return [(numbers[i : i + _ROWS], rows[i : i + _ROWS]) for i in starts]
