"""Words in pieces stay what byte-pair encoding makes of them, and the counts stay right."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from tongues.tokens.merges import Segmentation

LETTERS = "abc"


@given(words=st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1), data=st.data())
@settings(deadline=None, max_examples=200)
def test_pieces_and_counts_follow_every_merge(words: list[str], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(words), max_size=len(words)))
    vocabulary = {letter: number for number, letter in enumerate(LETTERS)}
    merges: list[tuple[str, str]] = []
    passed: set[tuple[int, int]] = set()
    segmentation = Segmentation([[vocabulary[x] for x in word] for word in words], weights, {})
    for _ in range(12):
        counts = Counter()
        for word, weight in zip(segmentation.words, weights, strict=True):
            for pair in pairwise(word):
                counts[pair] += weight
        heaviest = segmentation.heaviest()
        if heaviest is None:
            assert passed.issuperset(+counts)
            break
        pair, count = heaviest
        assert count == counts[pair]
        assert passed.issuperset(other for other in counts if counts[other] > count)
        if data.draw(st.booleans()):  # a pair may be left as it is
            passed.add(pair)
            continue
        names = list(vocabulary)
        merges.append((names[pair[0]], names[pair[1]]))
        piece = vocabulary.setdefault("".join(merges[-1]), len(vocabulary))
        segmentation.merge(pair, piece)
        model = models.BPE(vocab=vocabulary, merges=merges)
        theirs = [[token.id for token in model.tokenize(word)] for word in words]
        assert segmentation.words == theirs


def test_the_earlier_merges_go_on_applying() -> None:
    segmentation = Segmentation([[0, 1, 2]], [1], {(3, 2): 4})  # ab + c was learned before
    segmentation.merge((0, 1), 3)
    assert segmentation.words == [[4]]


def test_a_word_may_be_made_whole() -> None:
    segmentation = Segmentation([[0, 1, 2], [0, 1]], [5, 2], {})
    segmentation.make_whole(0, 9)
    assert segmentation.words == [[9], [0, 1]]
    assert segmentation.heaviest() == ((0, 1), 2)
