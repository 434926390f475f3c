"""Byte-pair encoding while it is trained: words as tokens, and the counts of adjacent pairs."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]


class Segmentation:
    """Weighted words as tokens by a list of merges, to which merges are added.

    words: the tokens of each word; changed as merges are added. weights: how much each word counts.
    merges: the token that each pair becomes, in the order in which they are applied.
    """

    def __init__(
        self, words: list[list[int]], weights: Sequence[int], merges: Mapping[Pair, int]
    ) -> None:
        self.words = words
        self._weights = weights
        self._merged = dict(merges)
        self._rank = {pair: rank for rank, pair in enumerate(merges)}
        self._counts: defaultdict[Pair, int] = defaultdict(int)
        self._where: defaultdict[Pair, list[int]] = defaultdict(list)
        self._grown: set[Pair] = set()
        self._heap: list[tuple[int, Pair]] = []
        self._wholes: list[tuple[int, int]] = []
        for number, word in enumerate(words):
            for pair in pairwise(word):
                self._add(pair, number)
        self._push()

    def heaviest(self) -> tuple[Pair, int] | None:
        """The most frequent adjacent pair, and its weight."""
        while self._heap:
            negative, pair = self._heap[0]
            count = self._counts[pair]
            if count == -negative > 0:
                return pair, count
            heapq.heappop(self._heap)
            if count > 0:
                heapq.heappush(self._heap, (-count, pair))
        return None

    def skip(self) -> None:
        """Skip the heaviest pair."""
        heapq.heappop(self._heap)

    def offer(self, numbers: Iterable[int]) -> None:
        """Words that may become one token, by their numbers."""
        self._wholes = [(-self._saved(number), number) for number in numbers]
        heapq.heapify(self._wholes)

    def heaviest_word(self) -> tuple[int, int] | None:
        """The offered word that saves most tokens by becoming one, and how much it saves."""
        while self._wholes:
            negative, number = self._wholes[0]
            saved = self._saved(number)
            if saved == -negative > 0:
                return number, saved
            heapq.heappop(self._wholes)
            if saved > 0:  # merges have shortened it meanwhile
                heapq.heappush(self._wholes, (-saved, number))
        return None

    def merge(self, pair: Pair, token: int) -> None:
        """Make `pair` into `token` wherever the earlier merges leave it adjacent."""
        self._rank[pair] = len(self._rank)
        self._merged[pair] = token
        for number in self._where.pop(pair):
            self._settle(number)
        self._push()

    def make_whole(self, number: int, token: int) -> None:
        """Make a word one token, whatever the merges are."""
        word, weight = self.words[number], self._weights[number]
        for pair in pairwise(word):
            self._counts[pair] -= weight
        word[:] = [token]

    def _saved(self, number: int) -> int:
        return (len(self.words[number]) - 1) * self._weights[number]

    def _settle(self, number: int) -> None:
        """Apply the merges to a word: always the earliest, and of that the leftmost."""
        word, rank = self.words[number], self._rank
        while True:
            known = [(rank[pair], i) for i, pair in enumerate(pairwise(word)) if pair in rank]
            if not known:
                return
            self._join(number, min(known)[1])

    def _join(self, number: int, place: int) -> None:
        word, weight, counts = self.words[number], self._weights[number], self._counts
        left, right = word[place], word[place + 1]
        token = self._merged[left, right]
        counts[left, right] -= weight
        if place > 0:
            counts[word[place - 1], left] -= weight
            self._add((word[place - 1], token), number)
        if place + 2 < len(word):
            counts[right, word[place + 2]] -= weight
            self._add((token, word[place + 2]), number)
        word[place : place + 2] = [token]

    def _add(self, pair: Pair, number: int) -> None:
        self._counts[pair] += self._weights[number]
        self._where[pair].append(number)
        self._grown.add(pair)

    def _push(self) -> None:
        for pair in self._grown:
            heapq.heappush(self._heap, (-self._counts[pair], pair))
        self._grown.clear()
