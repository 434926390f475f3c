"""A synthetic language: its words, affixes, word order and letters, and how it says documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product

import numpy as np

from tongues.core.beside import read_beside
from tongues.text.document import Document
from tongues.text.synthetic import forms as f
from tongues.text.synthetic.clauses import DOCUMENTS_PER_BLOCK, Clauses, make_block
from tongues.text.synthetic.forms import CLASSES, Case, Group, Mark, Particle, Slot, Tense
from tongues.text.synthetic.sounds import SCRIPTS, Phonology
from tongues.text.synthetic.world import World

_TABLES = read_beside(__file__, "language.toml")
ORDERS, MARKINGS, AFFIXES = (tuple(_TABLES[name]) for name in ("orders", "markings", "affixes"))
GENDERS = 4  # at most; a language spreads the classes over them


@dataclass(frozen=True, eq=False)
class SyntheticLanguage:
    """A language of a world; `make_family` makes it.

    `stems` and `affixes` are in sounds, not yet in letters; `orders` and `markings` say
    yes or no to `ORDERS` and `MARKINGS`; `genders` gives the gender of each noun class.
    """

    tag: str
    world: World
    script: str
    phonology: Phonology
    stems: tuple[str, ...]
    affixes: tuple[str, ...]
    orders: tuple[bool, ...]
    markings: tuple[bool, ...]
    genders: tuple[int, ...]

    @cached_property
    def forms(self) -> list[str]:
        """Spelling of every inflected form, with the space before it; "" where there is none."""
        script = next(script for script in SCRIPTS if script.name == self.script)
        words: list[str] = []
        for group in f.GROUPS:
            stems = self.stems[group.first_stem : group.first_stem + group.stems]
            around = self._inflections(group)
            words += [before + stem + after for stem in stems for before, after in around]
        words = script.write("\n".join(words)).split("\n")
        marks = {Mark.NOTHING: "", Mark.COMMA: ",", Mark.STOP: script.stop}
        marks[Mark.BREAK] = script.stop + "\n"
        forms = [marks[mark] for mark in Mark] + [" " + word for word in words]
        for form in range(f.NAME.first_form, f.NOUN.first_form):
            forms[form] = " " + forms[form][1:].capitalize()
        # an affix says the same as these particles, or nothing does
        unused = [Particle.THE] if self._marks("definiteness by affix") else []
        unused += [] if self._marks("indefinite article") else [Particle.A]
        unused += [Particle.OF] if self._marks("owner by affix") else []
        unused += [Particle.DID, Particle.WILL] if self._marks("tense by affix") else []
        for particle in unused:
            forms[f.PARTICLE.form(particle)] = ""
        return forms

    @cached_property
    def columns(self) -> np.ndarray:
        """The slots of a clause in the order in which this language says them."""
        has: dict[str, bool] = dict(zip(ORDERS, self.orders, strict=True))

        def around(core: list[Slot], whole: str, **parts: list[Slot]) -> list[Slot]:
            for name, part in parts.items():
                core = part + core if has[f"{name} before {whole}"] else core + part
            return core

        def phrase(first: Slot) -> list[Slot]:
            article, numeral, adjective, head, owner, of = ([Slot(first + i)] for i in range(6))
            owner = around(owner, "noun", adposition=of)
            parts = {"adjective": adjective, "numeral": numeral, "owner": owner, "article": article}
            return around(head, "noun", **parts)

        parts = {"adjective": [Slot.X_ADJECTIVE], "article": [Slot.X_ARTICLE]}
        further = around([Slot.X_HEAD], "noun", **parts, adposition=[Slot.ADPOSITION])
        clause = around(
            [Slot.VERB],
            "verb",
            auxiliary=[Slot.AUXILIARY],
            negation=[Slot.NEGATION],
            object=phrase(Slot.O_ARTICLE),
            oblique=further,
            adverb=[Slot.ADVERB],
            subject=phrase(Slot.S_ARTICLE),
        )
        return np.array([*around(clause, "clause", connective=[Slot.CONNECTIVE]), Slot.STOP])

    def say(self, block: Clauses, start: int = 0, stop: int | None = None) -> list[str]:
        """Put documents `start` to `stop` of a block into words."""
        bounds = block.starts[start : None if stop is None else stop + 1]
        ids = block.slots[bounds[0] : bounds[-1]][:, self.columns]
        is_word = self._is_word[ids]
        ends = np.cumsum(is_word.sum(axis=1))[bounds[1:] - bounds[0] - 1].tolist()
        words = list(map(self.forms.__getitem__, ids[is_word].tolist()))
        begins = [0, *ends[:-1]]
        texts = ("".join(words[a:b]) for a, b in zip(begins, ends, strict=True))
        return [text[1:].replace("\n ", "\n") for text in texts]

    @cached_property
    def _is_word(self) -> np.ndarray:
        return np.array([bool(form) for form in self.forms])

    def _marks(self, name: str) -> bool:
        return self.markings[MARKINGS.index(name)]

    def _inflections(self, group: Group) -> list[tuple[str, str]]:
        """What goes before and after a stem, for each of its forms in their order."""
        affix = dict(zip(AFFIXES, self.affixes, strict=True))

        def if_marked(marking: str, name: str) -> str:
            return affix[name] if self._marks(marking) else ""

        def agreement(word: str, noun_class: int, plural: int) -> str:
            gender = self.genders[noun_class] if self._marks("agreement in gender") else 0
            return if_marked(f"{word} agrees with number", f"{word} {'sp'[plural]} {gender}")

        names = [case.name.lower() for case in Case if case is not Case.SUBJECT]
        cases = ["", *(if_marked(f"{name} by affix", name) for name in names)]
        classes = range(len(CLASSES))
        if group in (f.PARTICLE, f.ADVERB):
            return [("", "")]
        if group is f.VERB:
            tenses = [if_marked("tense by affix", tense.name.lower()) for tense in Tense]
            forms = product(tenses, classes, (0, 1))
            chains = [[tense, agreement("verb", c, n)] for tense, c, n in forms]
        elif group is f.ADJECTIVE:
            chains = [[agreement("adjective", c, n)] for c, n in product(classes, (0, 1))]
        elif group is f.NOUN:
            plural = if_marked("plural by affix", "plural")
            definite = if_marked("definiteness by affix", "definite")
            forms = product((0, 1), cases, (0, 1))
            chains = [[plural * n, case, definite * known] for n, case, known in forms]
        else:
            assert group in (f.NAME, f.PRONOUN)
            chains = [[case] for case in cases]
        # affixes in their order outwards from the stem, all on one side of it
        if self._marks("prefixes on verbs" if group is f.VERB else "prefixes on nouns"):
            return [("".join(reversed(chain)), "") for chain in chains]
        return [("", "".join(chain)) for chain in chains]


def documents(
    language: SyntheticLanguage, start: int = 0, stop: int | None = None
) -> Iterator[Document]:
    """Stream documents `start` to `stop` of the language's world; endless without `stop`.

    Document i has the same content, and the same group, in every language of a world.
    """
    world, tag, size = language.world, language.tag, DOCUMENTS_PER_BLOCK
    for number in count(start // size):
        offset = number * size
        begin, end = max(start - offset, 0), size if stop is None else min(stop - offset, size)
        if begin >= end:
            return
        texts = language.say(make_block(world, number), begin, end)
        for place, text in enumerate(texts, offset + begin):
            group = f"made:{world.seed}:{place}"
            yield Document(f"{group}:{tag}", tag, text, group, "synthetic")
