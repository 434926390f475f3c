"""Which law do the runs support: every law on every strategy's runs, fitted and cross-validated."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.frames import to_frame
from tongues.laws import describe
from tongues.laws.fit import Manner, Request, fit_rows, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.rows import Rows
from tongues.laws.solver import objective, pose, solve
from tongues.laws.uncertainty import FEWEST_RUNS, percentiles, refit

__all__ = ["Comparison", "Entry", "compare", "compare_rows"]

_FOLDS = 10
_BASES = 20  # draws of the base among which the error of the law on it is spread
_DRAWS = 1000
_NOTHING = (0.0, 0.0, 0.0)
_THIN = ("few_sizes", "few_runs")  # cautions of a fit whose intervals say too little
_OF_OPTIMUM = "no_interior_optimum"  # which is about no single parameter


@dataclass(frozen=True, slots=True)
class Entry:
    """One law on one strategy's runs.

    mean_huber: of the fit. validated: the same on runs left out of it, in folds.
    n_runs: that were resampled; runs that are so together count as one.
    beyond: `validated` minus that of the strategy's best law, with the 95 % interval over runs;
    zero for the best itself. gamma: its value and 95 % interval, where the law has one.
    doubt: why too little stands behind the fit to tell anything of gamma, however narrow its
    interval; empty where enough does.
    """

    strategy: str
    law: str
    n_rows: int
    n_runs: int
    mean_huber: float
    validated: float
    beyond: tuple[float, float, float]
    gamma: tuple[float, float, float] | None
    doubt: str = ""

    @property
    def best(self) -> bool:
        """Whether it predicts left-out runs best."""
        return self.beyond == _NOTHING


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The table of fitting errors, and what it says in sentences."""

    entries: tuple[Entry, ...]
    sentences: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """A row a law and strategy: its errors, fitted and on left-out runs."""
        return [
            {
                "rows of": entry.strategy,
                "law": entry.law,
                "runs": str(entry.n_runs),
                "fitting error": f"{entry.mean_huber:.3e}",
                "on left-out runs": f"{entry.validated:.3e}",
                "worse than the best by": "best"
                if entry.best
                else f"{entry.beyond[0]:.1e} [{entry.beyond[1]:.1e}, {entry.beyond[2]:.1e}]",
                "gamma": f"{entry.gamma[0]:.3f} [{entry.gamma[1]:.3f}, {entry.gamma[2]:.3f}]"
                if entry.gamma
                else "",
            }
            for entry in self.entries
        ]

    def __repr__(self) -> str:
        """The sentences."""
        return "\n".join(self.sentences)

    def summary(self) -> str:
        """The table and the sentences."""
        return "\n".join([describe.text_table(self.rows), *self.sentences])

    def to_frame(self) -> Any:
        """A row a law and strategy, as a data frame of pandas or polars."""
        names = ("strategy", "law", "n_rows", "n_runs", "mean_huber", "validated", "doubt")
        parts = {"beyond": lambda e: e.beyond, "gamma": lambda e: e.gamma or (None,) * 3}
        ends = ("", "_low", "_high")
        return to_frame(
            [
                {name: getattr(entry, name) for name in names}
                | {
                    name + end: number
                    for name, read in parts.items()
                    for end, number in zip(ends, read(entry), strict=True)
                }
                for entry in self.entries
            ]
        )

    def plot(self) -> Any:
        """The errors on left-out runs, as an altair chart."""
        alt = describe.altair()
        rows = [
            {"strategy": e.strategy, "law": e.law, "error": value, "of": of}
            for e in self.entries
            for of, value in (("left-out runs", e.validated), ("the fit", e.mean_huber))
        ]
        return (
            alt.Chart(alt.Data(values=rows), title="Mean Huber error of each law")
            .mark_point(filled=True, size=60)
            .encode(
                x=alt.X("error:Q", title="mean Huber error", scale=alt.Scale(type="log")),
                y=alt.Y("law:N", title="", sort=None),
                color=alt.Color("of:N", title="on"),
                row=alt.Row("strategy:N", title="runs"),
            )
        )

    def _repr_html_(self) -> str:
        return describe.html_of(self.rows, "Which law do the runs support?", self.sentences)

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
    forms: Sequence[str] = (),
) -> Comparison:
    """Which law the runs of each strategy support.

    by_strategy: columns `N`, `D`, `loss` and `runs`, by strategy: rows of the same run, or of runs
        that are not independent of each other, are resampled and left out together.
    base: the scratch law that the `cpt` law stands on; without it that law is left out.
    delta, draws, seed: as for `fit`. forms: the laws to compare, by their names; without it all
        that are made for it.
    """
    prepared: dict[str, Rows] = {}
    manner = Manner(delta, draws, seed)
    for strategy, columns in by_strategy.items():
        variables = {name: columns[name] for name in ("N", "D")}
        request = Request(delta=delta, draws=draws, seed=seed)
        runs = columns.get("runs")
        _, prepared[strategy], manner = prepare(request, variables, columns["loss"], runs)
    return compare_rows(prepared, base, manner, forms)


def compare_rows(
    by_strategy: Mapping[str, Rows],
    base: Law | None = None,
    manner: Manner | None = None,
    forms: Sequence[str] = (),
) -> Comparison:
    """Fit every law to every strategy's rows, cross-validate over runs, and say what holds.

    base: the scratch law that the `cpt` law stands on; without it that law is left out. forms: the
    laws to compare, by their names; without it all that are made for it.
    """
    manner = manner or Manner()
    compared = [FORMS.find(name) for name in forms] or [form for form in FORMS if form.compared]
    entries: list[Entry] = []
    for strategy, rows in by_strategy.items():
        entries += _strategy(
            strategy, rows, base if strategy != "scratch" else None, manner, compared
        )
    if not entries:
        raise UserError("no law can be compared on these rows", where="rows")
    said = [line for strategy in by_strategy for line in _sentences(strategy, entries)]
    return Comparison(tuple(entries), tuple(said))


def _strategy(
    strategy: str, rows: Rows, base: Law | None, manner: Manner, forms: Sequence[Form]
) -> list[Entry]:
    if rows.n_runs < FEWEST_RUNS:
        return []
    fitted: dict[str, Law] = {}
    errors: dict[str, np.ndarray] = {}
    for form in forms:
        if (form.base and base is None) or len(rows.loss) <= len(form.free):
            continue
        own = base if form.base else None
        fitted[form.name] = fit_rows(form, rows, own, manner)
        errors[form.name] = _left_out(form, rows, own, manner)
    if not fitted:
        return []
    best = min(errors, key=lambda name: errors[name][0].mean())
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
                validated=float(errors[name][0].mean()),
                beyond=_beyond(errors[name], errors[best], rows) if name != best else _NOTHING,
                gamma=gamma,
                doubt=_doubt(law) if gamma else "",
            )
        )
    return found


def _doubt(law: Law) -> str:
    """Why single parameters of a fit cannot be told."""
    unknowns = len(law.equation.free)
    if law.n_runs <= unknowns:
        return f"{law.n_runs} runs for {unknowns} unknowns"
    loose = {caution.code for caution in law.loose} - {_OF_OPTIMUM}
    reasons = [c.sentence for c in law.warnings if c.code in loose or c.code in _THIN]
    return "; ".join(reasons)


def _left_out(form: Form, rows: Rows, base: Law | None, manner: Manner) -> np.ndarray:
    """The Huber loss of each row under a fit that has not seen its run, (bases, rows)."""
    problem = pose(form, rows.variables, rows.loss, manner.delta)
    bases = _bases(form.taken_names, base)
    theta = solve(
        problem,
        np.ones(len(rows.loss)),
        problem.context({name: values[:1] for name, values in bases.items()}),
    ).theta[0]
    order = np.random.default_rng(manner.seed).permutation(rows.n_runs)
    fold = np.empty(rows.n_runs, int)
    fold[order] = np.arange(rows.n_runs) % min(_FOLDS, rows.n_runs)
    folds = int(fold.max()) + 1
    weights = (fold[rows.run] != np.arange(folds)[:, None]).astype(float)
    count = len(next(iter(bases.values()), [0]))
    context = problem.context({name: np.repeat(values, folds) for name, values in bases.items()})
    found = refit(problem, theta, np.tile(weights, (count, 1)), context)
    own = fold[rows.run] + folds * np.arange(count)[:, None]
    params = {n: values[own] for n, values in found.items()}
    params |= {n: np.repeat(values[:, None], len(rows.loss), 1) for n, values in bases.items()}
    residual = np.log(form.loss(params, rows.variables)) - np.log(rows.loss)
    return objective(residual[..., None], np.ones(1), manner.delta)


def _bases(names: tuple[str, ...], base: Law | None) -> dict[str, np.ndarray]:
    """The taken parameters: those of the base itself, then those of some of its draws."""
    if base is None:
        return {}
    return {
        name: np.concatenate([[base.params[name]], base.draws.get(name, np.empty(0))[:_BASES]])
        for name in names
    }


def _beyond(own: np.ndarray, best: np.ndarray, rows: Rows) -> tuple[float, float, float]:
    """The mean difference, with its bootstrap interval over runs and draws of the base."""
    random = np.random.default_rng(0)
    drawn = random.integers(rows.n_runs, size=(_DRAWS, rows.n_runs))
    counts = np.bincount(rows.run, minlength=rows.n_runs)
    sums = [_per_run(errors, rows) for errors in (own, best)]
    picked = [random.integers(len(of_base), size=_DRAWS) for of_base in sums]
    totals = (
        np.take_along_axis(of_base[pick], drawn, axis=1).sum(1)
        for of_base, pick in zip(sums, picked, strict=True)
    )
    first, second = totals
    low, high = percentiles((first - second) / counts[drawn].sum(1))
    return float(own[0].mean() - best[0].mean()), float(low), float(high)


def _per_run(errors: np.ndarray, rows: Rows) -> np.ndarray:
    """The sum of each run's errors, (bases, runs)."""
    return np.stack([np.bincount(rows.run, one, rows.n_runs) for one in errors])


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
            if entry.doubt:
                differs = f"cannot be told: {entry.doubt}"
            found.append(
                f"{strategy}, {entry.law}: gamma {value:.3f} [{low:.3f}, {high:.3f}] {differs}"
            )
    return found


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
