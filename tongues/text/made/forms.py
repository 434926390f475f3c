"""What a made sentence is made of: slots, and inflected forms numbered alike in every language."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

__all__ = [
    "ADJECTIVE",
    "ADPOSITIONS",
    "ADVERB",
    "CLASSES",
    "CONJUNCTIONS",
    "CONNECTIVES",
    "FORMS",
    "GROUPS",
    "NAME",
    "NOUN",
    "NUMERALS",
    "PARTICLE",
    "PRONOUN",
    "STEMS",
    "VERB",
    "Case",
    "Group",
    "Mark",
    "Particle",
    "Slot",
    "Tense",
]

CLASSES = ("person", "animal", "food", "thing", "place", "idea")


class Slot(IntEnum):
    """The places of a clause; each holds one form or nothing. A language decides their order."""

    CONNECTIVE = 0
    S_ARTICLE = 1
    S_NUMERAL = 2
    S_ADJECTIVE = 3
    S_HEAD = 4
    S_OWNER = 5
    S_OF = 6
    NEGATION = 7
    AUXILIARY = 8
    VERB = 9
    O_ARTICLE = 10
    O_NUMERAL = 11
    O_ADJECTIVE = 12
    O_HEAD = 13
    O_OWNER = 14
    O_OF = 15
    ADPOSITION = 16
    X_ARTICLE = 17
    X_ADJECTIVE = 18
    X_HEAD = 19
    ADVERB = 20
    STOP = 21


class Mark(IntEnum):
    """The forms that are no words."""

    NOTHING = 0
    COMMA = 1
    STOP = 2
    BREAK = 3


class Case(IntEnum):
    """The part a noun plays in its clause."""

    SUBJECT = 0
    OBJECT = 1
    OBLIQUE = 2
    OWNER = 3


class Tense(IntEnum):
    """When a clause happens."""

    PAST = 0
    PRESENT = 1
    FUTURE = 2


class Particle(IntEnum):
    """The grammatical words; some languages say the same with an affix."""

    THE = 0
    A = 1
    THIS = 2
    OF = 3
    NOT = 4
    DID = 5
    WILL = 6


NUMERALS, ADPOSITIONS, CONJUNCTIONS, CONNECTIVES = (
    range(7, 17),
    range(17, 29),
    range(29, 39),
    range(39, 51),
)


@dataclass(frozen=True, slots=True)
class Group:
    """One part of speech: so many stems, each with one form per combination of inflections."""

    name: str
    stems: int
    inflections: tuple[int, ...]
    first_stem: int
    first_form: int

    @property
    def forms_per_stem(self) -> int:
        """How many inflected forms a stem has."""
        count = 1
        for size in self.inflections:
            count *= size
        return count

    def form(self, stem: Any, *inflection: Any) -> Any:
        """Number of an inflected form; works on whole arrays of stems and inflections."""
        index = stem
        for size, value in zip(self.inflections, inflection, strict=True):
            index = index * size + value
        return self.first_form + index


def _lay_out(*groups: tuple[str, int, tuple[int, ...]]) -> tuple[Group, ...]:
    laid, stem, form = [], 0, len(Mark)
    for name, stems, inflections in groups:
        group = Group(name, stems, inflections, stem, form)
        laid.append(group)
        stem, form = stem + stems, form + stems * group.forms_per_stem
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
