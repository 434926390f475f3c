from dataclasses import replace

import numpy as np
import pytest

from tongues.text.synthetic import Drift, SyntheticLanguage, World, make_family
from tongues.text.synthetic.clauses import Clauses
from tongues.text.synthetic.forms import NOUN, PARTICLE, VERB, Case, Mark, Particle, Slot, Tense
from tongues.text.synthetic.language import MARKINGS, ORDERS

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


def test_frequent_words_are_short():
    counts = np.array([len(word) for word in LANGUAGE.stems])
    assert counts[: PARTICLE.stems].mean() + 2 < counts[NOUN.first_stem :].mean()
    assert len(set(LANGUAGE.stems)) == len(LANGUAGE.stems)
