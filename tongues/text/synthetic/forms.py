"""Slots of a synthetic sentence, and inflected forms, numbered the same in every language."""

from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Any

CLASSES = ("person", "animal", "food", "thing", "place", "idea")


class Slot(IntEnum):
    """The places of a clause; each holds one form or nothing. A language decides their order."""

    CONNECTIVE = 0
    S_ARTICLE, S_NUMERAL, S_ADJECTIVE, S_HEAD, S_OWNER, S_OF = range(1, 7)
    NEGATION, AUXILIARY, VERB = range(7, 10)
    O_ARTICLE, O_NUMERAL, O_ADJECTIVE, O_HEAD, O_OWNER, O_OF = range(10, 16)
    ADPOSITION, X_ARTICLE, X_ADJECTIVE, X_HEAD, ADVERB, STOP = range(16, 22)


class Mark(IntEnum):
    """The forms that are punctuation."""

    NOTHING, COMMA, STOP, BREAK = range(4)


class Case(IntEnum):
    """The part a noun plays in its clause."""

    SUBJECT, OBJECT, OBLIQUE, OWNER = range(4)


class Tense(IntEnum):
    """When a clause happens."""

    PAST, PRESENT, FUTURE = range(3)


class Particle(IntEnum):
    """The grammatical words; some languages say the same with an affix."""

    THE, A, THIS, OF, NOT, DID, WILL = range(7)


# Their numbers among the particles, after those of `Particle`; how many is chosen.
NUMERALS, ADPOSITIONS = range(7, 17), range(17, 29)
# Conjunctions join the clauses of a sentence, connectives sentences.
CONJUNCTIONS, CONNECTIVES = range(29, 39), range(39, 51)


@dataclass(frozen=True, slots=True)
class Group:
    """One part of speech: stems, each with one form per combination of inflections."""

    name: str
    stems: int
    inflections: tuple[int, ...]
    first_stem: int
    first_form: int

    @property
    def forms_per_stem(self) -> int:
        """How many inflected forms a stem has."""
        return prod(self.inflections)

    def form(self, stem: Any, *inflection: Any) -> Any:
        """Number of an inflected form; works on whole arrays of stems and inflections."""
        index = stem
        for size, value in zip(self.inflections, inflection, strict=True):
            index = index * size + value
        return self.first_form + index


def _lay_out(*groups: tuple[str, int, tuple[int, ...]]) -> tuple[Group, ...]:
    laid, stem, form = [], 0, len(Mark)
    for name, stems, inflections in groups:
        laid.append(Group(name, stems, inflections, stem, form))
        stem, form = stem + stems, form + stems * prod(inflections)
    return tuple(laid)


GROUPS = _lay_out(
    ("particle", CONNECTIVES.stop, ()),
    ("pronoun", len(CLASSES) * 2, (len(Case),)),  # stem: class, number
    ("name", 1500, (len(Case),)),
    ("noun", 1500, (2, len(Case), 2)),  # number, case, definiteness
    ("verb", 500, (len(Tense), len(CLASSES), 2)),  # tense, class and number of the subject
    ("adjective", 400, (len(CLASSES), 2)),  # class and number of the noun
    ("adverb", 80, ()),
)
PARTICLE, PRONOUN, NAME, NOUN, VERB, ADJECTIVE, ADVERB = GROUPS
STEMS = sum(group.stems for group in GROUPS)
FORMS = len(Mark) + sum(group.stems * group.forms_per_stem for group in GROUPS)
