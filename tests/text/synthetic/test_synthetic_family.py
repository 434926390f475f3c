import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.errors import UserError
from tongues.text.synthetic import (
    Drift,
    SyntheticLanguage,
    World,
    documents,
    make_family,
    shared_order,
    shared_words,
)

WORLD = World.of(5)
GRID = (0.0, 0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0)


def pair(divergence: float, seed: int = 1) -> tuple[SyntheticLanguage, SyntheticLanguage]:
    family = make_family(WORLD, {"qaa": Drift(), "qab": Drift("qaa", divergence)}, seed)
    return family["qaa"], family["qab"]


def test_no_distance_is_the_same_language():
    parent, child = pair(0.0)
    assert child.forms == parent.forms
    assert np.array_equal(child.columns, parent.columns)
    assert shared_words(parent, child) == shared_order(parent, child) == 1.0


def test_more_distance_never_brings_languages_nearer():
    pairs = [pair(divergence) for divergence in GRID]
    words = [shared_words(*both) for both in pairs]
    orders = [shared_order(*both) for both in pairs]
    assert all(np.diff(words) <= 0)
    assert all(np.diff(orders) <= 0)
    assert words[GRID.index(0.15)] > words[GRID.index(0.3)] > words[GRID.index(0.45)]
    assert orders[-1] == 0


@settings(max_examples=6, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 1000))
def test_what_a_small_distance_replaces_a_larger_one_replaces_too(
    first: float, second: float, seed: int
):
    (parent, near), (_, far) = pair(min(first, second), seed), pair(max(first, second), seed)
    for kept_near, kept_far, old in zip(near.stems, far.stems, parent.stems, strict=True):
        assert kept_far != old or kept_near == old
    moved_near = np.array(near.markings) != np.array(parent.markings)
    moved_far = np.array(far.markings) != np.array(parent.markings)
    assert not np.any(moved_near & ~moved_far)


@pytest.mark.parametrize("seed", range(2))
def test_near_daughters_share_most_words_and_far_ones_hardly_any(seed: int):
    parent, near = pair(0.15, seed)
    assert 0.72 < shared_words(parent, near) < 0.88
    assert near.script == parent.script
    parent, far = pair(0.8, seed)
    assert shared_words(parent, far) < 0.05
    assert shared_order(parent, far) < 0.5
    assert far.script != parent.script


def test_roots_of_one_world_are_strangers():
    family = make_family(WORLD, {f"qa{letter}": Drift() for letter in "abcdef"}, 1)
    languages = list(family.values())
    for index, a in enumerate(languages):
        for b in languages[:index]:
            assert shared_words(a, b) < 0.05
    assert len({language.script for language in languages}) > 1


def test_a_language_does_not_depend_on_its_sisters():
    small = make_family(WORLD, {"qaa": Drift(), "qac": Drift("qaa", 0.3)}, 4)
    large = make_family(
        WORLD,
        {"qae": Drift("qac", 0.2), "qac": Drift("qaa", 0.3), "qad": Drift(), "qaa": Drift()},
        4,
    )
    assert list(large) == ["qae", "qac", "qad", "qaa"]
    for tag, language in small.items():
        assert large[tag].forms == language.forms
        assert np.array_equal(large[tag].columns, language.columns)


def test_a_granddaughter_is_nearest_to_her_mother():
    drifts = {"qaa": Drift(), "qab": Drift("qaa", 0.25), "qac": Drift("qab", 0.25)}
    family = make_family(WORLD, drifts, 2)
    root, parent, child = family.values()
    assert shared_words(parent, child) > shared_words(root, child) > 0.2


@pytest.mark.parametrize(
    ("drifts", "says"),
    [
        *(({tag: Drift()}, "qtz") for tag in ("en", "qua", "qa", "QAA", "qaaa", "qa1", "zzz", "")),
        ({"qaa": Drift(), "qtz": Drift("qab", 0.2)}, "did you mean `qaa`"),
        ({"qaa": Drift("qac"), "qab": Drift("qaa"), "qac": Drift("qab")}, "themselves"),
        ({"qaa": Drift("qaa", 0.1)}, "themselves"),
        ({"qaa": Drift(divergence=0.2)}, "needs a parent"),
    ],
)
def test_families_that_cannot_be_are_refused(drifts: dict[str, Drift], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make_family(WORLD, drifts, 1)


FAMILY = make_family(
    World.of(7), {"qaa": Drift(), "qab": Drift("qaa", 0.15), "qac": Drift("qaa", 0.8)}, 3
)


def test_text_is_the_same_bytes_everywhere_and_always():
    digest = hashlib.sha256()
    for language in FAMILY.values():
        for document in documents(language, 200, 300):
            digest.update(repr(document).encode())
    assert digest.hexdigest()[:16] == "968aab2d3410804a"


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (17, 40), (250, 520), (256, 512), (511, 513)])
def test_any_range_equals_the_stream(start: int, stop: int):
    stream = list(itertools.islice(documents(FAMILY["qab"]), start, stop))
    assert list(documents(FAMILY["qab"], start, stop)) == stream
    assert len(stream) == stop - start


def test_translations_share_their_group_and_their_sentences():
    texts = [list(documents(language, 240, 290)) for language in FAMILY.values()]
    for row in zip(*texts, strict=True):
        assert len({document.group for document in row}) == 1
        assert [document.lang for document in row] == list(FAMILY)
        assert row[0].text.count(".") == row[1].text.count(".")
        assert len({document.text.count("\n") for document in row}) == 1
    assert len({document.id for row in texts for document in row}) == 150


def test_text_is_tidy():
    for document in documents(FAMILY["qac"], 0, 100):
        assert document.text == document.text.strip()
        assert "  " not in document.text
        assert " ." not in document.text
        assert 5 <= sum(document.text.count(stop) for stop in ".։") <= 40
