import itertools

import pytest

from tongues.errors import UserError
from tongues.text.synthetic import Drift, World, documents, make_family, parallel

FAMILY = make_family(
    World.of(7), {"qaa": Drift(), "qab": Drift("qaa", 0.15), "qac": Drift("qaa", 0.8)}, 3
)


def test_same_seeds_same_text():
    again = make_family(World.of(7), {"qaa": Drift()}, 3)["qaa"]
    assert list(documents(FAMILY["qaa"], 0, 300)) == list(documents(again, 0, 300))


def test_other_seeds_other_text():
    first = next(documents(FAMILY["qaa"])).text
    for world, seed in ((8, 3), (7, 4)):
        other = make_family(World.of(world), {"qaa": Drift()}, seed)["qaa"]
        assert next(documents(other)).text != first


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (17, 40), (250, 520), (256, 512), (511, 513)])
def test_any_range_equals_the_stream(start: int, stop: int):
    stream = list(itertools.islice(documents(FAMILY["qab"]), start, stop))
    assert list(documents(FAMILY["qab"], start, stop)) == stream
    assert len(stream) == stop - start


def test_an_empty_range_is_empty():
    assert list(documents(FAMILY["qaa"], 5, 5)) == []
    assert list(documents(FAMILY["qaa"], 256, 256)) == []
    assert list(documents(FAMILY["qaa"], 600, 3)) == []


def test_translations_share_their_group_and_nothing_else_does():
    rows = list(parallel(list(FAMILY.values()), 200, 320))
    assert len(rows) == 120
    for row in rows:
        assert len({document.group for document in row}) == 1
        assert [document.lang for document in row] == list(FAMILY)
        assert {document.source for document in row} == {"synthetic"}
    assert len({row[0].group for row in rows}) == 120
    assert len({document.id for row in rows for document in row}) == 360
    assert [row[1] for row in rows] == list(documents(FAMILY["qab"], 200, 320))


def test_translations_have_the_same_sentences():
    for parent, child, _ in parallel(list(FAMILY.values()), 0, 50):
        assert parent.text.count(".") == child.text.count(".")
        assert parent.text.count("\n") == child.text.count("\n")


def test_text_is_tidy():
    for document in documents(FAMILY["qac"], 0, 100):
        assert document.text == document.text.strip()
        assert "  " not in document.text
        assert " ." not in document.text
        assert 5 <= sum(document.text.count(stop) for stop in ".։") <= 40


def test_languages_of_two_worlds_are_never_parallel():
    other = make_family(World.of(8), {"qaa": Drift()}, 3)["qaa"]
    with pytest.raises(UserError, match="one world"):
        next(parallel([FAMILY["qaa"], other], 0, 1))


def test_documents_are_numbered_from_nought():
    with pytest.raises(UserError, match="numbered from 0"):
        next(documents(FAMILY["qaa"], -1))
