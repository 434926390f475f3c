import hashlib
import itertools
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.core.errors import UserError
from tongues.text.synthetic import (
    Drift,
    SyntheticLanguage,
    World,
    documents,
    make_family,
    shared_order,
    shared_words,
)
from tongues.text.synthetic.clauses import Clauses, make_block
from tongues.text.synthetic.forms import (
    NAME,
    NOUN,
    PARTICLE,
    PRONOUN,
    VERB,
    Case,
    Mark,
    Particle,
    Slot,
    Tense,
)
from tongues.text.synthetic.language import MARKINGS, ORDERS
from tongues.text.synthetic.world import COPULA, HAVE

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


LANGUAGE = make_family(World.of(2), {"qaa": Drift()}, 1)["qaa"]


def with_choices(orders: dict[str, bool], markings: dict[str, bool]) -> SyntheticLanguage:
    """The language with some choices made and all others denied."""
    return replace(
        LANGUAGE,
        script="Latin",
        orders=tuple(orders.get(name, False) for name in ORDERS),
        markings=tuple(markings.get(name, False) for name in MARKINGS),
    )


def one_clause() -> Clauses:
    """`The 1st noun did 9th verb the 2nd nouns.`"""
    slots = np.zeros((1, len(Slot)), dtype=np.int32)
    slots[0, Slot.S_ARTICLE] = slots[0, Slot.O_ARTICLE] = PARTICLE.form(Particle.THE)
    slots[0, Slot.S_HEAD] = NOUN.form(1, 0, Case.SUBJECT, 1)
    slots[0, Slot.O_HEAD] = NOUN.form(2, 1, Case.OBJECT, 1)
    slots[0, Slot.AUXILIARY] = PARTICLE.form(Particle.DID)
    slots[0, Slot.VERB] = VERB.form(9, Tense.PAST, 0, 0)
    slots[0, Slot.STOP] = Mark.STOP
    return Clauses(slots, np.array([0, 1]))


def stem(index: int) -> str:
    return LANGUAGE.stems[index]


def test_word_order_and_particles():
    the, did = (stem(PARTICLE.first_stem + word) for word in (Particle.THE, Particle.DID))
    first, second = stem(NOUN.first_stem + 1), stem(NOUN.first_stem + 2)
    verb = stem(VERB.first_stem + 9)
    bare = with_choices({}, {})
    assert bare.say(one_clause()) == [f"{verb} {did} {second} {the} {first} {the}."]
    svo = with_choices(
        {"subject before verb": True, "article before noun": True, "auxiliary before verb": True},
        {},
    )
    assert svo.say(one_clause()) == [f"{the} {first} {did} {verb} {the} {second}."]


@pytest.mark.parametrize("prefixed", [False, True])
def test_affixes_stand_in_for_particles(prefixed: bool):
    affix = dict(
        zip(("plural", "object", "oblique", "owner", "definite"), LANGUAGE.affixes, strict=False)
    )
    marks = ("plural", "object", "definiteness")
    markings = dict.fromkeys([f"{name} by affix" for name in marks], True)
    language = with_choices({}, markings | {"prefixes on nouns": prefixed})
    first, second = stem(NOUN.first_stem + 1), stem(NOUN.first_stem + 2)
    chain = [affix["plural"], affix["object"], affix["definite"]]
    if prefixed:
        first, second = affix["definite"] + first, "".join(reversed(chain)) + second
    else:
        first, second = first + affix["definite"], second + "".join(chain)
    verb, did = stem(VERB.first_stem + 9), stem(PARTICLE.first_stem + Particle.DID)
    assert language.say(one_clause()) == [f"{verb} {did} {second} {first}."]


def test_verbs_agree_with_the_gender_and_number_of_their_subject():
    agreeing = with_choices(
        {}, {"verb agrees with number": True, "agreement in gender": True, "tense by affix": True}
    )
    forms = agreeing.forms
    for a in range(6):
        for b in range(6):
            alike = forms[VERB.form(9, 0, a, 0)] == forms[VERB.form(9, 0, b, 0)]
            assert alike == (agreeing.genders[a] == agreeing.genders[b])
        assert forms[VERB.form(9, 0, a, 0)] != forms[VERB.form(9, 0, a, 1)]


def test_every_clause_slot_is_said_once():
    everything: dict[str, bool] = dict.fromkeys(ORDERS, True)
    for orders in ({}, everything):
        columns = with_choices(orders, {}).columns
        assert sorted(columns) == list(range(len(Slot)))
        assert columns[-1] == Slot.STOP


OTHER_WORLD = World.of(3)


def test_word_frequencies_fall_as_in_natural_text():
    language = make_family(OTHER_WORLD, {"qaa": Drift()}, 3)["qaa"]
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
        slots = make_block(OTHER_WORLD, number).slots
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
    slots = make_block(OTHER_WORLD, 2).slots
    heads = slots[:, Slot.S_HEAD]
    rows = np.flatnonzero((heads >= PRONOUN.first_form) & (heads < NAME.first_form))
    pronoun = (heads[rows] - PRONOUN.first_form) // 4
    agreement = (slots[rows, Slot.VERB] - VERB.first_form) % 12
    assert np.array_equal(pronoun, agreement)
    before = (slots[rows - 1, Slot.VERB] - VERB.first_form) % 12
    assert np.array_equal(pronoun, before)
