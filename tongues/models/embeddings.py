"""Embeddings of tokens that a base's tokenizer does not have, from those of the tokens it has.

Means of known tokens in similar contexts (FOCUS), means weighted by length, and random rows gave
higher losses after training than these two ways (benchmarks/new_tokens.txt).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from tongues.models.token_map import TokenMap

_HALVINGS = 20  # of the share searched for, to a millionth


@dataclass(frozen=True, slots=True)
class NewTokens:
    """What the embeddings of new tokens are made from.

    matrices: the base's input matrix, and its output matrix where that is another one.
    texts: ids of the new tokenizer by language.
    """

    tokens: TokenMap
    matrices: Sequence[Tensor]
    texts: Sequence[np.ndarray]


def mean_rows(tokens: TokenMap, matrices: Sequence[Tensor]) -> list[Tensor]:
    """A row for each missing token in each of the base's matrices: the mean of what spells it.

    Where nothing does, the mean of all tokens.
    """
    everything = list(range(tokens.base_size))
    bags = [tokens.parts[number] or everything for number in tokens.missing.tolist()]
    return [_means(matrix, bags) for matrix in matrices]


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


def _means(known: Tensor, bags: Sequence[list[int]]) -> Tensor:
    starts = np.cumsum([0, *(len(ids) for ids in bags[:-1])])
    weights = np.concatenate([np.ones(len(ids)) / len(ids) for ids in bags]).astype(np.float32)
    arrays = np.concatenate(bags), weights, starts
    ids, shares, offsets = (torch.from_numpy(array).to(known.device) for array in arrays)
    shares = shares.to(known.dtype)
    return embedding_bag(ids, known, offsets, mode="sum", per_sample_weights=shares)
