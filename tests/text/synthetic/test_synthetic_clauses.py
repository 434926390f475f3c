"""The synthetic text has the structure that makes it worth learning."""

import re
from collections import Counter

import numpy as np

from tongues.text.synthetic import Drift, World, documents, make_family
from tongues.text.synthetic.clauses import Clauses, make_block
from tongues.text.synthetic.forms import NAME, NOUN, PRONOUN, VERB, Slot
from tongues.text.synthetic.world import COPULA, HAVE

WORLD = World.of(3)


def nouns_of(rows: np.ndarray) -> set[int]:
    """Stems of the nouns and names in some clauses."""
    ids = rows[:, [Slot.S_HEAD, Slot.O_HEAD, Slot.X_HEAD]].ravel()
    names = (ids[(ids >= NAME.first_form) & (ids < NOUN.first_form)] - NAME.first_form) // 4
    nouns = (ids[(ids >= NOUN.first_form) & (ids < VERB.first_form)] - NOUN.first_form) // 16
    return set(names.tolist()) | {NAME.stems + noun for noun in nouns.tolist()}


def halves(block: Clauses) -> list[tuple[set[int], set[int]]]:
    parts = []
    for begin, end in zip(block.starts[:-1], block.starts[1:], strict=True):
        middle = (begin + end) // 2
        parts.append((nouns_of(block.slots[begin:middle]), nouns_of(block.slots[middle:end])))
    return parts


def test_the_first_half_of_a_document_foretells_its_second_half():
    parts = halves(make_block(WORLD, 0))
    own = np.mean([len(first & second) / len(second) for first, second in parts])
    others = [
        len(parts[i][0] & parts[(i + shift) % len(parts)][1])
        / len(parts[(i + shift) % len(parts)][1])
        for i in range(len(parts))
        for shift in (1, 2, 3)
    ]
    assert own > 0.25
    assert own > 5 * np.mean(others)


def test_word_frequencies_fall_as_in_natural_text():
    language = make_family(WORLD, {"qaa": Drift()}, 3)["qaa"]
    words = Counter(
        word
        for document in documents(language, 0, 2000)
        for word in re.findall(r"\w+", document.text)
    )
    counts = np.array(sorted(words.values(), reverse=True))
    ranks = np.unique(np.geomspace(10, 2000, 40).astype(int))
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)[0]
    assert -1.3 < slope < -0.7
    assert 0.03 < counts[0] / counts.sum() < 0.12


def test_facts_are_the_same_in_every_document():
    """Names have one home, one friend, ...: the same verb of fact is always told alike."""
    told: dict[tuple[int, int], set[int]] = {}
    for number in range(6):
        slots = make_block(WORLD, number).slots
        subject = slots[:, Slot.S_HEAD] - NAME.first_form
        verb = (slots[:, Slot.VERB] - VERB.first_form) // VERB.forms_per_stem
        party = np.where(slots[:, Slot.O_HEAD] > 0, slots[:, Slot.O_HEAD], slots[:, Slot.X_HEAD])
        fact = (subject >= 0) & (subject < NAME.stems * 4) & (verb <= HAVE) & (verb > COPULA)
        for name, deed, other in zip(subject[fact] // 4, verb[fact], party[fact], strict=True):
            stem = (other - NAME.first_form) // 4
            if other >= NOUN.first_form:
                stem = NAME.stems + (other - NOUN.first_form) // 16
            told.setdefault((int(name), int(deed)), set()).add(int(stem))
    repeated = Counter(len(parties) for parties in told.values())
    assert set(repeated) == {1}
    assert len(told) > 300


def test_pronouns_and_verbs_agree_with_what_was_spoken_of():
    slots = make_block(WORLD, 2).slots
    heads = slots[:, Slot.S_HEAD]
    rows = np.flatnonzero((heads >= PRONOUN.first_form) & (heads < NAME.first_form))
    pronoun = (heads[rows] - PRONOUN.first_form) // 4
    agreement = (slots[rows, Slot.VERB] - VERB.first_form) % 12
    assert np.array_equal(pronoun, agreement)
    before = (slots[rows - 1, Slot.VERB] - VERB.first_form) % 12
    assert np.array_equal(pronoun, before)
