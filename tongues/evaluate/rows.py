"""Nats of the scored ends of token rows, by a model or by experts used as one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.alike import Row
from tongues.evaluate.shared import Reached, log_probs
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.score import mixed

__all__ = ["Row", "Scored", "each_expert", "expert_weights", "score_rows", "too_long"]


_SURE = np.log(2)  # nats below which a token has more than half of the probability


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scored tokens of a row [T]."""

    nats: np.ndarray
    best: np.ndarray  # 1: no token is likelier; 0: one is; nan: all would have to be mixed to tell


def score_rows(
    subject: Model, rows: Sequence[Row], *, tell: Callable[[str], None] = lambda line: None
) -> list[Scored]:
    """What each row's tokens from `start` on cost, in the order given.

    Beginnings that rows share are read once by each model. A row that the subject cannot see whole
    is a UserError (`too_long` finds it); nothing is cut. Weights of experts follow from the row's
    tokens, without the one that stands before every text; one lot is drawn for a context.
    """
    longest = max((row for row in rows if too_long(subject, row)), key=_length, default=None)
    if longest is not None:
        what = (
            f"a text of {_length(longest)} tokens; `{subject.name}` sees {subject.ensemble.context}"
        )
        raise UserError(what, where=subject.name, hint="leave it out, or make it shorter")
    if subject.ensemble.k == 1:
        alone, _ = each_expert(subject, rows, None, tell=tell)
        return [Scored(-one.likely[:, 0], one.best[:, 0].astype(float)) for one in alone]
    if subject.routing.learns:
        whole = [Row(row.tokens, 1, row.language, row.family) for row in rows]
        found = []
        each, _ = each_expert(subject, whole, None, tell=tell)
        for row, one in zip(rows, each, strict=True):
            of = _mixed(expert_weights(subject, row.tokens[1:], row.language, one.likely), one)
            found.append(Scored(of.nats[row.start - 1 :], of.best[row.start - 1 :]))
        return found
    weights = [_weights(subject, row) for row in rows]
    each, _ = each_expert(subject, rows, weights, tell=tell)
    return [_mixed(own, one) for own, one in zip(weights, each, strict=True)]


def too_long(subject: Model, row: Row) -> bool:
    """Whether a row is longer than the subject can see at once."""
    context = subject.ensemble.context
    return context is not None and _length(row) > context


def each_expert(
    subject: Model,
    rows: Sequence[Row],
    weights: Sequence[np.ndarray] | None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> tuple[list[Reached], float]:
    """What each row's scored tokens are worth to every expert [scored, k].

    And the processor time in seconds that one of these tokens takes one expert. weights:
    [scored, k] of each row; an expert reads a row up to the last token that it has a weight in, and
    what lies behind is -inf. None: every expert reads all.
    """
    ensemble = subject.ensemble
    shapes = [(len(row.tokens) - row.start, ensemble.k) for row in rows]
    found = [Reached(np.full(of, -np.inf), np.zeros(of, dtype=bool)) for of in shapes]
    seconds, read = 0.0, 0
    for expert, name in enumerate(ensemble.lineage.names):
        ends = [
            _end(row, None if weights is None else weights[place][:, expert])
            for place, row in enumerate(rows)
        ]
        numbers = [place for place, row in enumerate(rows) if ends[place] > row.start]
        if not numbers:
            continue
        parts = [
            Row(rows[n].tokens[: ends[n]], rows[n].start, rows[n].language, rows[n].family)
            for n in numbers
        ]
        count, model = _Count(f"`{name}`", len(parts), tell), ensemble.models[expert]
        began = process_time()
        reached = log_probs(model, parts, count.add)
        seconds += process_time() - began
        read += sum(len(row.tokens) - row.start for row in parts)
        for number, one in zip(numbers, reached, strict=True):
            found[number].likely[: len(one.likely), expert] = one.likely
            found[number].best[: len(one.best), expert] = one.best
    return found, seconds / max(read, 1)


def expert_weights(
    subject: Model,
    tokens: np.ndarray,
    language: str | None,
    log_probs: np.ndarray | None = None,
) -> np.ndarray:
    """The experts' weights [T, k] for each token of a text, which comes without `first`.

    log_probs: [T, k], of its tokens by each expert; for a routing that learns from them.
    """
    about = subject.ensemble.about(subject.routing, language)
    return subject.routing.weights(tokens, about, log_probs)


class _Count:
    """Tells how many rows are read."""

    def __init__(self, who: str, total: int, tell: Callable[[str], None]) -> None:
        self.who, self.total, self.tell, self.read = who, total, tell, 0

    def add(self, rows: int) -> None:
        self.read += rows
        self.tell(f"{self.who} has read {self.read:,} of {self.total:,} texts")


def _weights(subject: Model, row: Row) -> np.ndarray:
    """The experts' weights [scored, k] for a row's scored tokens."""
    if subject.routing.by_prompt:
        lot = expert_weights(subject, row.tokens[: row.start], row.language)[0]
        return np.broadcast_to(lot, (len(row.tokens) - row.start, len(lot)))
    return expert_weights(subject, row.tokens[1:], row.language)[row.start - 1 :]


def _mixed(weights: np.ndarray, each: Reached) -> Scored:
    """Of experts by their weights [scored, k]; what is best for all that count is so for them."""
    nats, counts = -mixed(weights, each.likely), weights > 0
    best = np.where(counts.sum(axis=1) > 1, np.nan, 0.0)
    best[(each.best | ~counts).all(axis=1) | (nats < _SURE)] = 1.0
    return Scored(nats, best)


def _end(row: Row, weights: np.ndarray | None) -> int:
    """How far an expert must read a row."""
    if weights is None:
        return len(row.tokens)
    needed = np.flatnonzero(weights)
    return row.start + int(needed[-1]) + 1 if len(needed) else row.start


def _length(row: Row) -> int:
    """Tokens that must be seen at once: the last one is only predicted."""
    return len(row.tokens) - 1
