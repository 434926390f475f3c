"""Which law do the runs support: every law on every strategy's runs, fitted and cross-validated."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.fit import Manner, fit_rows, prepare
from tongues.laws.forms import find_form
from tongues.laws.law import Law
from tongues.laws.rows import Rows
from tongues.laws.solver import objective, pose, solve
from tongues.laws.uncertainty import FEWEST_RUNS, percentiles, refit

__all__ = ["Comparison", "Entry", "compare", "compare_rows"]

_FOLDS = 10
_DRAWS = 1000
_NOTHING = (0.0, 0.0, 0.0)
_FORMS = ("chinchilla", "extended", "cpt", "kaplan")


@dataclass(frozen=True, slots=True)
class Entry:
    """One law on one strategy's runs.

    mean_huber: of the fit. validated: the same on runs left out of it, in folds.
    beyond: `validated` minus that of the strategy's best law, with the 95 % interval over runs;
    zero for the best itself. gamma: its value and 95 % interval, where the law has one.
    """

    strategy: str
    law: str
    n_rows: int
    n_runs: int
    mean_huber: float
    validated: float
    beyond: tuple[float, float, float]
    gamma: tuple[float, float, float] | None

    @property
    def best(self) -> bool:
        """Whether it predicts left-out runs best."""
        return self.beyond == _NOTHING


@dataclass(frozen=True, slots=True)
class Comparison:
    """The table of fitting errors, and what it says in sentences."""

    entries: tuple[Entry, ...]
    sentences: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"compare": [asdict(e) for e in self.entries], "sentences": list(self.sentences)}


def compare(
    by_strategy: Mapping[str, Mapping[str, ArrayLike]],
    base: Law | None = None,
    *,
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Which law the runs of each strategy support.

    by_strategy: columns `N`, `D`, `loss` and, where rows are checkpoints, `runs`, by strategy.
    base: the scratch law that the `cpt` law stands on; without it that law is left out.
    delta, draws, seed: as for `fit`.
    """
    prepared: dict[str, Rows] = {}
    manner = Manner(delta, draws, seed)
    for strategy, columns in by_strategy.items():
        variables = {name: columns[name] for name in ("N", "D")}
        _, prepared[strategy], manner = prepare(
            "chinchilla",
            variables,
            columns["loss"],
            columns.get("runs"),
            None,
            delta=delta,
            draws=draws,
            seed=seed,
            fix=None,
            tie=(),
        )
    return compare_rows(prepared, base, manner)


def compare_rows(
    by_strategy: Mapping[str, Rows],
    base: Law | None = None,
    manner: Manner | None = None,
) -> Comparison:
    """Fit every law to every strategy's rows, cross-validate over runs, and say what holds.

    base: the scratch law that the `cpt` law stands on; without it that law is left out.
    """
    manner = manner or Manner()
    entries: list[Entry] = []
    for strategy, rows in by_strategy.items():
        entries += _strategy(strategy, rows, base if strategy != "scratch" else None, manner)
    if not entries:
        raise UserError("no law can be compared on these rows", where="rows")
    said = [line for strategy in by_strategy for line in _sentences(strategy, entries)]
    return Comparison(tuple(entries), tuple(said))


def _strategy(strategy: str, rows: Rows, base: Law | None, manner: Manner) -> list[Entry]:
    if rows.n_runs < FEWEST_RUNS:
        return []
    fitted: dict[str, Law] = {}
    errors: dict[str, np.ndarray] = {}
    for name in _FORMS:
        form = find_form(name)
        if (form.base and base is None) or len(rows.loss) <= len(form.free):
            continue
        own = base if form.base else None
        fitted[name] = fit_rows(form, rows, own, manner)
        errors[name] = _left_out(name, rows, own, manner)
    if not fitted:
        return []
    best = min(errors, key=lambda name: errors[name].mean())
    found = []
    for name, law in fitted.items():
        ends = law.interval.get("gamma")
        gamma = (law.params["gamma"], *ends) if ends else None
        found.append(
            Entry(
                strategy=strategy,
                law=name,
                n_rows=law.n_rows,
                n_runs=law.n_runs,
                mean_huber=law.mean_huber,
                validated=float(errors[name].mean()),
                beyond=_beyond(errors[name] - errors[best], rows) if name != best else _NOTHING,
                gamma=gamma,
            )
        )
    return found


def _left_out(name: str, rows: Rows, base: Law | None, manner: Manner) -> np.ndarray:
    """The Huber loss of each row under a fit that has not seen its run."""
    form = find_form(name)
    problem = pose(form, rows.variables, rows.loss, manner.delta)
    taken = {n: np.array([base.params[n]]) for n in form.taken_names} if base else {}
    context = problem.context(taken)
    theta = solve(problem, np.ones(len(rows.loss)), context).theta[0]
    order = np.random.default_rng(manner.seed).permutation(rows.n_runs)
    fold = np.empty(rows.n_runs, int)
    fold[order] = np.arange(rows.n_runs) % min(_FOLDS, rows.n_runs)
    weights = (fold[rows.run] != np.arange(fold.max() + 1)[:, None]).astype(float)
    found = refit(problem, theta, weights, context)
    params = {n: values[fold[rows.run]] for n, values in found.items()}
    params |= {n: np.full(len(rows.loss), value[0]) for n, value in taken.items()}
    residual = np.log(form.loss(params, rows.variables)) - np.log(rows.loss)
    return objective(residual[:, None], np.ones((len(residual), 1)), manner.delta)


def _beyond(difference: np.ndarray, rows: Rows) -> tuple[float, float, float]:
    """The mean difference, with its bootstrap interval over runs."""
    totals = np.bincount(rows.run, difference, rows.n_runs)
    counts = np.bincount(rows.run, minlength=rows.n_runs)
    drawn = np.random.default_rng(0).integers(rows.n_runs, size=(_DRAWS, rows.n_runs))
    low, high = percentiles(totals[drawn].sum(1) / counts[drawn].sum(1))
    return float(difference.mean()), float(low), float(high)


def _sentences(strategy: str, entries: list[Entry]) -> list[str]:
    own = [entry for entry in entries if entry.strategy == strategy]
    if not own:
        return [f"{strategy}: too few runs to compare laws on"]
    best = next(entry for entry in own if entry.best)
    beaten = [entry.law for entry in own if entry.beyond[1] > 0]
    level = [entry.law for entry in own if not entry.best and entry.law not in beaten]
    said = f"{strategy}: {best.law} predicts left-out runs best"
    said += f", better than {_listed(beaten)}" if beaten else ""
    said += f"; it cannot be told apart from {_listed(level)}" if level else ""
    found = [said]
    for entry in own:
        if entry.gamma:
            value, low, high = entry.gamma
            differs = "differs from 0" if low > 0 or high < 0 else "cannot be told from 0"
            found.append(
                f"{strategy}, {entry.law}: gamma {value:.3f} [{low:.3f}, {high:.3f}] {differs}"
            )
    return found


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
