"""Scores rows of tokens by a model or by a mixture of experts; shared prefixes are read once.

Rows have families, such as the choices of an item, and families share prefixes, such as
demonstrations. The keys and values of a prefix are computed once. Rows of similar length are
batched and padded at their ends, where causal attention needs no mask. A model that cannot continue
from its own keys and values reads every row from its beginning.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from tongues.evaluate.words import WORDS
from tongues.experts.ensemble.ensemble import mixed
from tongues.experts.ensemble.model import Model
from tongues.models.scorer import BatchScorer, Prefix, probed_scorer

_SURE = np.log(2)  # nats below which a token has more than half of the probability
_LEAST = 16  # chosen; tokens of a shared prefix that is worth caching
_PADDING = 8  # chosen; tokens of padding that cost less than another batch

T = TypeVar("T")
Tell: TypeAlias = Callable[[float, str], None]  # receives the share that was read, and a line


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Tokens of which those from `start` on are scored."""

    tokens: np.ndarray
    start: int  # at least 1: a token with nothing before it cannot be scored
    language: str | None
    family: int  # rows of one number share a context


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Rows with a common prefix."""

    rows: tuple[int, ...]
    shared: int  # tokens that all of them begin with and none of them scores
    beginning: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class RowScores:
    """The scored tokens of a row under a model [T], or under several experts [T, k]."""

    log_probs: np.ndarray
    greedy: np.ndarray  # whether no token has a higher probability


@dataclass(frozen=True, slots=True, eq=False)
class TokenLosses:
    """The scored tokens of a row [T]."""

    nats: np.ndarray
    greedy: np.ndarray  # 1: no token has a higher probability; 0: one has; nan: unknown


def score_rows(
    model: Model, rows: Sequence[Row], *, tell: Tell = lambda share, line: None
) -> list[TokenLosses]:
    """The nats of each row's tokens from `start` on, in the order given.

    Each expert reads prefixes that rows share once. None of them is `too_long`. Routing sees the
    row's tokens without the first one.
    """
    given = None
    if model.ensemble.k > 1:
        given = [
            expert_weights(model, row.tokens[1:], row.language)[row.start - 1 :] for row in rows
        ]
    each = each_expert(model, rows, given, tell=tell)
    losses = []
    for place, scores in enumerate(each):
        weights = np.ones_like(scores.log_probs) if given is None else given[place]
        nats, active = -mixed(weights, scores.log_probs), weights > 0
        greedy = np.where(active.sum(axis=1) > 1, np.nan, 0.0)
        # A token that is the argmax of all active experts is the argmax of their mixture.
        greedy[(scores.greedy | ~active).all(axis=1) | (nats < _SURE)] = 1.0
        losses.append(TokenLosses(nats, greedy))
    return losses


def too_long(model: Model, row: Row) -> bool:
    """Whether a row is longer than the model's context; its last token is only predicted."""
    context = model.ensemble.context
    return context is not None and len(row.tokens) - 1 > context


def expert_weights(model: Model, tokens: np.ndarray, language: str | None) -> np.ndarray:
    """The experts' weights [T, k] for each token of a text, without the token before it."""
    return model.routing.weights(tokens, model.ensemble.about(model.routing, language))


def each_expert(
    model: Model,
    rows: Sequence[Row],
    weights: Sequence[np.ndarray] | None,
    *,
    tell: Tell = lambda share, line: None,
) -> list[RowScores]:
    """Each row's scored tokens under every expert [scored, k].

    weights: [scored, k] of each row; an expert reads a row up to the last token with a positive
    weight, the rest is -inf. None: every expert reads everything.
    """
    ensemble = model.ensemble
    shapes = [(len(row.tokens) - row.start, ensemble.width) for row in rows]
    results = [RowScores(np.full(of, -np.inf), np.zeros(of, dtype=bool)) for of in shapes]
    for expert in range(ensemble.width):
        counts = [count for count, _ in shapes]
        if weights is not None:
            needed = [np.flatnonzero(own[:, expert]) for own in weights]
            counts = [int(of[-1]) + 1 if len(of) else 0 for of in needed]
        parts = {
            n: replace(rows[n], tokens=rows[n].tokens[: rows[n].start + count])
            for n, count in enumerate(counts)
            if count
        }

        def done(count: int, share: float, at: int = expert, total: int = len(parts)) -> None:
            line = WORDS["has_read"].format(expert=model.experts[at], count=count, total=total)
            tell((at + share) / ensemble.width, line)

        if parts:
            scores = score_tokens(ensemble.models[expert], list(parts.values()), done)
            for number, row in zip(parts, scores, strict=True):
                results[number].log_probs[: len(row.log_probs), expert] = row.log_probs
                results[number].greedy[: len(row.greedy), expert] = row.greedy
    return results


@torch.inference_mode()
def score_tokens(
    model: PreTrainedModel,
    rows: Sequence[Row],
    done: Callable[[int, float], None] = lambda rows, share: None,
) -> list[RowScores]:
    """The tokens of each row from `start` on, in float64.

    No row may be longer than the context. done: receives how many rows were read, and their share
    of the tokens.
    """
    results = [RowScores(np.empty(0), np.empty(0, dtype=bool))] * len(rows)
    scored = [number for number, row in enumerate(rows) if row.start < len(row.tokens)]
    if not scored:
        return results
    longest = max(scored, key=lambda number: len(rows[number].tokens))
    scorer, count, read = probed_scorer(model, rows[longest].tokens), 0, 0
    total = sum(len(rows[number].tokens) for number in scored)
    for beginning, members in common_beginnings(families_of(rows, scored)):
        prefix = Prefix()
        if beginning and scorer.column:
            prefix = _cache(scorer, prefix, [rows[members[0].rows[0]].tokens[:beginning]])
        for some, context in _contexts(scorer, rows, prefix, members):
            behind = [  # rows, and the places of their prefixes in the cache
                (number, 0 if context is prefix else place)
                for place, family in enumerate(some)
                for number in family.rows
            ]
            for batch, ends in _finish(scorer, rows, behind, context):
                for number, one in zip(batch, ends, strict=True):
                    results[number] = one
                count += len(batch)
                read += sum(len(rows[number].tokens) for number in batch)
                done(count, read / total)
    return results


def _contexts(
    scorer: BatchScorer, rows: Sequence[Row], prefix: Prefix, members: Sequence[Family]
) -> Iterator[tuple[list[Family], Prefix]]:
    worth: list[Family] = []
    alone: list[Family] = []
    for family in members:
        count, saved = len(family.rows), family.shared - prefix.length
        pays = (count - 1) * saved > (1 + count) * family.shared * scorer.moved  # to copy it
        (worth if scorer.column is not None and pays else alone).append(family)
    if alone:
        yield alone, prefix
    fits = partial(_fits, scorer, prefix, 1)
    for some in in_batches(worth, lambda family: family.shared - prefix.length, fits):
        length = min(family.shared for family in some)
        contexts = [rows[family.rows[0]].tokens[prefix.length : length] for family in some]
        yield some, _cache(scorer, prefix, contexts)


def _fits(scorer: BatchScorer, prefix: Prefix, scored: int, longest: int, count: int) -> bool:
    """Whether a batch of `count` rows fits; scored: the most scored tokens of a row."""
    within = scorer.fits(2 * count, prefix.length + longest, min(longest, scored))
    return within and longest * count <= scorer.tokens


def _cache(scorer: BatchScorer, prefix: Prefix, beginnings: Sequence[np.ndarray]) -> Prefix:
    """The cache of `prefix` followed by each of `beginnings`, which have one length."""
    tokens = torch.from_numpy(np.stack(beginnings).astype(np.int64)).to(scorer.device)
    before = prefix.of(torch.zeros(len(tokens), dtype=torch.long, device=scorer.device))
    return Prefix(scorer.read(tokens, before), prefix.length + tokens.shape[1])


def _finish(
    scorer: BatchScorer, rows: Sequence[Row], behind: Sequence[tuple[int, int]], prefix: Prefix
) -> Iterator[tuple[list[int], Iterator[RowScores]]]:
    def length(member: tuple[int, int]) -> int:
        return len(rows[member[0]].tokens) - 1 - prefix.length

    most = max(len(rows[number].tokens) - rows[number].start for number, _ in behind)
    for some in in_batches(behind, length, partial(_fits, scorer, prefix, most)):
        batch = [rows[number] for number, _ in some]
        rests = [torch.from_numpy(row.tokens[prefix.length :].astype(np.int64)) for row in batch]
        padded = pad_sequence(rests, batch_first=True).to(scorer.device)
        bounds = [
            (row.start - 1 - prefix.length, length(of)) for row, of in zip(batch, some, strict=True)
        ]
        columns, (starts, stops) = torch.arange(padded.shape[1] - 1), torch.tensor(bounds).T
        mask = (columns >= starts[:, None]) & (columns < stops[:, None])
        cache = prefix.of(torch.tensor([place for _, place in some], device=scorer.device))
        likely, best = scorer.score(padded[:, :-1], padded[:, 1:], mask.to(scorer.device), cache)
        ends = zip(bounds, likely.double().cpu().numpy(), best.cpu().numpy(), strict=True)
        yield (
            [number for number, _ in some],
            (RowScores(own[start:stop], of[start:stop]) for (start, stop), own, of in ends),
        )


def families_of(rows: Sequence[Row], numbers: Sequence[int]) -> list[Family]:
    """The families of the rows with these numbers."""
    members: dict[int, list[int]] = {}
    for number in numbers:
        members.setdefault(rows[number].family, []).append(number)
    families = []
    for own in members.values():
        first = rows[own[0]].tokens
        shared = min(rows[number].start for number in own) - 1
        shared = min([shared, *(_common_length(first, rows[number].tokens) for number in own[1:])])
        families.append(Family(tuple(own), shared, first[:shared]))
    return families


def common_beginnings(families: Sequence[Family]) -> Iterator[tuple[int, list[Family]]]:
    """Groups of families, each with the length of the prefix that its members share.

    Sorted families are split where neighbours share fewer tokens than the threshold that saves the
    most tokens. Families that share too few tokens with others are the last group, with 0.
    """
    ordered = sorted(families, key=lambda family: family.beginning.astype(">u4").tobytes())
    pairs = pairwise(ordered)
    in_common = np.array(
        [_common_length(one.beginning, other.beginning) for one, other in pairs], dtype=int
    )
    best, enough = 0, int(in_common.max(initial=0)) + 1  # tokens that neighbours need in common
    for threshold in np.unique(in_common[in_common >= _LEAST]).tolist():
        together = np.flatnonzero(np.diff(np.concatenate([[0], in_common >= threshold, [0]])))
        spans = together.reshape(-1, 2).tolist()
        saved = sum(int(in_common[begin:end].min()) * (end - begin) for begin, end in spans)
        if saved > best:
            best, enough = saved, threshold
    left: list[Family] = []
    for begin, end in pairwise(
        [0, *(np.flatnonzero(in_common < enough) + 1).tolist(), len(ordered)]
    ):
        if end - begin == 1:
            left.append(ordered[begin])
        else:
            yield int(in_common[begin : end - 1].min()), ordered[begin:end]
    if left:
        yield 0, left


def _common_length(one: np.ndarray, other: np.ndarray) -> int:
    count = min(len(one), len(other))
    differ = one[:count] != other[:count]
    return int(differ.argmax()) if differ.any() else count


def in_batches(
    things: Sequence[T], length: Callable[[T], int], fits: Callable[[int, int], bool]
) -> Iterator[list[T]]:
    """Batches of similar lengths, longest first; fits: whether `count` of a length do."""
    batch: list[T] = []
    longest = 0
    for thing in sorted(things, key=length, reverse=True):
        own = length(thing)
        unlike = longest - own > max(_PADDING, longest // 8)
        if batch and (unlike or not fits(longest, len(batch) + 1)):
            yield batch
            batch = []
        longest = longest if batch else own
        batch.append(thing)
    if batch:
        yield batch
