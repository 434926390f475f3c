"""Sounds of synthetic languages: how words are built, how sounds change, and their script."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tongues.core.beside import read_beside

_VOWELS = "aeiouy"
_CONSONANTS = "tnrslkmpdgbvhfzjxw"


@dataclass(frozen=True, slots=True)
class Script:
    """Letters for the 24 sounds, in the order `aeiouy` + `tnrslkmpdgbvhfzjxw`, and a full stop."""

    name: str
    letters: str
    stop: str

    def write(self, words: str) -> str:
        """Spell sounds in this script; other characters are unchanged."""
        return words.translate(str.maketrans(_VOWELS + _CONSONANTS, self.letters))


_TABLE = read_beside(__file__, "language.toml")
SCRIPTS = tuple(Script(**each) for each in _TABLE["scripts"])


@dataclass(frozen=True, slots=True)
class Phonology:
    """The syllables a language builds its words from, with their shares."""

    syllables: tuple[str, ...]
    shares: tuple[float, ...]

    def coin(
        self, rng: np.random.Generator, lengths: Sequence[int], taken: Iterable[str]
    ) -> tuple[str, ...]:
        """Make words of `lengths` syllables that are not in `taken`."""
        seen, words = set(taken), []
        shares = np.array(self.shares)
        pool = iter(rng.choice(len(shares), size=(8 * len(lengths), 5), p=shares).tolist())
        for length in lengths:
            for attempt, row in enumerate(pool):
                word = "".join(self.syllables[index] for index in row[: length + attempt // 4])
                if word not in seen:
                    break
            else:
                raise ValueError("too few syllables for the number of words")
            seen.add(word)
            words.append(word)
        return tuple(words)

    def coin_affixes(
        self, rng: np.random.Generator, count: int, taken: Iterable[str]
    ) -> tuple[str, ...]:
        """Make new affixes of one or two sounds, none of them `taken`."""
        short = {s[i:] for s in self.syllables for i in range(len(s))}
        free = sorted(text for text in short if 0 < len(text) <= 2 and set(text) & set(_VOWELS))
        free = [text for text in free if text not in set(taken)]
        return tuple(str(free[i]) for i in rng.permutation(len(free))[:count])


def draw_phonology(rng: np.random.Generator) -> Phonology:
    """Draw the syllables of a new language."""
    vowels = rng.permutation(list(_VOWELS))[: rng.integers(4, 7)]
    consonants = rng.permutation(list(_CONSONANTS))[: rng.integers(11, 16)]
    onsets, codas = consonants, ["", "", *rng.permutation(consonants)[: rng.integers(2, 6)]]
    liquids = [sound for sound in consonants if sound in "rl"]
    clusters = [a + b for a in consonants if a in "ptkbdgfs" for b in liquids]
    starts = ["", *onsets, *rng.permutation(clusters)[: rng.integers(0, 5)]]
    syllables = sorted({a + v + c for a in starts for v in vowels for c in codas})
    kept = rng.permutation(syllables)[:260]
    shares = 1 / (np.arange(len(kept)) + 30.0)
    return Phonology(tuple(map(str, kept)), tuple((shares / np.cumsum(shares)[-1]).tolist()))


# Every change goes from an earlier to a later sound of these chains, so that no series of
# changes leads back: what has changed once stays different.
_CHAINS = "pbvw pfh tdz tsxh kgx kx mn rlj zj uoaei yi"
_PAIRS = sorted({(old, new) for chain in _CHAINS.split() for old, new in pairwise(chain)})
_PLACES: dict[str, str] = _TABLE["places"]


@dataclass(frozen=True, slots=True)
class Change:
    """A regular sound change: `old` becomes `new` at a place in the word."""

    old: str
    new: str
    place: str

    def apply(self, words: Iterable[str]) -> tuple[str, ...]:
        """Change all words."""
        pattern = re.compile(_PLACES[self.place].format(self.old), re.MULTILINE)
        return tuple(pattern.sub(self.new, "\n".join(words)).split("\n"))


def draw_changes(rng: np.random.Generator, count: int) -> tuple[Change, ...]:
    """Draw changes in the order in which they happen."""
    pairs = rng.permutation(len(_PAIRS))[:count]
    places = rng.choice(list(_PLACES), count)
    rows = zip([_PAIRS[pair] for pair in pairs.tolist()], places, strict=True)
    return tuple(Change(old, new, str(place)) for (old, new), place in rows)
