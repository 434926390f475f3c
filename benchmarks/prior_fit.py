"""Fits the prior for losses: a mixed model of the log losses of many languages.

Six numbers of each language, some unknown: the bits of text by its unigrams and bigrams, and by
models of four amounts of training text. They are linear in how much text the language has, plus an
effect of its family, one of its script and its own, each normal with a 6 by 6 covariance and wider
for languages with little text. Covariances are posterior modes (inverse Wishart), by expectation
and maximisation.
"""

from dataclasses import dataclass, replace

import numpy as np

from tongues.languages.forecast import usual_law
from tongues.languages.prior import LossPrior, columns, width

__all__ = ["LossTable", "fit_prior"]

Array = np.ndarray
_FIXED = 1.0  # variance of the coefficients of amounts
_NOISE = 1e-5  # variance of a number of its own: 0.3 %, as of another seed
# Deviations that the covariances are drawn towards, of the unigrams' bits and of each further
# number's ratio to the one before, and the languages' worth of belief in them.
_STEPS = np.array([0.035, 0.035, 0.035, 0.01, 0.03, 0.02])
_BELIEF = 3.0
_FALLS = (0.0, 0.1, 0.2, 0.3)  # of the log deviation with each decade of text
_ROUNDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class LossTable:
    """Languages by row. log_bits: (languages, 6), NaN where unknown; per byte of content.

    amount: log10 of the bytes of text there are, per byte of content. reach: log10 of the bytes
    that models were trained on at most.
    """

    tags: tuple[str, ...]
    families: tuple[str, ...]
    scripts: tuple[str, ...]
    amount: Array
    reach: Array
    log_bits: Array

    def take(self, rows: Array) -> "LossTable":
        """Some of the languages."""
        tags, families, scripts = (
            tuple(np.array(of)[rows].tolist()) for of in (self.tags, self.families, self.scripts)
        )
        numbers = (of[rows] for of in (self.amount, self.reach, self.log_bits))
        return LossTable(tags, families, scripts, *numbers)


def fit_prior(table: LossTable, start: LossPrior | None = None, rounds: int = _ROUNDS) -> LossPrior:
    """The prior that a table of languages gives; start: of a like table, for fewer rounds."""
    families, scripts = (tuple(sorted(set(of))) for of in (table.families, table.scripts))
    groups = [_members(table.families, families), _members(table.scripts, scripts)]
    groups.append(np.eye(len(table.tags)))
    X = np.array([columns(a, r) for a, r in zip(table.amount, table.reach, strict=True)])
    language, number = np.nonzero(~np.isnan(table.log_bits))
    middle = np.nanmean(table.log_bits, axis=0)
    y = (table.log_bits - middle)[language, number]
    kinds = np.eye(table.log_bits.shape[1])[number]
    steps = np.tril(np.ones((len(_STEPS), len(_STEPS)))) * _STEPS
    usual = steps @ steps.T
    spread = np.stack([usual] * 3) if start is None else start.spread
    kin = [group[language] @ group[language].T for group in groups]
    known = _FIXED * (X[language] @ X[language].T) * (kinds @ kinds.T) + _NOISE * np.eye(len(y))

    def precision(spread: Array, scale: Array) -> tuple[Array, float]:
        random = sum(s[np.ix_(number, number)] * k for s, k in zip(spread, kin, strict=True))
        V = known + random * np.outer(scale, scale)
        P = np.linalg.inv(V)
        return P, -0.5 * (np.linalg.slogdet(V)[1] + y @ P @ y)

    def at(fall: float) -> Array:
        return _widths(table, fall)[language]

    fall = 0.2 if start is None else start.fall
    for step in range(rounds):
        if start is None and step in (rounds // 3, rounds - 1):
            fall = max(_FALLS, key=lambda one: precision(spread, at(one))[1])
        scale = at(fall)
        P, _ = precision(spread, scale)
        P = (P + P.T) / 2.0
        gain = (np.outer(P @ y, P @ y) - P) * np.outer(scale, scale)
        spread = np.stack(
            [
                (g.shape[1] * s + s @ (kinds.T @ (gain * k) @ kinds) @ s + _BELIEF * usual)
                / (g.shape[1] + _BELIEF)
                for s, k, g in zip(spread, kin, groups, strict=True)
            ]
        )
    scale = at(fall)
    P, _ = precision(spread, scale)
    rows = np.hstack([X, *(_widths(table, fall)[:, None] * g for g in groups[:2])])
    blocks = [_FIXED * np.eye(len(_STEPS))] * X.shape[1]
    blocks += [spread[0]] * len(families) + [spread[1]] * len(scripts)
    before = np.zeros((len(blocks), len(_STEPS)) * 2)
    for i, block in enumerate(blocks):
        before[i, :, i, :] = block
    before = before.reshape(len(blocks) * len(_STEPS), -1)
    design = (rows[language][:, :, None] * kinds[:, None, :]).reshape(len(y), -1)
    shared = design @ before
    prior = LossPrior(
        families,
        scripts,
        (shared.T @ P @ y).reshape(len(blocks), -1)
        + middle * (np.arange(len(blocks)) == 0)[:, None],
        before - shared.T @ P @ shared,
        spread,
        fall,
        _reach_of_amount(table),
        {},
        np.ones((2, 4)),
        usual_law(),
    )
    return replace(prior, levels=_levels(prior, table))


def _widths(table: LossTable, fall: float) -> Array:
    return np.array([width(a, fall) for a in table.amount])


def _members(of: tuple[str, ...], names: tuple[str, ...]) -> Array:
    return np.array([[float(one == name) for name in names] for one in of])


def _reach_of_amount(table: LossTable) -> tuple[float, float]:
    """Slope and level of the line from amount to reach, which ends at the largest reach."""
    most, reach = table.reach.max(), table.reach
    slope, level = np.polyfit(table.amount, reach, 1)
    for _ in range(50):
        line = np.maximum(most, slope * table.amount + level)
        slope, level = np.polyfit(table.amount, np.where(table.reach < most, table.reach, line), 1)
    return float(slope), float(level)


def _levels(prior: LossPrior, table: LossTable) -> dict[str, tuple[float, int]]:
    """How far the models of each language are from its family, script and amount: a mean."""
    levels = {}
    for i, tag in enumerate(table.tags):
        mean, _ = prior.normal(table.families[i], table.scripts[i], table.amount[i], table.reach[i])
        off = (table.log_bits[i] - mean)[2:]
        levels[tag] = float(np.nanmean(off)), int(np.sum(~np.isnan(off)))
    return levels
