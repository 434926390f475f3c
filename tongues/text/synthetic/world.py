"""The simulated world of all synthetic languages: kinds, events, names and facts."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tongues.text.synthetic.forms import ADJECTIVE, ADPOSITIONS, ADVERB, CLASSES, NAME, NOUN, VERB

TOPICS = 48  # on a ring; chosen, with all numbers of the world: the text of demos depends on them
COPULA, LIVE, LOVE, HAVE = range(4)  # the verbs of facts
PLACES = range(NAME.stems - 400, NAME.stems)  # the names that are places; the others are alive

_PERSON, _ANIMAL, _THING, _PLACE = map(CLASSES.index, ("person", "animal", "thing", "place"))
_SHARES = (0.2, 0.13, 0.13, 0.3, 0.12, 0.12)  # of the nouns, by class
_EVERYWHERE = 0.004  # how common a word is in the topics farthest from its own
_DRAWS = 1024  # entries of a table whose even draws follow a distribution


@dataclass(frozen=True, eq=False)
class World:
    """Kinds, doings, names, topics and the facts about them; the same for every language.

    Words are numbered from the most to the least frequent. A table that ends in `draws`
    is a distribution: a uniformly drawn entry of its last axis follows it.
    """

    seed: int
    noun_class: np.ndarray
    noun_plural: np.ndarray  # chance that the noun stands in the plural
    noun_adjectives: np.ndarray  # the three usual ones
    verb_subject: np.ndarray  # verb x class: may such a thing do this?
    verb_object: np.ndarray  # class of the object, -1 for none
    verb_oblique: np.ndarray  # class of the further party, -1 for none
    verb_adposition: np.ndarray
    verb_adverbs: np.ndarray  # the three usual ones
    verb_next: np.ndarray  # what is done after it
    verb_nouns_draws: np.ndarray  # the usual objects
    name_kind: np.ndarray  # the noun that says what it is
    name_adjectives: np.ndarray
    name_verbs: np.ndarray
    name_home: np.ndarray
    name_friend: np.ndarray
    name_thing: np.ndarray
    topic_nouns_draws: np.ndarray  # topic x class x draws
    topic_verbs_draws: np.ndarray  # topic x class of the subject x draws
    topic_adjectives_draws: np.ndarray
    topic_alive_draws: np.ndarray
    topic_places_draws: np.ndarray

    @classmethod
    def of(cls, seed: int) -> Self:
        """Make the world that belongs to a seed (a number from 0 on)."""
        rng = np.random.default_rng([seed, 0])
        noun_class = rng.choice(len(CLASSES), NOUN.stems, p=_SHARES)
        groups = (NOUN, VERB, ADJECTIVE, ADVERB)
        noun_topic, verb_topic, adjective_topic, adverb_topic = (
            rng.random(group.stems) * TOPICS for group in groups
        )
        nouns, verbs, adjectives, adverbs, names = (_zipf(x.stems) for x in (*groups, NAME))
        of_class = noun_class == np.arange(len(CLASSES))[:, None]
        topics = np.arange(TOPICS)

        shares = (0.3, 0.16, 0.08, 0.12, 0.2, 0.04, 0.1)
        verb_object = rng.choice([-1, *range(len(CLASSES))], VERB.stems, p=shares)
        shares = (0.4, 0.15, 0.15, 0.3)
        verb_oblique = rng.choice([-1, _PERSON, _THING, _PLACE], VERB.stems, p=shares)
        verb_subject = rng.random((VERB.stems, len(CLASSES))) < (0.85, 0.4, 0.12, 0.2, 0.12, 0.2)
        verb_subject[:4] = False
        verb_subject[4:8] = True
        usual = nouns * _near(verb_topic, noun_topic, 2.0) * of_class[verb_object]
        verb_nouns = _choose(rng, usual, 12)
        twelve = np.broadcast_to(_zipf(12), (VERB.stems, 12))
        verb_nouns_draws = np.take_along_axis(verb_nouns, _draws(twelve, 128), axis=1)

        alive = NAME.stems - len(PLACES)
        name_class = np.where(rng.random(alive) < 0.85, _PERSON, _ANIMAL)
        name_class = np.concatenate([name_class, np.full(len(PLACES), _PLACE)])
        name_topic = rng.random(NAME.stems) * TOPICS
        near_nouns = _near(name_topic, noun_topic, 1.0)
        near_names = _near(name_topic, name_topic, 1.0) * names
        may = verb_subject[:, name_class].T & (np.arange(VERB.stems) > HAVE)
        is_alive = np.arange(NAME.stems) < alive
        adpositions = np.tile(_zipf(len(ADPOSITIONS)), (VERB.stems, 1))
        topic_nouns = (nouns * _near(topics, noun_topic, 1.0))[:, None] * of_class
        topic_verbs = (verbs * _near(topics, verb_topic, 1.0))[:, None] * verb_subject.T
        topic_names = _near(topics, name_topic, 1.0)
        return cls(
            seed=seed,
            noun_class=noun_class,
            noun_plural=rng.random(NOUN.stems) * 0.6,
            noun_adjectives=_choose(rng, adjectives * _near(noun_topic, adjective_topic, 2.0), 3),
            verb_subject=verb_subject,
            verb_object=verb_object,
            verb_oblique=verb_oblique,
            verb_adposition=ADPOSITIONS.start + _choose(rng, adpositions, 1)[:, 0],
            verb_adverbs=_choose(rng, adverbs * _near(verb_topic, adverb_topic, 4.0), 3),
            verb_next=_choose(rng, verbs * _near(verb_topic, verb_topic, 1.0), 1)[:, 0],
            verb_nouns_draws=verb_nouns_draws,
            name_kind=_choose(rng, nouns * near_nouns * of_class[name_class], 1)[:, 0],
            name_adjectives=_choose(rng, adjectives * _near(name_topic, adjective_topic, 3.0), 2),
            name_verbs=_choose(rng, verbs * _near(name_topic, verb_topic, 1.0) * may, 2),
            name_home=_choose(rng, near_names * ~is_alive, 1)[:, 0],
            name_friend=_choose(rng, near_names * is_alive * (1 - np.eye(NAME.stems)), 1)[:, 0],
            name_thing=_choose(rng, nouns * near_nouns * of_class[_THING], 1)[:, 0],
            topic_nouns_draws=_draws(topic_nouns, _DRAWS),
            topic_verbs_draws=_draws(topic_verbs, _DRAWS),
            topic_adjectives_draws=_draws(adjectives * _near(topics, adjective_topic, 1.0), _DRAWS),
            topic_alive_draws=_draws(names * is_alive * topic_names, _DRAWS),
            topic_places_draws=_draws(names * ~is_alive * topic_names, _DRAWS),
        )


# Only +, -, x and / below: their results are the same on every machine, so the text is too.


def _zipf(count: int) -> np.ndarray:
    """Frequencies that fall with the rank."""
    return 1.0 / (np.arange(count) + 2.7)


def _near(here: np.ndarray, there: np.ndarray, width: float) -> np.ndarray:
    """The affinity of things at the topics `there` to each topic `here`; topics form a ring."""
    apart = np.abs(np.asarray(here, float)[:, None] - there)
    apart = np.minimum(apart, TOPICS - apart) / width
    near = 1.0 / (1.0 + apart * apart)
    return near * near + _EVERYWHERE


def _choose(rng: np.random.Generator, weights: np.ndarray, count: int) -> np.ndarray:
    """Draw `count` different columns for every row, by weight."""
    late = rng.standard_exponential(weights.shape) / np.maximum(weights, 1e-30)
    first = np.argpartition(late, count, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(late, first, axis=1), axis=1)
    return np.take_along_axis(first, order, axis=1)


def _draws(weights: np.ndarray, size: int) -> np.ndarray:
    """Turn weights into a table of columns whose even draws follow them."""
    points = (np.arange(size) + 0.5) / size
    cumulated = np.cumsum(weights, axis=-1).reshape(-1, weights.shape[-1])
    table = np.stack([np.searchsorted(row, points * row[-1]) for row in cumulated])
    return table.reshape(*weights.shape[:-1], size)
