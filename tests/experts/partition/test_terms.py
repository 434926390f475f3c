import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from tests.experts.partition.test_topics import topical  # noqa: F401
from tongues.experts.partition.terms import term_counts
from tongues.experts.partition.topics import term_directions
from tongues.tokens.frame import TextFrame
from tongues.tokens.shards import Shard


def test_terms_are_counted_by_document_but_for_the_frame() -> None:
    tokens, bounds = np.array([1, 2, 1, 2, 0], np.uint16), np.array([0, 3, 3, 5])
    counts = term_counts(Shard(tokens, bounds), 4, TextFrame(0, 0))
    assert counts.toarray().tolist() == [[0, 2, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]


def test_weights_and_directions_are_those_of_the_dense_matrix(topical) -> None:  # noqa: F811
    tokens, _ = topical
    parts = [term_counts(tokens.shard(x, "train"), 2000, tokens.frame) for x in tokens.languages]
    counts = np.vstack([part.toarray() for part in parts])
    idf = np.log((1 + len(counts)) / (1 + (counts > 0).sum(axis=0))) + 1
    weights, directions = term_directions(tokens, seed=1)
    assert weights[0] == 0
    np.testing.assert_allclose(weights[1:], idf[1:], rtol=1e-5)
    rows = counts * idf
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    _, _, right = svds(csr_matrix(rows), 8)
    assert right is not None
    right = right[::-1].T
    np.testing.assert_allclose(np.abs((directions[:, :8] * right).sum(axis=0)), 1, atol=1e-2)
