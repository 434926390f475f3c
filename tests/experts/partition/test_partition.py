from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from tests.experts.partition.test_topics import topical  # noqa: F401
from tests.golden import cases, golden, inputs
from tongues.core.errors import UserError
from tongues.experts.partition.methods import dense, from_file, one_each
from tongues.experts.partition.partition import (
    Partition,
    amounts,
    balance,
    leaves,
    of_languages,
    read_partition,
    tree_lines,
    write_partition,
)
from tongues.experts.partition.topics import term_counts, term_directions
from tongues.experts.partition.tree import by_tree
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import Shard

PLACES = {"ab": 0, "c": 7, "d": 1, "e": 9, "f": 30}
DISTANCES = {a: {b: float(abs(PLACES[a] - PLACES[b])) for b in PLACES} for a in PLACES}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    partition = by_tree("distances", DISTANCES, 2, notes=("so",))
    assert (partition.notes, partition.distances) == (("so",), DISTANCES)
    write_partition(tmp_path, partition)
    assert read_partition(tmp_path) == partition
    topics = Partition("topics", (("a", "b"),) * 2, ({"a": 0.25, "b": 1.0}, {"a": 0.75, "b": 0.0}))
    assert Partition.from_json(topics.to_json()) == topics


def test_the_fingerprint_follows_from_the_parts() -> None:
    one, other = of_languages("file", [["a"], ["b"]]), of_languages("file", [["a", "b"]])
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == of_languages("file", [["a"], ["b"]], notes=("more",)).fingerprint


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"clusters": 1}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.json").write_text(text)
    with pytest.raises(UserError, match="is not a complete partition"):
        read_partition(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no partition"):
        read_partition(tmp_path)


def test_amounts_and_balance() -> None:
    shares = ({"a": 0.25, "b": 1.0}, {"a": 0.75})
    sizes = amounts(Partition("topics", (("a", "b"), ("a",)), shares), {"a": 400, "b": 100})
    assert sizes == [200, 300]
    assert balance(sizes) == 1.2
    assert balance([0, 0]) == 1


def test_the_tree_in_text() -> None:
    partition = by_tree("distances", DISTANCES, 2)
    assert partition.clusters == (("ab", "d", "f"), ("c", "e"))
    assert leaves(partition) == ["ab", "d", "f", "c", "e"]
    assert tree_lines(partition) == [
        "0  ab ─1.000─┬─29.000┬─6.000─┬",
        "0  d  ───────┘       │       │",
        "0  f  ───────────────┘       │",
        "1  c  ─────────2.000─┬───────┘",
        "1  e  ───────────────┘",
    ]
    assert tree_lines(of_languages("file", [["a"], ["b"]])) == []


def write(folder: Path, text: str, name: str = "parts.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_part_for_each_and_one_for_all() -> None:
    assert one_each(["no", "en"]).clusters == (("no",), ("en",))
    assert dense(["no", "en"]).clusters == (("no", "en"),)
    assert dense(["no", "en"]).shares == ({"no": 1.0, "en": 1.0},)


@pytest.mark.parametrize(("name", "text"), inputs("rows")["test_parts_from_a_file"])
def test_parts_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    partition = from_file(write(tmp_path, text, name), ["en", "nan", "no"])
    assert partition.clusters == (("no", "nan"), ("en",))
    assert partition.by == "file"


@pytest.mark.parametrize("text", cases("refused-clusters"))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as refused:
        from_file(write(tmp_path, text), ["en", "de", "no"])
    golden(f"refused-clusters/{text}", str(refused.value).replace(str(tmp_path), "FOLDER"))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        from_file(tmp_path / "none.yaml", ["en"])


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
