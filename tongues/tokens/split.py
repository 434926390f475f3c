"""Which documents are held out and in which order the others stand, the same at any budget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues import recipe
from tongues.errors import UserError
from tongues.recipe import Recipe
from tongues.text import Piece
from tongues.text.corpus import Corpus
from tongues.text.select import Selection

__all__ = ["Documents", "held_out_groups", "split_documents"]


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """A language's documents by their numbers in the corpus, in the order they are written."""

    train: np.ndarray
    valid: np.ndarray


def split_documents(
    settings: Recipe,
    corpus: Corpus,
    pieces: Sequence[Piece],
    selection: Selection,
    lengths: np.ndarray,
) -> dict[str, Documents]:
    """Hold out whole components, in every language the same, and order the rest by hash.

    By the order of hashes a smaller amount of text is the beginning of a larger one.
    """
    amount = settings.tokens.held_out
    held_out = np.empty(0, dtype=np.uint64)
    for code, lang in enumerate(corpus.languages):
        here = selection.kept[corpus.lang[selection.kept] == code]
        dropped = int((selection.reason[corpus.lang == code] > 0).sum())
        _check_amount(lang, int(lengths[here].sum()), amount, dropped)
        # What other languages hold out of this one counts.
        free = here[~np.isin(selection.component[here], held_out)]
        missing = amount - int(lengths[here].sum() - lengths[free].sum())
        if missing > 0:
            found = held_out_groups(selection.component[free], lengths[free], missing)
            held_out = np.union1d(held_out, found)
    order = np.lexsort((np.arange(corpus.count), corpus.numbers("exact")))
    order = order[selection.reason[order] == 0]
    is_held_out = np.isin(selection.component[order], held_out)
    splits: dict[str, Documents] = {}
    for code, lang in enumerate(corpus.languages):
        here = corpus.lang[order] == code
        train, valid = order[here & ~is_held_out], order[here & is_held_out]
        splits[lang] = Documents(_limited(lang, train, corpus, pieces, lengths), valid)
        left = int(lengths[train].sum())
        if left < amount or not len(splits[lang].train):
            out = int(lengths[valid].sum())
            reason = f"{left} tokens are left to train on, {out} held out"
            hint = "give more documents, smaller groups, or lower `tokens.held_out`"
            raise UserError(reason, where=f"text of {lang}", hint=hint)
    return splits


def held_out_groups(hashes: np.ndarray, tokens: np.ndarray, amount: int) -> np.ndarray:
    """Hashes of the groups that together hold at least `amount` tokens.

    Groups are taken by ascending hash; one with more than `amount` tokens only when the
    smaller ones do not suffice. `hashes` and `tokens` describe the documents of a language.
    """
    groups, group_of = np.unique(hashes, return_inverse=True)
    sizes = np.bincount(group_of, weights=tokens)
    order = np.lexsort((groups, np.maximum(sizes, amount)))
    enough = np.searchsorted(np.cumsum(sizes[order]), amount) + 1
    return groups[order[:enough]]


def _limited(
    lang: str, train: np.ndarray, corpus: Corpus, pieces: Sequence[Piece], lengths: np.ndarray
) -> np.ndarray:
    """Of each source with a limit in tokens, the first documents in the order of hashes."""
    own_pieces = [piece for piece in pieces if piece.lang == lang]
    part_of = np.searchsorted([part.first for part in corpus.parts], train, side="right") - 1
    for settings in {id(piece.settings): piece.settings for piece in own_pieces}.values():
        most = None if isinstance(settings, recipe.Made) else settings.at_most
        if most is None or most.unit != "tokens":
            continue
        names = {piece.name for piece in own_pieces if piece.settings is settings}
        limited = [part.lang == lang and part.piece in names for part in corpus.parts]
        own = np.array(limited, dtype=bool)[part_of]
        beyond = np.cumsum(np.where(own, lengths[train], 0)) > most.number
        train, part_of = train[~(own & beyond)], part_of[~(own & beyond)]
    return train


def _check_amount(lang: str, tokens: int, held_out: int, dropped: int) -> None:
    if tokens < 2 * held_out:
        reason = f"its {tokens} tokens are too few to hold out {held_out} and train on the rest"
        hint = f"give it at least {2 * held_out} tokens of text, or lower `tokens.held_out`"
        if dropped:
            hint += f", or drop less by `text.clean`: {dropped} of its documents were dropped"
        raise UserError(reason, where=f"text of {lang}", hint=hint)
