import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.text.signals.units import runs_of_units, units, whole_texts


@pytest.mark.parametrize(("text", "count"), inputs("units").items())
def test_units_are_words_where_words_are_spaced_and_characters_elsewhere(
    text: str, count: int
) -> None:
    assert units([text]).counts.tolist() == [count]


def test_capitals_and_what_stands_between_make_no_difference() -> None:
    shouted = units(["IN THE BEGINNING", "ΛΌΓΟΣ ΉΤΑΝ", "СЛОВО"])
    said = units(["in — the: (beginning)!", "λόγοσ, ήταν", "«слово»"])
    assert shouted.hashes.tolist() == said.hashes.tolist()


def test_the_order_of_letters_makes_a_difference() -> None:
    words = ["abc", "acb", "bac", "bca", "cab", "cba", "ab", "aab", "abb", "a", "aa", "aaa"]
    assert len(set(units(words).hashes.tolist())) == len(words)


def test_a_text_without_units_is_itself() -> None:
    found = units(["", "...", "!!!", "a", "...", ""])
    assert found.counts.tolist() == [1] * 6
    empty, dots, marks, letter, again, last = found.hashes.tolist()
    assert (dots, empty) == (again, last)
    assert len({empty, dots, marks, letter}) == 4


WORDS = st.text(st.characters(categories=["Ll", "Lo", "Mn", "Nd", "Po", "Zs"]), max_size=30)


@given(st.lists(WORDS, max_size=8))
def test_a_text_has_the_same_units_alone_and_among_others(texts: list[str]) -> None:
    together = units(texts)
    alone = [units([text]).hashes.tolist() for text in texts]
    assert together.hashes.tolist() == [number for numbers in alone for number in numbers]
    assert together.counts.tolist() == [len(numbers) for numbers in alone]


def test_texts_longer_than_a_block_are_cut_like_short_ones() -> None:
    long = "one two three " * 30_000
    found = units(["before", long, "after"])
    assert found.counts.tolist() == [1, 90_000, 1]
    assert found.hashes[1:91].tolist() == units([long[:420]]).hashes.tolist()
    assert found.hashes[-91:-1].tolist() == found.hashes[1:91].tolist()


def test_no_texts_have_no_units() -> None:
    assert units([]).hashes.tolist() == []
    assert units([]).begins.tolist() == [0]


@given(st.lists(st.text("ab .", max_size=20), max_size=8), st.integers(1, 5))
def test_runs_are_the_same_where_the_words_are(texts: list[str], length: int) -> None:
    cut = units(texts)
    runs, begins = runs_of_units(cut, length)
    seen: dict[tuple[int, ...], int] = {}
    for i in range(len(texts)):
        words = cut.hashes[cut.begins[i] : cut.begins[i + 1]].tolist()
        own = [tuple(words[k : k + length]) for k in range(len(words) - length + 1)]
        assert begins[i + 1] - begins[i] == len(own)
        for words_of_run, run in zip(own, runs[begins[i] :].tolist(), strict=False):
            assert seen.setdefault(words_of_run, run) == run
    assert len(set(seen.values())) == len(seen)
    exact = [text for text, count in zip(texts, cut.counts, strict=True) if count == length]
    assert whole_texts(cut, length).tolist() == runs_of_units(units(exact), length)[0].tolist()


def test_a_word_that_lies_in_two_blocks_is_the_same_word() -> None:
    gap, word = " " * (2**18 - 3), "größer"
    alone = units([word]).hashes.tolist()
    assert units([gap + word]).hashes.tolist() == alone
    assert units([gap * 3 + word + " one"]).hashes.tolist() == units([word, "one"]).hashes.tolist()


def test_long_texts_of_different_lengths_leave_nothing_behind() -> None:
    units(["warm"])
    tracemalloc.start()
    for size in (500_000, 600_000, 700_000):
        units(["word " * (size // 5)])
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 1_000_000
