"""The content of synthetic documents, independent of the language: blocks of documents at a time.

Each clause is an event (who does what to whom and where) or a fact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tongues.text.synthetic import forms as f
from tongues.text.synthetic.forms import CLASSES, Case, Mark, Particle, Slot, Tense
from tongues.text.synthetic.world import COPULA, HAVE, LIVE, LOVE, TOPICS, World

# All numbers of this file are chosen, so that texts look like stories; on them the bytes depend.
DOCUMENTS_PER_BLOCK = 256
# Of a document; chosen: few enough to come back.
_CAST, _PLACES, _PROPS = 4, 2, 2
_USUAL_TENSES = np.array([Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.FUTURE])
_PERSON, _PLACE = CLASSES.index("person"), CLASSES.index("place")
_LEADING = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 3])  # the member of the cast that a clause is about
_SUBJECTS = np.array([0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 5])  # classes of nameless subjects
_TENSES = np.array(Tense)
_AUXILIARIES = np.array([Particle.DID, -1, Particle.WILL])


def _falling(words: range) -> np.ndarray:
    """Words to pick from, the first ones the most often."""
    return np.repeat(np.array(words), 1 + 2 * len(words) // (1 + np.arange(len(words))))


_JOINTS, _TURNS, _COUNTS = map(_falling, (f.CONJUNCTIONS, f.CONNECTIVES, f.NUMERALS))
_ADVERBS = _falling(range(f.ADVERB.stems))


class _Dice:
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
class _Scene:
    """What the document of each clause is about."""

    topic: np.ndarray
    tense: np.ndarray
    cast: np.ndarray  # the names it is about
    places: np.ndarray
    props: np.ndarray  # two nouns of each class that keep coming back


@dataclass(frozen=True, slots=True)
class _Party:
    """Who or what takes part in each clause, and how it is called there."""

    noun: np.ndarray
    name: np.ndarray
    named: np.ndarray  # called by the name, else by the noun
    plural: np.ndarray
    known: np.ndarray  # definite


class _Writer:
    """Fills the slots of all clauses."""

    def __init__(self, world: World, dice: _Dice, scene: _Scene) -> None:
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
        self, slots: tuple[int, int, int], where: np.ndarray, party: _Party, case: Case
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
        self, first: Slot, where: np.ndarray, party: _Party, case: Case, owner: np.ndarray
    ) -> None:
        """A party, which may have a number or an owner too."""
        dice = self.dice
        self.write_noun((first, first + 2, first + 3), where, party, case)
        plain = where & ~party.named
        counted = plain & party.plural & ~party.known & dice.chance(0.35)
        self.write(first + 1, counted, f.PARTICLE.form(dice.pick(_COUNTS)))
        owned = plain & ~party.known & dice.chance(0.25)
        self.write(first + 4, owned, owner)
        self.write(first + 5, owned, f.PARTICLE.form(Particle.OF))
        self.write(first, owned, np.zeros_like(owner))


@dataclass(frozen=True, slots=True)
class _Event:
    """What happens in each clause: a deed, or one of five facts about the subject."""

    subject: _Party
    being: np.ndarray  # the subject's class
    again: np.ndarray  # whether the subject is only a pronoun
    of_cast: np.ndarray  # whether it is one of the cast, however it is called
    verb: np.ndarray
    tense: np.ndarray
    deed: np.ndarray
    is_so: np.ndarray
    is_a: np.ndarray
    has_object: np.ndarray
    object: _Party
    has_aside: np.ndarray
    aside: _Party  # where, with what, to whom


def _choose(writer: _Writer, opens: np.ndarray, second: np.ndarray) -> _Event:
    """Who does what in every clause.

    `opens` marks the first clause of a document, `second` the second one of a sentence. The order
    of the throws of the dice decides the text of every seed.
    """
    world, dice, scene, rows = writer.world, writer.dice, writer.scene, writer.rows

    # The subject: one of the cast, a thing, or the one before.
    again = dice.chance(np.where(second, 0.5, 0.25)) & ~opens
    antecedent = np.maximum.accumulate(np.where(again, 0, rows))  # the clause a pronoun points at
    of_cast = (dice.chance(0.55) | opens)[antecedent]
    member = np.where(opens, 0, dice.pick(_LEADING))[antecedent]
    name = scene.cast[rows, member]
    noun, known = writer.find(dice.pick(_SUBJECTS))
    noun = np.where(of_cast, world.name_kind[name], noun[antecedent])
    plural = (dice.chance(world.noun_plural[noun]) & ~of_cast)[antecedent]
    named = of_cast & (dice.chance(0.8) | opens)
    subject, being = _Party(noun, name, named, plural, known | of_cast), world.noun_class[noun]

    # What happens: a deed that fits the subject, or a fact about it.
    fact = dice.chance(0.15) & ~second
    which = np.where(of_cast, dice.pick(np.arange(5)), 0)
    is_so, is_a, lives, loves, has = (fact & (which == number) for number in range(5))
    deed = ~fact
    verb = dice.pick(world.topic_verbs_draws, scene.topic, being)
    verb = np.where(of_cast & dice.chance(0.25), dice.pick(world.name_verbs, name), verb)
    next_verb = world.verb_next[np.roll(verb, 1)]
    follows = second & dice.chance(0.5) & world.verb_subject[next_verb, being]
    verb = np.where(follows, next_verb, verb)
    verb = np.select([is_so | is_a, lives, loves, has], [COPULA, LIVE, LOVE, HAVE], verb)
    tense = np.where(dice.chance(0.1), dice.pick(_TENSES), scene.tense)
    tense = np.where(fact, Tense.PRESENT, tense)

    # The object: what this is usually done to, or what the document is about.
    wanted = np.where(deed, world.verb_object[verb], -1)
    thing, thing_known = writer.find(wanted)
    usual = dice.chance(0.4)
    thing = np.where(usual, dice.pick(world.verb_nouns_draws, verb), thing)
    thing = np.where(has, world.name_thing[name], thing)
    other = scene.cast[rows, (member + 1 + dice.pick(np.arange(3))) % scene.cast.shape[1]]
    target = _Party(
        noun=thing,
        name=np.where(loves, world.name_friend[name], other),
        named=(wanted == _PERSON) & dice.chance(0.7) | loves,
        plural=dice.chance(world.noun_plural[thing]) & deed,
        known=thing_known & ~usual & deed,
    )
    has_object = (wanted >= 0) | loves | has

    # The further party: where, with what, to whom.
    further = np.where(deed & dice.chance(0.6), world.verb_oblique[verb], -1)
    further = np.where(deed & (further < 0) & dice.chance(0.12) | lives, _PLACE, further)
    noun, known = writer.find(further)
    place = np.where(lives, world.name_home[name], dice.pick(scene.places, rows))
    aside = _Party(
        noun=noun,
        name=np.where(further == _PERSON, other, place),
        named=(further == _PERSON) | (further == _PLACE) & (dice.chance(0.5) | lives),
        plural=dice.chance(world.noun_plural[noun]),
        known=known,
    )
    about = subject, being, again, of_cast, verb, tense, deed, is_so, is_a
    return _Event(*about, has_object, target, further >= 0, aside)


def _write(writer: _Writer, event: _Event, opens: np.ndarray, second: np.ndarray) -> None:
    """Say it, in all slots but the last."""
    world, dice, scene, rows = writer.world, writer.dice, writer.scene, writer.rows
    subject, being, verb, tense = event.subject, event.being, event.verb, event.tense
    pronoun = being * 2 + subject.plural
    owner = f.NAME.form(dice.pick(scene.cast, rows), Case.OWNER)
    writer.write_phrase(Slot.S_ARTICLE, ~event.again, subject, Case.SUBJECT, owner)
    writer.write(Slot.S_HEAD, event.again, f.PRONOUN.form(pronoun, Case.SUBJECT))
    owner = np.where(dice.chance(0.6), f.PRONOUN.form(pronoun, Case.OWNER), owner)
    writer.write_phrase(Slot.O_ARTICLE, event.has_object, event.object, Case.OBJECT, owner)
    of_name, of_noun = world.name_adjectives[subject.name], world.noun_adjectives[subject.noun, :2]
    quality = dice.pick(np.where(event.of_cast[:, None], of_name, of_noun), rows)
    quality = f.ADJECTIVE.form(quality, being, subject.plural)
    writer.write(Slot.O_ADJECTIVE, event.is_so, quality)
    writer.write(Slot.O_ARTICLE, event.is_a, f.PARTICLE.form(Particle.A))
    writer.write(Slot.O_HEAD, event.is_a, f.NOUN.form(subject.noun, 0, Case.SUBJECT, 0))
    adposition = f.PARTICLE.form(world.verb_adposition[verb])
    writer.write(Slot.ADPOSITION, event.has_aside, adposition)
    slots = (Slot.X_ARTICLE, Slot.X_ADJECTIVE, Slot.X_HEAD)
    writer.write_noun(slots, event.has_aside, event.aside, Case.OBLIQUE)

    writer.write(Slot.VERB, rows >= 0, f.VERB.form(verb, tense, being, subject.plural))
    auxiliary = _AUXILIARIES[tense]
    writer.write(Slot.AUXILIARY, auxiliary >= 0, f.PARTICLE.form(auxiliary))
    negated = event.deed & dice.chance(0.08)
    writer.write(Slot.NEGATION, negated, f.PARTICLE.form(Particle.NOT))
    adverb = np.where(dice.chance(0.7), dice.pick(world.verb_adverbs, verb), dice.pick(_ADVERBS))
    writer.write(Slot.ADVERB, event.deed & dice.chance(0.2), f.ADVERB.form(adverb))
    writer.write(Slot.CONNECTIVE, second & dice.chance(0.9), f.PARTICLE.form(dice.pick(_JOINTS)))
    turns = ~second & ~opens & dice.chance(0.15)
    writer.write(Slot.CONNECTIVE, turns, f.PARTICLE.form(dice.pick(_TURNS)))


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a run of documents: one row per clause, the form in each slot."""

    slots: np.ndarray
    starts: np.ndarray  # first clause of each document, then the number of clauses


def make_block(world: World, number: int) -> Clauses:
    """The clauses of block `number` of a world's documents; the same at every call."""
    rng = np.random.default_rng([world.seed, 1, number])
    count = DOCUMENTS_PER_BLOCK
    sentences = 4 + np.minimum(rng.geometric(0.09, count), 36)
    document = np.repeat(np.arange(count), sentences)
    order = np.arange(len(document))
    turn = (np.cumsum(sentences) - sentences // 2)[document]
    drifts = (rng.random(count) < 0.4)[document]
    late = drifts & (order >= turn)
    before_turn = drifts & (order + 1 == turn)

    sentence = np.repeat(order, 1 + (rng.random(len(document)) < 0.3))
    second = np.append(False, sentence[1:] == sentence[:-1])
    closing = np.append(~second[1:], True)
    document = document[sentence]
    opens = np.append(True, document[1:] != document[:-1])

    scene = _set_scenes(world, rng, document, late[sentence])
    writer = _Writer(world, _Dice(rng, len(sentence)), scene)
    _write(writer, _choose(writer, opens, second), opens, second)
    slots = writer.slots
    stop = np.where(before_turn[sentence], Mark.BREAK, Mark.STOP)
    slots[:, Slot.STOP] = np.where(closing, stop, Mark.COMMA)
    return Clauses(slots, np.append(np.flatnonzero(opens), len(sentence)))


@lru_cache(maxsize=8)
def form_counts(world: World) -> np.ndarray:
    """How often each form occurs in a sample of the world's documents."""
    counts = np.zeros(f.FORMS, dtype=np.int64)
    for number in range(8):
        counts += np.bincount(make_block(world, number).slots.ravel(), minlength=f.FORMS)
    counts[: len(Mark)] = 0
    return counts


@lru_cache(maxsize=8)
def stem_counts(world: World) -> np.ndarray:
    """How often each stem occurs in the same sample, in any of its forms."""
    counts, stems = form_counts(world), np.empty(f.STEMS, dtype=np.int64)
    for group in f.GROUPS:
        forms = counts[group.first_form :][: group.stems * group.forms_per_stem]
        stems[group.first_stem :][: group.stems] = forms.reshape(group.stems, -1).sum(axis=1)
    return stems


def _set_scenes(
    world: World, rng: np.random.Generator, document: np.ndarray, late: np.ndarray
) -> _Scene:
    count = DOCUMENTS_PER_BLOCK
    topic = rng.integers(TOPICS, size=count)
    neighbour = (topic + rng.choice([-1, 1], count)) % TOPICS

    def draw(table: np.ndarray, *shape: int) -> np.ndarray:
        drawn = rng.integers(table.shape[-1], size=(count, *shape))
        return np.take_along_axis(table[topic], drawn, axis=-1)[document]

    return _Scene(
        topic=np.where(late, neighbour[document], topic[document]),
        tense=_USUAL_TENSES[rng.integers(len(_USUAL_TENSES), size=count)][document],
        cast=draw(world.topic_alive_draws, _CAST),
        places=draw(world.topic_places_draws, _PLACES),
        props=draw(world.topic_nouns_draws, len(CLASSES), _PROPS),
    )
