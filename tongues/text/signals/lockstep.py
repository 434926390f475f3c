"""Naive Bayes over byte n-grams, for thousands of pieces of text in lockstep.

An automaton reads a piece byte by byte; some of its states say that an n-gram ended there.
One piece at a time that is a slow loop; here every piece takes its next byte at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["ByteModel", "probabilities"]

_TOGETHER = 1024  # pieces in lockstep: enough to hide the loop, few enough for the cache


@dataclass(frozen=True, slots=True)
class ByteModel:
    """An automaton that finds n-grams, and how each class uses them.

    States share rows of moves: from a state `s` the byte `b` leads to `moves[rows[s] + b]`.
    """

    moves: np.ndarray  # int32
    rows: np.ndarray  # int64, of each state
    found: np.ndarray  # int32, of each state: the n-gram that ends there, or -1
    weights: np.ndarray  # float32, of each n-gram and class: log likelihood
    prior: np.ndarray  # float32, of each class: log probability


def probabilities(model: ByteModel, pieces: Sequence[bytes]) -> np.ndarray:
    """Probability of each class for each piece, float32.

    A row is all zeros where no n-gram of the model was found. Scores are divided by the
    square root of the piece's bytes, which keeps the probabilities of long pieces honest.
    """
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    result = np.zeros((len(pieces), len(model.prior)), np.float32)
    order = np.argsort(-sizes, kind="stable")  # pieces of like size together waste no steps
    for start in range(0, len(order), _TOGETHER):
        chosen = order[start : start + _TOGETHER]
        ngrams = _walk(model, [pieces[i] for i in chosen.tolist()], sizes[chosen])
        result[chosen] = _scores(model, ngrams)
    some = np.flatnonzero(result.any(axis=1))
    scores = result[some] / np.sqrt(sizes[some].astype(np.float32))[:, None]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    result[some] = scores / scores.sum(axis=1, keepdims=True)
    return result


def _walk(model: ByteModel, pieces: Sequence[bytes], sizes: np.ndarray) -> np.ndarray:
    """The n-gram that ends at each byte of each piece, -1 where none does; longest piece first."""
    steps = np.arange(sizes[0])
    letters = np.zeros((len(pieces), len(steps)), np.uint8)
    letters[steps < sizes[:, None]] = np.frombuffer(b"".join(pieces), np.uint8)
    letters = np.ascontiguousarray(letters.T)
    states = np.zeros(letters.shape, np.int32)  # beyond a piece's end the state of no n-gram
    state = states[0] if len(states) else np.zeros(0, np.int32)
    for step, reading in enumerate(np.searchsorted(-sizes, -steps).tolist()):
        moves = model.rows.take(state[:reading])
        moves += letters[step, :reading]
        state = states[step, :reading]
        model.moves.take(moves, out=state, mode="clip")
    return np.ascontiguousarray(model.found.take(states).T)


def _scores(model: ByteModel, ngrams: np.ndarray) -> np.ndarray:
    """Log likelihood with prior of each class for each piece; zeros for a piece without n-grams."""
    scores = np.zeros((len(ngrams), len(model.prior)), np.float32)
    weights = np.empty((ngrams.shape[1], len(model.prior)), np.float32)
    for row, (kinds, counts) in enumerate(_counted(ngrams)):
        if len(kinds):
            taken = model.weights.take(kinds, axis=0, out=weights[: len(kinds)], mode="clip")
            np.dot(counts, taken, out=scores[row])
            scores[row] += model.prior
    return scores


def _counted(ngrams: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The different n-grams of each row, and the damped count of each."""
    ngrams.sort(axis=1)
    count, width = ngrams.shape
    new = np.ones(ngrams.shape, bool)
    np.not_equal(ngrams[:, 1:], ngrams[:, :-1], out=new[:, 1:])
    new &= ngrams >= 0
    places = np.flatnonzero(new)
    bounds = np.searchsorted(places, np.arange(count + 1) * width)
    row_ends = np.repeat(np.arange(1, count + 1) * width, np.diff(bounds))
    ends = np.minimum(np.append(places[1:], ngrams.size), row_ends)
    kinds = ngrams.ravel()[places].astype(np.int64)
    counts = np.log1p((ends - places).astype(np.float32))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield kinds[start:end], counts[start:end]
