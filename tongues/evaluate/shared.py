"""Rows of tokens read by one model: beginnings that rows share are read once.

Rows come in families, such as the choices of an item, and families have beginnings in common, such
as demonstrations. A beginning is read once, its keys and values are handed to whatever goes on from
it, and rows go on together with others of about their length, padded at their ends, where nothing
that counts can see it. So no mask is needed, and any model that can go on from its own keys and
values can share them. One that cannot reads every row whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from tongues.evaluate.alike import Family, Row, common_beginnings, families_of, in_batches
from tongues.models.scorer import BatchScorer, Prefix, probed_scorer

__all__ = ["Reached", "log_probs"]


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """What the scored tokens of a row are worth to a model [T], or to several experts [T, k]."""

    likely: np.ndarray  # log-probabilities
    best: np.ndarray  # whether no token is likelier


@torch.inference_mode()
def log_probs(
    model: PreTrainedModel, rows: Sequence[Row], done: Callable[[int], None] = lambda rows: None
) -> list[Reached]:
    """Of each row, its tokens from `start` on; log-probabilities are in float64.

    No row may be longer than the model can see. done: is told how many more rows are read.
    """
    found = [Reached(np.empty(0), np.empty(0, dtype=bool))] * len(rows)
    asked = [number for number, row in enumerate(rows) if row.start < len(row.tokens)]
    if not asked:
        return found
    longest = max(asked, key=lambda number: len(rows[number].tokens))
    scorer = probed_scorer(model, rows[longest].tokens)
    for beginning, members in common_beginnings(families_of(rows, asked)):
        prefix = Prefix()
        if beginning and scorer.column:
            prefix = _remember(scorer, prefix, [rows[members[0].rows[0]].tokens[:beginning]])
        for some, behind in _contexts(scorer, rows, prefix, members):
            numbers = [number for family in some for number in family.rows]
            places = [0] * len(numbers)  # of the beginning that all have in common
            if behind is not prefix:
                places = [place for place, family in enumerate(some) for _ in family.rows]
            for batch, ends in _finish(scorer, rows, numbers, behind, places):
                for number, reached in zip(batch, ends, strict=True):
                    found[number] = reached
                done(len(batch))
    return found


def _contexts(
    scorer: BatchScorer, rows: Sequence[Row], prefix: Prefix, members: Sequence[Family]
) -> Iterator[tuple[list[Family], Prefix]]:
    """Families with what is remembered of their contexts, where reading these once is quicker."""
    alone: list[Family] = []
    worth: list[Family] = []
    for family in members:
        (worth if _pays(scorer, family, prefix.length) else alone).append(family)
    if alone:
        yield alone, prefix

    def fits(longest: int, count: int) -> bool:
        within = scorer.fits(2 * count, prefix.length + longest, 1)
        return within and longest * count <= scorer.tokens

    for some in in_batches(worth, lambda family: family.shared - prefix.length, fits):
        length = min(family.shared for family in some)
        contexts = [rows[family.rows[0]].tokens[prefix.length : length] for family in some]
        yield some, _remember(scorer, prefix, contexts)


def _pays(scorer: BatchScorer, family: Family, length: int) -> bool:
    """Whether reading a family's context once saves more than copying what it leaves costs."""
    if scorer.column is None:
        return False
    saved = (len(family.rows) - 1) * (family.shared - length)
    return saved > (1 + len(family.rows)) * family.shared * scorer.moved


def _remember(scorer: BatchScorer, prefix: Prefix, beginnings: Sequence[np.ndarray]) -> Prefix:
    """What is remembered once these are read, all of one length, behind the one they share."""
    tokens = torch.from_numpy(np.stack(beginnings).astype(np.int64)).to(scorer.device)
    before = prefix.of(torch.zeros(len(tokens), dtype=torch.long, device=scorer.device))
    return Prefix(scorer.read(tokens, before), prefix.length + tokens.shape[1])


def _finish(
    scorer: BatchScorer,
    rows: Sequence[Row],
    numbers: Sequence[int],
    prefix: Prefix,
    places: Sequence[int],
) -> Iterator[tuple[list[int], Iterator[Reached]]]:
    """Rows scored behind what is remembered of their beginnings, at these places; by batches."""
    asked = max(len(rows[number].tokens) - rows[number].start for number in numbers)

    def fits(longest: int, count: int) -> bool:
        within = scorer.fits(2 * count, prefix.length + longest, min(longest, asked))
        return within and longest * count <= scorer.tokens

    def length(member: tuple[int, int]) -> int:
        return len(rows[member[0]].tokens) - 1 - prefix.length

    for some in in_batches(list(zip(numbers, places, strict=True)), length, fits):
        batch = [number for number, _ in some]
        yield batch, _ends(scorer, [rows[n] for n in batch], prefix, [place for _, place in some])


def _ends(
    scorer: BatchScorer, batch: Sequence[Row], prefix: Prefix, places: Sequence[int]
) -> Iterator[Reached]:
    """What rows ask for, the longest row first."""
    rests = [torch.from_numpy(row.tokens[prefix.length :].astype(np.int64)) for row in batch]
    padded = pad_sequence(rests, batch_first=True).to(scorer.device)
    bounds = [(row.start - 1 - prefix.length, len(row.tokens) - 1 - prefix.length) for row in batch]
    columns, (starts, stops) = torch.arange(padded.shape[1] - 1), torch.tensor(bounds).T
    asked = (columns >= starts[:, None]) & (columns < stops[:, None])
    cache = prefix.of(torch.tensor(places, device=scorer.device))
    found, best = scorer.score(padded[:, :-1], padded[:, 1:], asked.to(scorer.device), cache)
    rows = zip(bounds, found.double().cpu().numpy(), best.cpu().numpy(), strict=True)
    for (start, stop), likely, of in rows:
        yield Reached(likely[start:stop], of[start:stop])
