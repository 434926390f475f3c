"""The content of synthetic documents, independent of the language: blocks of documents at a time.

Each clause is an event (who does what to whom and where) or a fact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tongues.text.synthetic import forms as f
from tongues.text.synthetic.forms import CLASSES, Case, Mark, Particle, Slot, Tense
from tongues.text.synthetic.phrases import ClauseWriter, Dice, Party, Scene, falling
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
_JOINTS, _TURNS = map(falling, (f.CONJUNCTIONS, f.CONNECTIVES))
_ADVERBS = falling(range(f.ADVERB.stems))


@dataclass(frozen=True, slots=True)
class _Subject(Party):
    """Who or what a clause is about; `known` and `named` say how it is called there."""

    again: np.ndarray  # only a pronoun
    of_cast: np.ndarray  # one of the cast, however it is called
    member: np.ndarray  # of the cast
    being: np.ndarray  # class


@dataclass(frozen=True, slots=True)
class _Doing:
    """What happens: a deed, or one of the facts about the subject."""

    verb: np.ndarray
    tense: np.ndarray
    deed: np.ndarray
    is_so: np.ndarray
    is_a: np.ndarray
    lives: np.ndarray
    loves: np.ndarray
    has: np.ndarray


def _fill_clauses(
    world: World, dice: Dice, scene: Scene, opens: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Say what happens in every clause, all slots but the last.

    `opens` marks the first clause of a document, `second` the second one of a sentence. The order
    of the throws of `dice` decides the text of every seed.
    """
    writer = ClauseWriter(world, dice, scene)
    subject = _choose_subject(writer, opens, second)
    doing = _choose_doing(writer, subject, second)
    wanted, target, other = _choose_object(writer, subject, doing)
    further, aside = _choose_aside(writer, subject, doing, other)
    _write_parties(writer, subject, doing, (wanted, target), (further, aside))
    _write_verb(writer, subject, doing, opens, second)
    return writer.slots


def _choose_subject(writer: ClauseWriter, opens: np.ndarray, second: np.ndarray) -> _Subject:
    """One of the cast, a thing, or the one before."""
    world, dice, rows = writer.world, writer.dice, writer.rows
    again = dice.chance(np.where(second, 0.5, 0.25)) & ~opens
    antecedent = np.maximum.accumulate(np.where(again, 0, rows))  # the clause a pronoun points at
    of_cast = (dice.chance(0.55) | opens)[antecedent]
    member = np.where(opens, 0, dice.pick(_LEADING))[antecedent]
    name = writer.scene.cast[rows, member]
    noun, known = writer.find(dice.pick(_SUBJECTS))
    noun = np.where(of_cast, world.name_kind[name], noun[antecedent])
    plural = (dice.chance(world.noun_plural[noun]) & ~of_cast)[antecedent]
    named = of_cast & (dice.chance(0.8) | opens)
    return _Subject(
        noun=noun,
        name=name,
        named=named,
        plural=plural,
        known=known | of_cast,
        again=again,
        of_cast=of_cast,
        member=member,
        being=world.noun_class[noun],
    )


def _choose_doing(writer: ClauseWriter, subject: _Subject, second: np.ndarray) -> _Doing:
    """A deed that fits the subject, or a fact about it."""
    world, dice, scene = writer.world, writer.dice, writer.scene
    fact = dice.chance(0.15) & ~second
    which = np.where(subject.of_cast, dice.pick(np.arange(5)), 0)
    is_so, is_a, lives, loves, has = (fact & (which == number) for number in range(5))
    verb = dice.pick(world.topic_verbs_draws, scene.topic, subject.being)
    own = dice.chance(0.25)
    verb = np.where(subject.of_cast & own, dice.pick(world.name_verbs, subject.name), verb)
    next_verb = world.verb_next[np.roll(verb, 1)]
    follows = second & dice.chance(0.5) & world.verb_subject[next_verb, subject.being]
    verb = np.where(follows, next_verb, verb)
    verb = np.select([is_so | is_a, lives, loves, has], [COPULA, LIVE, LOVE, HAVE], verb)
    unusual = dice.chance(0.1)
    tense = np.where(unusual, dice.pick(_TENSES), scene.tense)
    tense = np.where(fact, Tense.PRESENT, tense)
    return _Doing(verb, tense, ~fact, is_so, is_a, lives, loves, has)


def _choose_object(
    writer: ClauseWriter, subject: _Subject, doing: _Doing
) -> tuple[np.ndarray, Party, np.ndarray]:
    """The class that the verb wants, or -1; what this is done to; and another of the cast.

    It is what this is usually done to, or what the document is about.
    """
    world, dice, cast = writer.world, writer.dice, writer.scene.cast
    wanted = np.where(doing.deed, world.verb_object[doing.verb], -1)
    thing, known = writer.find(wanted)
    usual = dice.chance(0.4)
    thing = np.where(usual, dice.pick(world.verb_nouns_draws, doing.verb), thing)
    thing = np.where(doing.has, world.name_thing[subject.name], thing)
    apart = 1 + dice.pick(np.arange(3))
    other = cast[writer.rows, (subject.member + apart) % cast.shape[1]]
    target = Party(
        noun=thing,
        name=np.where(doing.loves, world.name_friend[subject.name], other),
        named=(wanted == _PERSON) & dice.chance(0.7) | doing.loves,
        plural=dice.chance(world.noun_plural[thing]) & doing.deed,
        known=known & ~usual & doing.deed,
    )
    return wanted, target, other


def _choose_aside(
    writer: ClauseWriter, subject: _Subject, doing: _Doing, other: np.ndarray
) -> tuple[np.ndarray, Party]:
    """The class of the further party, or -1, and who or what it is: where, with what, to whom."""
    world, dice, deed, lives = writer.world, writer.dice, doing.deed, doing.lives
    further = np.where(deed & dice.chance(0.6), world.verb_oblique[doing.verb], -1)
    further = np.where(deed & (further < 0) & dice.chance(0.12) | lives, _PLACE, further)
    noun, known = writer.find(further)
    place = dice.pick(writer.scene.places, writer.rows)
    place = np.where(lives, world.name_home[subject.name], place)
    party = Party(
        noun=noun,
        name=np.where(further == _PERSON, other, place),
        named=(further == _PERSON) | (further == _PLACE) & (dice.chance(0.5) | lives),
        plural=dice.chance(world.noun_plural[noun]),
        known=known,
    )
    return further, party


def _write_parties(
    writer: ClauseWriter,
    subject: _Subject,
    doing: _Doing,
    target: tuple[np.ndarray, Party],
    aside: tuple[np.ndarray, Party],
) -> None:
    """The subject, the object or what is said of the subject, and the further party."""
    world, dice, rows = writer.world, writer.dice, writer.rows
    wanted, thing = target
    further, party = aside
    being, plural = subject.being, subject.plural
    pronoun = being * 2 + plural
    owner = f.NAME.form(dice.pick(writer.scene.cast, rows), Case.OWNER)
    writer.write_phrase(Slot.S_ARTICLE, ~subject.again, subject, Case.SUBJECT, owner)
    writer.write(Slot.S_HEAD, subject.again, f.PRONOUN.form(pronoun, Case.SUBJECT))
    owner = np.where(dice.chance(0.6), f.PRONOUN.form(pronoun, Case.OWNER), owner)
    has_object = (wanted >= 0) | doing.loves | doing.has
    writer.write_phrase(Slot.O_ARTICLE, has_object, thing, Case.OBJECT, owner)
    of_name, of_noun = world.name_adjectives[subject.name], world.noun_adjectives[subject.noun, :2]
    own = np.where(subject.of_cast[:, None], of_name, of_noun)
    quality = f.ADJECTIVE.form(dice.pick(own, rows), being, plural)
    writer.write(Slot.O_ADJECTIVE, doing.is_so, quality)
    writer.write(Slot.O_ARTICLE, doing.is_a, f.PARTICLE.form(Particle.A))
    writer.write(Slot.O_HEAD, doing.is_a, f.NOUN.form(subject.noun, 0, Case.SUBJECT, 0))
    adposition = f.PARTICLE.form(world.verb_adposition[doing.verb])
    writer.write(Slot.ADPOSITION, further >= 0, adposition)
    slots = (Slot.X_ARTICLE, Slot.X_ADJECTIVE, Slot.X_HEAD)
    writer.write_noun(slots, further >= 0, party, Case.OBLIQUE)


def _write_verb(
    writer: ClauseWriter, subject: _Subject, doing: _Doing, opens: np.ndarray, second: np.ndarray
) -> None:
    """The verb with all that stands around it, and what joins the clause to the one before."""
    world, dice = writer.world, writer.dice
    verb = f.VERB.form(doing.verb, doing.tense, subject.being, subject.plural)
    writer.write(Slot.VERB, writer.rows >= 0, verb)
    auxiliary = _AUXILIARIES[doing.tense]
    writer.write(Slot.AUXILIARY, auxiliary >= 0, f.PARTICLE.form(auxiliary))
    writer.write(Slot.NEGATION, doing.deed & dice.chance(0.08), f.PARTICLE.form(Particle.NOT))
    usual = dice.chance(0.7)
    adverb = np.where(usual, dice.pick(world.verb_adverbs, doing.verb), dice.pick(_ADVERBS))
    writer.write(Slot.ADVERB, doing.deed & dice.chance(0.2), f.ADVERB.form(adverb))
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
    slots = _fill_clauses(world, Dice(rng, len(sentence)), scene, opens, second)
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
) -> Scene:
    count = DOCUMENTS_PER_BLOCK
    topic = rng.integers(TOPICS, size=count)
    neighbour = (topic + rng.choice([-1, 1], count)) % TOPICS

    def draw(table: np.ndarray, *shape: int) -> np.ndarray:
        drawn = rng.integers(table.shape[-1], size=(count, *shape))
        return np.take_along_axis(table[topic], drawn, axis=-1)[document]

    return Scene(
        topic=np.where(late, neighbour[document], topic[document]),
        tense=_USUAL_TENSES[rng.integers(len(_USUAL_TENSES), size=count)][document],
        cast=draw(world.topic_alive_draws, _CAST),
        places=draw(world.topic_places_draws, _PLACES),
        props=draw(world.topic_nouns_draws, len(CLASSES), _PROPS),
    )
