"""Families of synthetic languages: how children drift from their parents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from zlib import crc32

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.text.synthetic.clauses import form_counts, stem_counts
from tongues.text.synthetic.forms import CLASSES, NAME, STEMS
from tongues.text.synthetic.language import AFFIXES, GENDERS, MARKINGS, ORDERS, SyntheticLanguage
from tongues.text.synthetic.sounds import SCRIPTS, draw_changes, draw_phonology
from tongues.text.synthetic.world import World

NEW_SCRIPT_FROM = 0.6  # of divergence; chosen, with all numbers of drift, to look like families
_CHANGES = 12  # sound changes a child may undergo
_RUN = 16  # stems of like frequency among which the replaced ones are evenly spread


@dataclass(frozen=True, slots=True)
class Drift:
    """Where a language comes from: its parent's tag, and how far it drifted, from 0 to 1.

    At divergence d the share 1 - (1 - d)² of the names, nouns, verbs, adjectives and adverbs is
    replaced. Grammar is slower: the share d² of the particles, pronouns, affixes, orders,
    markings and of twelve possible sound changes. From `NEW_SCRIPT_FROM` on the language is
    written in another script. A language without a parent is a root.
    """

    parent: str | None = None
    divergence: float = 0.0


def check_family(drifts: Mapping[str, Drift]) -> list[str]:
    """The tags of a family, parents first; a UserError, by its tag, where it cannot be made."""
    for tag, drift in drifts.items():
        parent, divergence = drift.parent, drift.divergence
        if not re.fullmatch(r"q[a-t][a-z]", tag):
            hint = "take one of `qaa` to `qtz`"
            raise UserError(f"`{tag}` is not a tag of a synthetic language", hint=hint)
        if parent is None and divergence > 0:
            raise UserError("a divergence needs a parent", where=tag)
        if parent is not None and parent not in drifts:
            hint = nearest(parent, drifts)
            raise UserError(f"there is no parent `{parent}`", where=tag, hint=hint)
    parents = {tag: [drift.parent] if drift.parent else [] for tag, drift in drifts.items()}
    try:
        return list(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]
        what = f"languages descend from themselves: {' → '.join(circle)}"
        raise UserError(what, where=circle[0]) from None


def make_family(
    world: World, drifts: Mapping[str, Drift], seed: int
) -> dict[str, SyntheticLanguage]:
    """Make one language per tag (`qaa` to `qtz`).

    A language depends on the world, the seed, its tag and its ancestors alone, and what a
    small divergence changes a larger one changes too.
    """
    family: dict[str, SyntheticLanguage] = {}
    for tag in check_family(drifts):
        parent, divergence = drifts[tag].parent, drifts[tag].divergence
        if parent is None:
            family[tag] = _root(world, tag, seed)
        else:
            family[tag] = _child(family[parent], tag, divergence, seed)
    return {tag: family[tag] for tag in drifts}


def shared_words(a: SyntheticLanguage, b: SyntheticLanguage) -> float:
    """Share of running words that both languages spell alike, of those that either has."""
    assert a.world.seed == b.world.seed
    rows = zip(form_counts(a.world).tolist(), a.forms, b.forms, strict=True)
    counts = [(count, left == right) for count, left, right in rows if left or right]
    return sum(count for count, same in counts if same) / sum(count for count, _ in counts)


def shared_order(a: SyntheticLanguage, b: SyntheticLanguage) -> float:
    """Share of the word-order choices on which both languages agree."""
    return float(np.mean(np.array(a.orders) == np.array(b.orders)))


def _stream(seed: int, tag: str, purpose: str) -> np.random.Generator:
    """Chance of its own for each purpose, so that no choice shifts another."""
    return np.random.default_rng([seed, crc32(tag.encode()), crc32(purpose.encode())])


def _root(world: World, tag: str, seed: int) -> SyntheticLanguage:
    phonology = draw_phonology(_stream(seed, tag, "phonology"))
    coin = _stream(seed, tag, "orders")
    return SyntheticLanguage(
        tag=tag,
        world=world,
        script=SCRIPTS[_stream(seed, tag, "script").integers(len(SCRIPTS))].name,
        phonology=phonology,
        stems=phonology.coin(_stream(seed, tag, "stems"), _lengths(world), ()),
        affixes=phonology.coin_affixes(_stream(seed, tag, "affixes"), len(AFFIXES), ()),
        orders=tuple((coin.random(len(ORDERS)) < 0.5).tolist()),
        markings=tuple((coin.random(len(MARKINGS)) < 0.5).tolist()),
        genders=tuple(coin.integers(GENDERS, size=len(CLASSES)).tolist()),
    )


def _child(parent: SyntheticLanguage, tag: str, divergence: float, seed: int) -> SyntheticLanguage:
    slow, world, sounds = divergence * divergence, parent.world, parent.phonology
    stems, affixes = parent.stems, parent.affixes
    coined = sounds.coin(_stream(seed, tag, "stems"), _lengths(world), stems)
    coined_affixes = sounds.coin_affixes(_stream(seed, tag, "affixes"), len(AFFIXES), affixes)

    def drifted(purpose: str, count: int) -> list[bool]:
        return (_thresholds(_stream(seed, tag, purpose), count, count) < slow).tolist()

    def flipped(values: tuple[bool, ...], purpose: str) -> tuple[bool, ...]:
        flips = drifted(purpose, len(values))
        return tuple(value != flip for value, flip in zip(values, flips, strict=True))

    changes = draw_changes(_stream(seed, tag, "changes"), _CHANGES)
    for change, happens in zip(changes, drifted("change thresholds", _CHANGES), strict=True):
        if happens:
            stems, affixes = change.apply(stems), change.apply(affixes)

    # Spread over the ranks, so that the share of running words replaced is steady.
    grammatical = np.arange(STEMS) < NAME.first_stem
    rank = np.lexsort((-stem_counts(world), ~grammatical)).argsort()
    late = _thresholds(_stream(seed, tag, "stem thresholds"), STEMS, _RUN)[rank]
    replaced = late < np.where(grammatical, slow, 1 - (1 - divergence) ** 2)

    scripts = [script.name for script in SCRIPTS if script.name != parent.script]
    script = scripts[_stream(seed, tag, "script").integers(len(scripts))]
    return SyntheticLanguage(
        tag=tag,
        world=world,
        script=script if divergence >= NEW_SCRIPT_FROM else parent.script,
        phonology=sounds,
        # New words come in after the sound changes.
        stems=_replace(stems, coined, replaced.tolist()),
        affixes=_replace(affixes, coined_affixes, drifted("affix thresholds", len(AFFIXES))),
        orders=flipped(parent.orders, "order thresholds"),
        markings=flipped(parent.markings, "marking thresholds"),
        genders=parent.genders,
    )


def _replace(old: tuple[str, ...], new: tuple[str, ...], replaced: list[bool]) -> tuple[str, ...]:
    rows = zip(old, new, replaced, strict=True)
    return tuple(there if is_replaced else here for here, there, is_replaced in rows)


def _thresholds(rng: np.random.Generator, count: int, together: int) -> np.ndarray:
    """Evenly spread numbers between 0 and 1, shuffled within each run of `together`."""
    runs = -(-count // together)
    steps = rng.permuted(np.tile(np.arange(together), (runs, 1)), axis=1)
    return ((steps + 0.5) / together).ravel()[:count]


def _lengths(world: World) -> list[int]:
    """Syllables per stem: the more frequent, the shorter."""
    rank = np.argsort(np.argsort(-stem_counts(world), kind="stable"), kind="stable")
    return (1 + np.searchsorted([48, 1200, 4000], rank, side="right")).tolist()
