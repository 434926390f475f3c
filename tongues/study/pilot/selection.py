"""Which runs to train: those that narrow the losses of the real run the most for their cost.

Around each draw of the laws, all losses are taken as jointly normal: their slopes by the parameters
times their spread, and by the drift that they share. What is known of a language beforehand narrows
both. The variance that is left after a set of runs follows in closed form, and is averaged over the
draws.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.study.pilot.blocks import PilotBelief, Point
from tongues.study.pilot.candidates import Candidate

__all__ = ["Forecast", "choose_runs", "cost_of", "forecast", "with_parents"]

_DRAWS = 12  # of the laws, over which the variance is averaged
_STEP = 1e-4
_ROUNDS = 3  # of exchanges
_WORTH = 1e-3  # a smaller gain in log variance is none
Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """The losses of candidates jointly with those of the real run, in log loss.

    rows: the losses of each candidate, by name. real: those of the real run.
    slopes: of every loss by independent standard normals, (draws, losses, normals).
    noise: variance of each loss's scatter.
    """

    rows: Mapping[str, tuple[int, ...]]
    real: tuple[int, ...]
    slopes: Array
    noise: Array

    def left(self, names: Iterable[str]) -> Array:
        """Variance of each log loss of the real run after these runs, (draws, losses)."""
        variance, _ = self._after(names)
        real = list(self.real)
        return variance[:, real] + self.noise[real]

    def unknown(self, names: Iterable[str]) -> float:
        """The objective: the sum of their logarithms, averaged over the draws."""
        return float(np.log(self.left(names)).sum(-1).mean())

    def gains(self, names: Collection[str], options: Iterable[Candidate]) -> dict[str, float]:
        """By how much each option, trained after these runs, would lower `unknown`."""
        variance, shared = self._after(names)
        real = list(self.real)
        total = variance[:, real] + self.noise[real]
        learned = shared**2 / (variance + self.noise)[:, :, None] / total[:, None, :]
        gains: dict[str, float] = {}
        for option in options:
            new = [one.name for one in with_parents([option]) if one.name not in names]
            rows = [row for name in new for row in self.rows[name]]
            part = np.minimum(learned[:, rows].sum(1), 0.99)
            gains[option.name] = float(-np.log1p(-part).sum(-1).mean())
        return gains

    def _after(self, names: Iterable[str]) -> tuple[Array, Array]:
        """Variances of all losses after these runs, and covariances with the real run's."""
        real = list(self.real)
        variance = (self.slopes**2).sum(-1)
        shared = np.stack([self._with(row) for row in real], axis=-1)
        known = np.empty((0, *variance.shape))
        for row in (row for name in names for row in self.rows[name]):
            column = self._with(row) - np.einsum("kmn,km->mn", known, known[:, :, row])
            one = column / np.sqrt(column[:, row, None] + self.noise[row])
            known = np.concatenate([known, one[None]])
            variance = variance - one**2
            shared = shared - one[:, :, None] * one[:, None, real]
        return np.maximum(variance, 0.0), shared

    def _with(self, row: int) -> Array:
        """Covariances of a loss with all, (draws, losses)."""
        return np.einsum("mnp,mp->mn", self.slopes, self.slopes[:, row])


def with_parents(runs: Iterable[Candidate]) -> list[Candidate]:
    """The runs, each base before those that need it, none twice."""
    ordered: dict[str, Candidate] = {}
    for run in runs:
        if run.parent:
            ordered.setdefault(run.parent.name, run.parent)
        ordered.setdefault(run.name, run)
    return list(ordered.values())


def cost_of(runs: Iterable[Candidate]) -> float:
    """FLOPs of the runs and of the bases they need."""
    return sum(run.flops for run in with_parents(runs))


def forecast(
    beliefs: Mapping[str, PilotBelief],
    options: Mapping[str, Sequence[Point]],
    real: Sequence[Point],
) -> Forecast:
    """The losses of all options, by name, and of the real run, by the laws as they are known."""
    points, rows = list(real), {}
    for name, of_run in options.items():
        rows[name] = tuple(range(len(points), len(points) + len(of_run)))
        points += of_run
    noise, slopes = np.zeros(len(points)), []
    for belief in beliefs.values():
        own = [i for i, point in enumerate(points) if point.role in belief.block.roles]
        noise[own] = float(np.median(belief.drawn.scatter**2))
        of_own = _slopes(belief, [points[i] for i in own])
        slope = np.zeros((_DRAWS, len(points), of_own.shape[-1]))
        slope[:, own] = of_own
        slopes.append(slope)
    return Forecast(rows, tuple(range(len(real))), np.concatenate(slopes, axis=-1), noise)


def _slopes(belief: PilotBelief, points: Sequence[Point]) -> Array:
    """Of log losses by independent standard normals, given what is known beforehand."""
    known = belief.known.points if belief.known else ()
    points = [*points, *known]
    drawn, spread = belief.drawn, belief.block.spread.values()
    z = drawn.z[np.linspace(0, len(drawn.z) - 1, _DRAWS).astype(int)]
    here = belief.log_losses(z, points)
    of_laws = np.zeros((*here.shape, len(spread)))
    for i, (_, deviation) in enumerate(spread):
        moved = z.copy()
        moved[:, i] += _STEP
        of_laws[..., i] = (belief.log_losses(moved, points) - here) / _STEP * deviation
    of_drift = belief.drift_slopes(points)
    slopes = np.concatenate([of_laws, np.resize(of_drift, (_DRAWS, *of_drift.shape))], axis=-1)
    if belief.known is None:
        return slopes
    slopes, seen = slopes[:, : -len(known)], slopes[:, -len(known) :]
    across = np.swapaxes(seen, -1, -2)
    learned = across @ np.linalg.solve(seen @ across + belief.known.covariance, seen)
    return slopes @ np.linalg.cholesky(np.eye(slopes.shape[-1]) - learned)


def choose_runs(
    forecast: Forecast,
    options: Sequence[Candidate],
    budget: float,
    trained: Sequence[Candidate] = (),
) -> list[Candidate]:
    """The runs to train for at most `budget` FLOPs, in addition to those `trained` already.

    Greedy by gain, or by gain for the cost; then runs are exchanged as long as that helps.
    """
    before = with_parents(trained)
    paid = {one.name for one in before}

    def unknown(runs: Sequence[Candidate]) -> float:
        return forecast.unknown(one.name for one in with_parents([*before, *runs]))

    def filled(
        options: Sequence[Candidate], chosen: Sequence[Candidate], *, by_price: bool
    ) -> list[Candidate]:
        """The chosen runs and others that the budget has room for, greedily."""
        chosen = list(chosen)
        while True:
            there = with_parents([*before, *chosen])
            names = {one.name for one in there}
            left = budget - sum(one.flops for one in there if one.name not in paid)
            prices = {
                one.name: sum(new.flops for new in with_parents([one]) if new.name not in names)
                for one in options
                if one.name not in names
            }
            affordable = [one for one in options if prices.get(one.name, np.inf) <= left]
            gains = forecast.gains(names, affordable)
            worth = [one for one in affordable if gains[one.name] > _WORTH]
            if not worth:
                return chosen
            price = prices if by_price else dict.fromkeys(prices, 1.0)
            chosen.append(max(worth, key=lambda one: gains[one.name] / price[one.name]))

    starts = [filled(options, [], by_price=by_price) for by_price in (True, False)]
    best, chosen = min(((unknown(start), start) for start in starts), key=lambda pair: pair[0])
    for _ in range(_ROUNDS):
        before_round = best
        for run in list(chosen):
            rest = [one for one in chosen if one is not run]
            others = [one for one in options if one is not run]
            tried = filled(others, rest, by_price=False)
            if (left := unknown(tried)) < best - _WORTH:
                chosen, best = tried, left
        if best == before_round:
            break
    return chosen
