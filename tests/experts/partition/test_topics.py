from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.experts.partition import topics as room
from tongues.experts.partition.topics import (
    TopicModel,
    batches,
    cluster_by_topics,
    draw_documents,
    partition_by_topics,
    write_clusters,
)
from tongues.text.tokens import Tokens, open_cluster, open_tokens
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import Shard, shard_dtype, write_shard

VOCABULARY = 2000
TOPICS = 5


@pytest.fixture(scope="module")
def topical(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokens, dict[str, np.ndarray]]:
    """Documents of two languages, each about one of 5 topics, and what each is about."""
    random, place = np.random.default_rng(0), tmp_path_factory.mktemp("topical")
    about, shards, counts = {}, {}, {}
    for lang, size in (("qaa", 1500), ("qab", 500)):
        about[lang] = random.integers(TOPICS, size=size)
        rows = [
            np.append(1 + (random.zipf(1.3, random.integers(20, 200)) + topic * 397) % 1999, 0)
            for topic in about[lang]
        ]
        lengths = np.array([len(row) for row in rows])
        tokens_of = np.concatenate(rows)
        write_shard(place / lang, [(tokens_of, lengths)], shard_dtype(VOCABULARY))
        shards[lang, "train"] = Shard(tokens_of, np.concatenate([[0], np.cumsum(lengths)]))
        row = {"documents": size, "tokens": len(tokens_of), "bytes": 0, "bytes_per_token": 0.0}
        counts[lang] = {"train": row, "valid": row}
    made = Tokens(
        path=place,
        fingerprint="made",
        vocabulary_size=VOCABULARY,
        frame=TextFrame(0, 0),
        held_out={},
        groups={},
        foreign={},
        token_bytes=np.append(0, np.full(VOCABULARY - 1, 3)),
        counts=counts,
        shards=shards,
    )
    return made, about


@pytest.fixture(scope="module")
def topics(topical) -> TopicModel:
    """Three clusters of them."""
    return cluster_by_topics(topical[0], 3)


def test_documents_come_in_order_and_alike_from_all_languages(monkeypatch) -> None:
    monkeypatch.setattr(room, "_BATCH", 7)
    shard = Shard(np.arange(30), np.array([0, 3, 3, 12, 15, 20, 30]))
    for numbers in (None, np.array([0, 2, 3, 5]), np.array([5, 1, 0]), np.empty(0, int)):
        chosen = np.arange(6) if numbers is None else numbers
        got = [
            some.tokens[a:b].tolist()
            for some in batches(shard, numbers)
            for a, b in zip(some.bounds[:-1], some.bounds[1:], strict=True)
        ]
        bounds = shard.bounds
        assert got == [shard.tokens[bounds[i] : bounds[i + 1]].tolist() for i in chosen]
    drawn = draw_documents({"a": 9000, "b": 0, "c": 1000}, 1000, seed=1)
    assert 850 < len(drawn["a"]) < 950 and len(drawn["a"]) + len(drawn["c"]) == 1000
    assert all((np.diff(numbers) > 0).all() for numbers in drawn.values())
    assert draw_documents({"a": 2, "c": 1}, 5, seed=1)["a"].tolist() == [0, 1]


def label(topics: TopicModel, documents: Shard) -> np.ndarray:
    return topics.clusters(topics.directions(documents))


def test_topics_are_found_across_languages(topical) -> None:
    made, about = topical
    topics = cluster_by_topics(made, TOPICS)
    for lang in made.languages:
        shard = made.shard(lang, "train")
        pairs = TOPICS * label(topics, shard) + about[lang]
        common = np.bincount(pairs, np.diff(shard.bounds))  # tokens
        assert np.sort(common)[-TOPICS:].sum() > 0.95 * common.sum()


def test_clusters_are_even_and_hold_every_document_once(topical, topics: TopicModel) -> None:
    made, _ = topical
    partition = partition_by_topics(made, topics)
    counts = write_clusters(made, topics, made.path / "clusters" / "topics-3")
    sizes = [sum(row["tokens"] for row in counts[str(part)].values()) for part in range(3)]
    assert max(sizes) < 1.01 * sum(sizes) / 3
    assert read_json(made.path / "clusters" / "topics-3" / "counts.json") == counts
    for lang in made.languages:
        seen = []
        for part in range(3):
            opened = open_cluster(made, f"topics-3/{part}")
            shard = opened.shard(lang, "train")
            held = opened.counts[lang]["train"]
            assert held["documents"] == len(shard.bounds) - 1
            assert held["bytes"] == 3 * (held["tokens"] - held["documents"])
            share = held["tokens"] / made.counts[lang]["train"]["tokens"]
            assert partition.shares[part][lang] == pytest.approx(share)
            seen += [bytes(d.tokens.astype("i4")) for d in one_by_one(shard)]
        whole = [bytes(d.tokens.astype("i4")) for d in one_by_one(made.shard(lang, "train"))]
        assert sorted(seen) == sorted(whole)


def one_by_one(shard: Shard) -> list[Shard]:
    return [next(batches(shard, np.array([i]))) for i in range(len(shard.bounds) - 1)]


def test_prices_of_a_sample_divide_all_text_evenly(topical, monkeypatch) -> None:
    made, _ = topical
    for name, count in (("_WEIGHED", 300), ("_CENTRED", 600), ("_PRICED", 1600)):
        monkeypatch.setattr(room, name, count)
    assert unevenness(made) < 0.05


def unevenness(made: Tokens) -> float:
    """How far the tokens of one of four clusters are from a fourth of all."""
    topics, sizes = cluster_by_topics(made, 4), np.zeros(4)
    for lang in made.languages:
        shard = made.shard(lang, "train")
        sizes += np.bincount(label(topics, shard), np.diff(shard.bounds), 4)
    return np.abs(4 * sizes / sizes.sum() - 1).max()


def test_the_direction_of_a_text_is_a_running_sum_of_its_terms(topical, topics: TopicModel) -> None:
    made, _ = topical
    document = one_by_one(made.shard("qaa", "train"))[0]
    total = np.zeros(topics.projection.shape[1])
    for token in document.tokens:
        total += topics.weights[token] * topics.projection[token]
    assert topics.directions(document)[0] == pytest.approx(total / np.linalg.norm(total), abs=1e-5)


def test_more_topics_than_documents_are_refused(topical) -> None:
    with pytest.raises(UserError, match="cannot be divided"):
        cluster_by_topics(topical[0], 3000)


def test_sources_of_unlike_length_get_equally_many_tokens(topical) -> None:
    """One language has ten times longer documents."""
    made, _ = topical
    short = made.shard("qab", "train")
    rows = [short.tokens[a:b] for a, b in zip(short.bounds[:-1], short.bounds[1:], strict=True)]
    long = [np.tile(row, 10) for row in rows]
    lengths = np.array([len(row) for row in long])
    shard = Shard(np.concatenate(long), np.append(0, np.cumsum(lengths)))
    row = made.counts["qab"]["train"] | {"tokens": int(lengths.sum())}
    shards = {**made.shards, ("qab", "train"): shard}
    other = replace(
        made, shards=shards, counts={**made.counts, "qab": {"train": row, "valid": row}}
    )
    assert unevenness(other) < 0.02


def test_topics_divide_prepared_text(tokens: Path) -> None:
    opened = open_tokens(tokens)
    topics = cluster_by_topics(opened, 2, seed=3)
    partition = partition_by_topics(opened, topics)
    again = partition_by_topics(opened, cluster_by_topics(opened, 2, seed=3))
    assert partition == again
    about = [note for note in partition.notes if note.startswith("topic ")]
    first, second = ({*note.partition(": ")[2].split(", ")} for note in about)
    assert first and second and not first & second  # what sets one apart does not the other
    assert partition.k == 2 and partition.clusters[0] == opened.languages
    for lang in opened.languages:
        assert sum(share[lang] for share in partition.shares) == pytest.approx(1)
