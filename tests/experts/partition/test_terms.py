import math

import numpy as np
import pytest

from tongues.experts.partition.terms import (
    Sparse,
    count_terms,
    inverse_frequencies,
    principal_directions,
    stack_rows,
    times,
    weigh,
)
from tongues.tokens.frame import TextFrame
from tongues.tokens.shards import Shard


def documents(*rows: list[int]) -> Shard:
    bounds = np.cumsum([0, *map(len, rows)])
    return Shard(np.array([x for row in rows for x in row], np.uint16), bounds)


def dense(matrix: Sparse) -> np.ndarray:
    out = np.zeros((len(matrix.starts) - 1, matrix.width), np.float32)
    out[matrix.rows, matrix.columns] = matrix.values
    return out


def test_counting_and_weighing_by_hand() -> None:
    counts = count_terms(documents([1, 2, 1], [], [2, 0]), 4)
    assert dense(counts).tolist() == [[0, 2, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]]
    weights = inverse_frequencies(counts, TextFrame(0, 0))
    once, twice, never = (math.log(4 / (1 + found)) + 1 for found in (1, 2, 0))
    assert weights.tolist() == pytest.approx([0, once, twice, never])
    rows = dense(weigh(counts, weights))
    assert rows[0] == pytest.approx(np.array([0, 2 * once, twice, 0]) / math.hypot(2 * once, twice))
    assert rows[2].tolist() == pytest.approx([0, 0, 1, 0])


def test_products_and_directions_are_those_of_the_dense_matrix() -> None:
    random = np.random.default_rng(0)
    rows = [random.zipf(1.5, random.integers(1, 60)) % 80 for _ in range(120)]
    parts = [count_terms(documents(*map(list, rows[i : i + 40])), 80) for i in (0, 40, 80)]
    matrix = stack_rows(parts)
    table = random.normal(size=(80, 7)).astype(np.float32)
    assert times(matrix, table) == pytest.approx(dense(matrix) @ table, abs=1e-3)
    found = principal_directions(matrix, 10, seed=1)
    right = np.linalg.svd(dense(matrix))[2][:10].T
    assert np.abs((found * right).sum(axis=0)) == pytest.approx(np.ones(10), abs=1e-2)
