"""What made documents say, before any language says it: whole blocks of documents at a time."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tongues.text.made.clauses import Dice, Scene, fill_clauses
from tongues.text.made.forms import CLASSES, FORMS, GROUPS, STEMS, Mark, Slot, Tense
from tongues.text.made.world import TOPICS, World

__all__ = ["DOCUMENTS_PER_BLOCK", "Clauses", "form_counts", "make_block", "stem_counts"]

DOCUMENTS_PER_BLOCK = 256
_CAST, _PLACES, _PROPS = 4, 2, 2
_TENSES = np.array([Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.FUTURE])


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a run of documents: one row per clause, the form in each slot."""

    slots: np.ndarray
    starts: np.ndarray  # first clause of each document, then the number of clauses


def make_block(world: World, number: int) -> Clauses:
    """Tell documents `number * DOCUMENTS_PER_BLOCK` and on; the same at every call."""
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
    slots = fill_clauses(world, Dice(rng, len(sentence)), scene, opens, second)
    stop = np.where(before_turn[sentence], Mark.BREAK, Mark.STOP)
    slots[:, Slot.STOP] = np.where(closing, stop, Mark.COMMA)
    return Clauses(slots, np.append(np.flatnonzero(opens), len(sentence)))


@lru_cache(maxsize=8)
def form_counts(world: World) -> np.ndarray:
    """How often each form occurs in a sample of the world's documents."""
    counts = np.zeros(FORMS, dtype=np.int64)
    for number in range(8):
        counts += np.bincount(make_block(world, number).slots.ravel(), minlength=FORMS)
    counts[: len(Mark)] = 0
    return counts


@lru_cache(maxsize=8)
def stem_counts(world: World) -> np.ndarray:
    """How often each stem occurs in the same sample, in any of its forms."""
    counts, stems = form_counts(world), np.empty(STEMS, dtype=np.int64)
    for group in GROUPS:
        forms = counts[group.first_form :][: group.stems * group.forms_per_stem]
        stems[group.first_stem :][: group.stems] = forms.reshape(group.stems, -1).sum(axis=1)
    return stems


def _set_scenes(
    world: World, rng: np.random.Generator, document: np.ndarray, late: np.ndarray
) -> Scene:
    """Give every document its topic, cast, places, props and tense, spread over its clauses."""
    count = DOCUMENTS_PER_BLOCK
    topic = rng.integers(TOPICS, size=count)
    neighbour = (topic + rng.choice([-1, 1], count)) % TOPICS

    def draw(table: np.ndarray, *shape: int) -> np.ndarray:
        drawn = rng.integers(table.shape[-1], size=(count, *shape))
        return np.take_along_axis(table[topic], drawn, axis=-1)[document]

    return Scene(
        topic=np.where(late, neighbour[document], topic[document]),
        tense=_TENSES[rng.integers(len(_TENSES), size=count)][document],
        cast=draw(world.topic_alive_draws, _CAST),
        places=draw(world.topic_places_draws, _PLACES),
        props=draw(world.topic_nouns_draws, len(CLASSES), _PROPS),
    )
