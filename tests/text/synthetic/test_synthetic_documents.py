import hashlib
import itertools

import pytest

from tongues.text.synthetic import Drift, World, documents, make_family

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
