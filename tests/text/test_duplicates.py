import numpy as np
import pytest

from tongues.text.signals.near import BANDS, Near, clusters, connect, near_signals
from tongues.text.signals.units import units


def family(size: int, versions: int, changes: int, draw: np.random.Generator) -> list[str]:
    """A text of words, and versions of it that each differ from the one before."""
    words = draw.integers(0, 10**9, size)
    texts = [" ".join(map(str, words))]
    for _ in range(versions - 1):
        words[draw.choice(size, changes, replace=False)] = draw.integers(0, 10**9, changes)
        texts.append(" ".join(map(str, words)))
    return texts


def found(near: Near, *similarities: float) -> list[np.ndarray]:
    return clusters(
        len(near.signature), near.bands.T.__getitem__, near.signature.__getitem__, similarities
    )


def brute_force(near: Near, least: float) -> list[int]:
    """All pairs compared, and a search through the links of each document."""
    alike = (near.signature[:, None] == near.signature).mean(axis=2) >= least
    label = [-1] * len(alike)
    for start in range(len(alike)):
        waiting = [start] if label[start] < 0 else []
        while waiting:
            here = waiting.pop()
            if label[here] < 0:
                label[here] = start
                waiting.extend(np.flatnonzero(alike[here]).tolist())
    return label


@pytest.fixture(scope="module")
def near() -> Near:
    draw = np.random.default_rng(3)
    texts = [text for k in range(60) for text in family(200, 1 + k % 4, 1 + k % 9, draw)]
    return near_signals(units([texts[i] for i in draw.permutation(len(texts))]))


@pytest.mark.parametrize("pairs", [1, 7, 50, 10**9])
def test_clusters_are_those_of_all_pairs_however_few_are_compared_at_a_time(
    near: Near, monkeypatch: pytest.MonkeyPatch, pairs: int
) -> None:
    monkeypatch.setattr("tongues.text.signals.near._PAIRS", pairs)
    several = (0.7, 0.8, 0.9, 1.0)
    for least, label in zip(several, found(near, *several), strict=True):
        assert label.tolist() == brute_force(near, least)
    assert found(near, 0.8)[0].tolist() == brute_force(near, 0.8)


def test_boilerplate_stays_cheap_and_whole() -> None:
    count, asked = 3000, 0
    rows = np.random.default_rng(7).integers(0, 2**16, (count, 120)).astype(np.uint16)
    bands = np.random.default_rng(8).integers(0, 2**32, (count, BANDS)).astype(np.uint32)
    bands[:, 0] = 1  # all in one bucket, though apart
    rows[1000:2000], bands[1000:2000] = rows[0], bands[0]  # a third of them the same

    def signatures(indices: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(indices)
        return rows[indices]

    label = clusters(count, bands.T.__getitem__, signatures, [0.7])[0]
    assert (label[1000:2000] == 0).all()
    assert len(np.unique(label)) == 2000
    assert asked < 4 * count


def test_no_documents_have_no_clusters() -> None:
    empty = clusters(0, lambda _: np.zeros(0, np.uint32), lambda i: i, [0.7, 0.9])
    assert [label.tolist() for label in empty] == [[], []]


def test_a_long_chain_of_links_is_one_cluster() -> None:
    labels = np.arange(1000)
    chain = np.random.default_rng(2).permutation(999)
    connect(labels, chain, chain + 1)
    assert (labels == 0).all()
    connect(labels, np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (labels == 0).all()


def test_a_batch_of_pairs_comes_from_few_stretches_of_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count, stretch, read = 20_000, 200, 0
    monkeypatch.setattr("tongues.text.signals.near._PAIRS", 100)
    bands = np.tile(np.arange(count, dtype=np.uint32), (BANDS, 1))
    bands[1] = np.random.default_rng(1).permutation(count) // 2  # 100 batches of pairs at random

    def signatures(documents: np.ndarray) -> np.ndarray:
        nonlocal read
        read += len(np.unique(documents // stretch))
        return documents[:, None]

    assert clusters(count, bands.__getitem__, signatures, [0.7])[0].tolist() == list(range(count))
    assert 0 < read < 100 * 30  # of 100 stretches; in no order 87 for each batch
