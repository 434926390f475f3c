"""What clauses are made with: dice, the scene of a document, and a writer of phrases."""

from dataclasses import dataclass

import numpy as np

from tongues.text.synthetic import forms as f
from tongues.text.synthetic.forms import Case, Particle, Slot
from tongues.text.synthetic.world import World


def falling(words: range) -> np.ndarray:
    """Words to pick from, the first ones the most often."""
    return np.repeat(np.array(words), 1 + 2 * len(words) // (1 + np.arange(len(words))))


_COUNTS = falling(f.NUMERALS)


class Dice:
    """Throws for every clause at once: a throw gives each row its own number."""

    def __init__(self, rng: np.random.Generator, rows: int) -> None:
        self._rng, self._rows = rng, rows

    def chance(self, share: float | np.ndarray) -> np.ndarray:
        """Whether it happens in each row."""
        return self._throw() < share

    def pick(self, table: np.ndarray, *rows: np.ndarray) -> np.ndarray:
        """An entry of the last axis of a table, at these places of the others."""
        return table[(*rows, (self._throw() * table.shape[-1]).astype(np.intp))]

    def _throw(self) -> np.ndarray:
        return self._rng.random(self._rows, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Scene:
    """What the document of each clause is about."""

    topic: np.ndarray
    tense: np.ndarray
    cast: np.ndarray  # the names it is about
    places: np.ndarray
    props: np.ndarray  # two nouns of each class that keep coming back


@dataclass(frozen=True, slots=True)
class Party:
    """Who or what takes part in each clause, and how it is called there."""

    noun: np.ndarray
    name: np.ndarray
    named: np.ndarray  # called by the name, else by the noun
    plural: np.ndarray
    known: np.ndarray  # definite


class ClauseWriter:
    """Fills the slots of all clauses."""

    def __init__(self, world: World, dice: Dice, scene: Scene) -> None:
        self.world, self.dice, self.scene = world, dice, scene
        self.rows = np.arange(len(scene.topic))
        self.slots = np.zeros((len(self.rows), len(Slot)), dtype=np.int32)

    def find(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A noun of the class wanted, and whether it was spoken of before."""
        dice = self.dice
        prop = dice.chance(0.55)
        old = dice.pick(self.scene.props, self.rows, wanted)
        new = dice.pick(self.world.topic_nouns_draws, self.scene.topic, wanted)
        return np.where(prop, old, new), dice.chance(np.where(prop, 0.85, 0.2))

    def write(self, slot: int, where: np.ndarray, forms: np.ndarray) -> None:
        """Put forms into a slot of some clauses."""
        np.copyto(self.slots[:, slot], forms, where=where, casting="same_kind")

    def write_noun(
        self, slots: tuple[int, int, int], where: np.ndarray, party: Party, case: Case
    ) -> None:
        """A party with its article and adjective."""
        world, dice = self.world, self.dice
        article, adjective, head = slots
        plain = where & ~party.named
        this = np.where(dice.chance(0.1), Particle.THIS, Particle.THE)
        word = np.where(party.known, this, Particle.A)
        self.write(article, plain & (party.known | ~party.plural), f.PARTICLE.form(word))
        usual = dice.pick(world.noun_adjectives, party.noun)
        other = dice.pick(world.topic_adjectives_draws, self.scene.topic)
        quality = np.where(dice.chance(0.6), usual, other)
        quality = f.ADJECTIVE.form(quality, world.noun_class[party.noun], party.plural)
        self.write(adjective, plain & dice.chance(0.22), quality)
        noun = f.NOUN.form(party.noun, party.plural, case, party.known)
        self.write(head, where, np.where(party.named, f.NAME.form(party.name, case), noun))

    def write_phrase(
        self, first: Slot, where: np.ndarray, party: Party, case: Case, owner: np.ndarray
    ) -> None:
        """A party with a number or an owner besides."""
        dice = self.dice
        self.write_noun((first, first + 2, first + 3), where, party, case)
        plain = where & ~party.named
        counted = plain & party.plural & ~party.known & dice.chance(0.35)
        self.write(first + 1, counted, f.PARTICLE.form(dice.pick(_COUNTS)))
        owned = plain & ~party.known & dice.chance(0.25)
        self.write(first + 4, owned, owner)
        self.write(first + 5, owned, f.PARTICLE.form(Particle.OF))
        self.write(first, owned, np.zeros_like(owner))
