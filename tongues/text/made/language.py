"""A made language: its words, affixes, word order and letters, and how it says a clause."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from tongues.text.made.forms import (
    ADJECTIVE,
    ADVERB,
    CLASSES,
    GROUPS,
    NAME,
    NOUN,
    PARTICLE,
    PRONOUN,
    VERB,
    Case,
    Group,
    Mark,
    Particle,
    Slot,
    Tense,
)
from tongues.text.made.meaning import Block
from tongues.text.made.sounds import SCRIPTS, Phonology
from tongues.text.made.world import World

__all__ = ["AFFIXES", "GENDERS", "MARKINGS", "ORDERS", "Language"]

ORDERS = (
    "subject before verb",
    "object before verb",
    "oblique before verb",
    "adverb before verb",
    "negation before verb",
    "auxiliary before verb",
    "article before noun",
    "numeral before noun",
    "adjective before noun",
    "owner before noun",
    "adposition before noun",
    "connective before clause",
)
MARKINGS = (
    "plural by affix",
    "object by affix",
    "oblique by affix",
    "owner by affix",
    "definiteness by affix",
    "tense by affix",
    "indefinite article",
    "verb agrees with number",
    "adjective agrees with number",
    "agreement in gender",
    "prefixes on nouns",
    "prefixes on verbs",
)
GENDERS = 4  # at most; a language spreads the classes over them
AFFIXES = (
    "plural",
    "object",
    "oblique",
    "owner",
    "definite",
    *(tense.name.lower() for tense in Tense),
    *(f"{word} {n} {g}" for word in ("verb", "adjective") for n in "sp" for g in range(GENDERS)),
)


@dataclass(frozen=True, eq=False)
class Language:
    """One language of a world; made by `make_family`.

    `stems` and `affixes` are in sounds, not yet in letters; `orders` and `markings` say
    yes or no to `ORDERS` and `MARKINGS`; `genders` gives the gender of each noun class.
    """

    tag: str
    mother: str | None
    distance: float
    world: World
    script: str
    phonology: Phonology
    stems: tuple[str, ...]
    affixes: tuple[str, ...]
    orders: tuple[bool, ...]
    markings: tuple[bool, ...]
    genders: tuple[int, ...]

    FEATURES: ClassVar[tuple[str, ...]] = (
        *(f"order: {name}" for name in ORDERS),
        *(f"marking: {name}" for name in MARKINGS),
        *(f"script: {script.name}" for script in SCRIPTS),
    )

    @cached_property
    def features(self) -> np.ndarray:
        """What kind of language this is: a 0 or 1 for each of `FEATURES`."""
        scripts = [script.name == self.script for script in SCRIPTS]
        return np.array([*self.orders, *self.markings, *scripts], dtype=float)

    @cached_property
    def forms(self) -> list[str]:
        """Spelling of every inflected form, with the space before it; "" where there is none."""
        script = next(script for script in SCRIPTS if script.name == self.script)
        words: list[str] = []
        for group in GROUPS:
            stems = self.stems[group.first_stem : group.first_stem + group.stems]
            around = self._inflections(group)
            words += [before + stem + after for stem in stems for before, after in around]
        words = script.write("\n".join(words)).split("\n")
        marks = {Mark.NOTHING: "", Mark.COMMA: ",", Mark.STOP: script.stop}
        marks[Mark.BREAK] = script.stop + "\n"
        forms = [marks[mark] for mark in Mark] + [" " + word for word in words]
        for form in range(NAME.first_form, NOUN.first_form):
            forms[form] = " " + forms[form][1:].capitalize()
        for particle in self._unused:
            forms[PARTICLE.form(particle)] = ""
        return forms

    @cached_property
    def columns(self) -> np.ndarray:
        """The slots of a clause in the order in which this language says them."""
        has: dict[str, bool] = dict(zip(ORDERS, self.orders, strict=True))

        def around(core: list[Slot], part: list[Slot], order: str) -> list[Slot]:
            return part + core if has[order] else core + part

        def phrase(first: Slot) -> list[Slot]:
            article, numeral, adjective, head, owner, of = (Slot(first + i) for i in range(6))
            owner_phrase = around([owner], [of], "adposition before noun")
            whole = around([head], [adjective], "adjective before noun")
            whole = around(whole, [numeral], "numeral before noun")
            whole = around(whole, owner_phrase, "owner before noun")
            return around(whole, [article], "article before noun")

        further = around([Slot.X_HEAD], [Slot.X_ADJECTIVE], "adjective before noun")
        further = around(further, [Slot.X_ARTICLE], "article before noun")
        further = around(further, [Slot.ADPOSITION], "adposition before noun")
        clause = around([Slot.VERB], [Slot.AUXILIARY], "auxiliary before verb")
        clause = around(clause, [Slot.NEGATION], "negation before verb")
        clause = around(clause, phrase(Slot.O_ARTICLE), "object before verb")
        clause = around(clause, further, "oblique before verb")
        clause = around(clause, [Slot.ADVERB], "adverb before verb")
        clause = around(clause, phrase(Slot.S_ARTICLE), "subject before verb")
        clause = around(clause, [Slot.CONNECTIVE], "connective before clause")
        return np.array([*clause, Slot.STOP])

    def say(self, block: Block, start: int = 0, stop: int | None = None) -> list[str]:
        """Put documents `start` to `stop` of a block into words."""
        bounds = block.starts[start : None if stop is None else stop + 1]
        ids = block.slots[bounds[0] : bounds[-1]][:, self.columns]
        said = self._said[ids]
        ends = np.cumsum(said.sum(axis=1))[bounds[1:] - bounds[0] - 1].tolist()
        words = list(map(self.forms.__getitem__, ids[said].tolist()))
        begins = [0, *ends[:-1]]
        texts = ("".join(words[a:b]) for a, b in zip(begins, ends, strict=True))
        return [text[1:].replace("\n ", "\n") for text in texts]

    @cached_property
    def _said(self) -> np.ndarray:
        return np.array([bool(form) for form in self.forms])

    def _marks(self, name: str) -> bool:
        return self.markings[MARKINGS.index(name)]

    @property
    def _unused(self) -> list[Particle]:
        """Particles this language does without, mostly because an affix says the same."""
        unused = []
        if self._marks("definiteness by affix"):
            unused.append(Particle.THE)
        if not self._marks("indefinite article"):
            unused.append(Particle.A)
        if self._marks("owner by affix"):
            unused.append(Particle.OF)
        if self._marks("tense by affix"):
            unused += [Particle.DID, Particle.WILL]
        return unused

    def _inflections(self, group: Group) -> list[tuple[str, str]]:
        """What goes before and after a stem, for each of its forms in their order."""
        affix = dict(zip(AFFIXES, self.affixes, strict=True))

        def if_marked(marking: str, text: str) -> str:
            return text if self._marks(marking) else ""

        cases = {
            Case.SUBJECT: "",
            Case.OBJECT: if_marked("object by affix", affix["object"]),
            Case.OBLIQUE: if_marked("oblique by affix", affix["oblique"]),
            Case.OWNER: if_marked("owner by affix", affix["owner"]),
        }

        def agreement(word: str, noun_class: int, plural: int) -> str:
            gender = self.genders[noun_class] if self._marks("agreement in gender") else 0
            return if_marked(f"{word} agrees with number", affix[f"{word} {'sp'[plural]} {gender}"])

        classes = range(len(CLASSES))
        if group in (PARTICLE, ADVERB):
            return [("", "")]
        if group is VERB:
            tenses = [if_marked("tense by affix", affix[tense.name.lower()]) for tense in Tense]
            chains = [
                [tense, agreement("verb", c, n)] for tense, c, n in product(tenses, classes, (0, 1))
            ]
            return _attach(chains, self._marks("prefixes on verbs"))
        if group is ADJECTIVE:
            chains = [[agreement("adjective", c, n)] for c, n in product(classes, (0, 1))]
        elif group is NOUN:
            plural = if_marked("plural by affix", affix["plural"])
            definite = if_marked("definiteness by affix", affix["definite"])
            chains = [
                [plural * n, cases[case], definite * known]
                for n, case, known in product((0, 1), Case, (0, 1))
            ]
        else:
            assert group in (NAME, PRONOUN)
            chains = [[cases[case]] for case in Case]
        return _attach(chains, self._marks("prefixes on nouns"))


def _attach(chains: list[list[str]], before: bool) -> list[tuple[str, str]]:
    """Affixes in their order outwards from the stem, all on one side of it."""
    if before:
        return [("".join(reversed(chain)), "") for chain in chains]
    return [("", "".join(chain)) for chain in chains]
