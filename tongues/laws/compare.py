"""Which law do the runs support: every law on every strategy's runs, fitted and cross-validated."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.frames import text_table, to_frame
from tongues.laws import describe
from tongues.laws.fit import FitRequest, FitTask, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.rows import Rows
from tongues.laws.solver import objective, solve
from tongues.laws.uncertainty import FEWEST_RUNS, percentiles, refit

__all__ = ["Entry", "LawComparison", "compare", "compare_rows"]

_FOLDS = 10
_BASES = 20  # draws of the base among which the error of the law on it is spread
_DRAWS = 1000
_NOTHING = (0.0, 0.0, 0.0)
_THIN = ("few_sizes", "few_runs")  # cautions of a fit whose intervals are too narrow
_OF_OPTIMUM = "no_interior_optimum"  # which is about no single parameter


@dataclass(frozen=True, slots=True)
class Entry:
    """One law on one strategy's runs.

    mean_huber: of the fit. validated: the same on runs left out of it, in folds.
    n_runs: that were resampled; runs that are so together count as one.
    beyond: `validated` minus that of the strategy's best law, with the 95 % interval over runs;
    zero for the best itself. gamma: its value and 95 % interval, where the law has one.
    doubt: why the runs are too few to know anything of gamma, however narrow its
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
class LawComparison:
    """The table of fitting errors, and what follows, in sentences."""

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
                "worse than the best by": "best" if entry.best else _ends(entry.beyond, ".1e"),
                "gamma": _ends(entry.gamma, ".3f"),
            }
            for entry in self.entries
        ]

    def __repr__(self) -> str:
        """The sentences."""
        return "\n".join(self.sentences)

    def summary(self) -> str:
        """The table and the sentences."""
        return "\n".join([text_table(self.rows), *self.sentences])

    def to_frame(self) -> Any:
        """A row a law and strategy, as a data frame of pandas or polars."""
        rows = []
        for entry in self.entries:
            row = asdict(entry)
            for name in ("beyond", "gamma"):
                ends = row.pop(name) or (None,) * 3
                row |= zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)
            rows.append(row)
        return to_frame(rows)

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


def _ends(of: tuple[float, float, float] | None, show: str) -> str:
    return f"{of[0]:{show}} [{of[1]:{show}}, {of[2]:{show}}]" if of else ""


def compare(
    by_strategy: Mapping[str, Mapping[str, ArrayLike]],
    base: Law | None = None,
    *,
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
    forms: Sequence[str] = (),
) -> LawComparison:
    """Which law the runs of each strategy support.

    by_strategy: columns `N`, `D`, `loss` and `runs`, by strategy: rows of the same run, or of runs
        that are not independent of each other, are resampled and left out together.
    base: the scratch law that the `cpt` law takes parameters from; without it that law is left out.
    delta, draws, seed: as for `fit`. forms: the laws to compare, by their names; without it all
        that are made for it.
    """
    request = FitRequest(delta=delta, draws=draws, seed=seed)
    rows = {
        strategy: prepare(request, {n: of[n] for n in "ND"}, of["loss"], of.get("runs")).rows
        for strategy, of in by_strategy.items()
    }
    return compare_rows(rows, request, base, forms)


def compare_rows(
    by_strategy: Mapping[str, Rows],
    request: FitRequest,
    base: Law | None = None,
    forms: Sequence[str] = (),
) -> LawComparison:
    """Fit every law to every strategy's rows, cross-validate over runs, and report what holds.

    request: whose delta, draws and seed count. base, forms: as for `compare`.
    """
    compared = [FORMS.find(name) for name in forms] or [form for form in FORMS if form.compared]
    entries = {
        strategy: _entries(
            strategy, rows, base if strategy != "scratch" else None, request, compared
        )
        for strategy, rows in by_strategy.items()
    }
    if not any(entries.values()):
        raise UserError("no law can be compared on these rows", where="rows")
    sentences = [line for strategy, own in entries.items() for line in _sentences(strategy, own)]
    return LawComparison(tuple(one for own in entries.values() for one in own), tuple(sentences))


def _entries(
    strategy: str, rows: Rows, base: Law | None, request: FitRequest, forms: Sequence[Form]
) -> list[Entry]:
    if rows.n_runs < FEWEST_RUNS:
        return []
    fitted: dict[str, Law] = {}
    errors: dict[str, np.ndarray] = {}
    for form in forms:
        if (form.base and base is None) or len(rows.loss) <= len(form.free):
            continue
        own = base if form.base else None
        task = FitTask(form, rows, own, request.delta, request.draws, request.seed)
        fitted[form.name], errors[form.name] = task.fit(), _left_out(task)
    entries = []
    for name, law in fitted.items():
        best = min(errors.values(), key=lambda of_law: of_law[0].mean())
        ends, unknowns = law.interval.get("gamma"), len(law.equation.free)
        shaky = {caution.code for caution in law.loose} - {_OF_OPTIMUM} | {*_THIN}
        doubt = "; ".join(c.sentence for c in law.warnings if c.code in shaky)
        if law.n_runs <= unknowns:
            doubt = f"{law.n_runs} runs for {unknowns} unknowns"
        entries.append(
            Entry(
                strategy=strategy,
                law=name,
                n_rows=law.n_rows,
                n_runs=law.n_runs,
                mean_huber=law.mean_huber,
                validated=float(errors[name][0].mean()),
                beyond=_NOTHING if errors[name] is best else _beyond(errors[name], best, rows),
                gamma=(law.params["gamma"], *ends) if ends else None,
                doubt=doubt if ends else "",
            )
        )
    return entries


def _left_out(task: FitTask) -> np.ndarray:
    """The Huber loss of each row under a fit that has not seen its run, (bases, rows).

    Bases are the base itself, then some of its draws.
    """
    problem, rows, draws = task.pose(), task.rows, task.base.draws if task.base else {}
    bases = {n: np.append(v, draws.get(n, np.empty(0))[:_BASES]) for n, v in task.taken.items()}
    theta = solve(problem, np.ones(len(rows.loss)), problem.context(task.taken)).theta[0]
    order = np.random.default_rng(task.seed).permutation(rows.n_runs)
    fold = np.empty(rows.n_runs, int)
    fold[order] = np.arange(rows.n_runs) % min(_FOLDS, rows.n_runs)
    folds = int(fold.max()) + 1
    weights = (fold[rows.run] != np.arange(folds)[:, None]).astype(float)
    count = len(next(iter(bases.values()), [0]))
    context = problem.context({name: np.repeat(values, folds) for name, values in bases.items()})
    refitted = refit(problem, theta, np.tile(weights, (count, 1)), context)
    own = fold[rows.run] + folds * np.arange(count)[:, None]
    params = {n: values[own] for n, values in refitted.items()}
    params |= {n: np.repeat(values[:, None], len(rows.loss), 1) for n, values in bases.items()}
    residual = np.log(task.form.loss(params, rows.variables)) - np.log(rows.loss)
    return objective(residual[..., None], np.ones(1), task.delta)


def _beyond(own: np.ndarray, best: np.ndarray, rows: Rows) -> tuple[float, float, float]:
    """The mean difference, with its bootstrap interval over runs and draws of the base."""
    random = np.random.default_rng(0)
    drawn = random.integers(rows.n_runs, size=(_DRAWS, rows.n_runs))
    picked = [random.integers(len(errors), size=_DRAWS) for errors in (own, best)]
    first, second = (
        np.stack([np.bincount(rows.run, one, rows.n_runs) for one in errors])[pick[:, None], drawn]
        for errors, pick in zip((own, best), picked, strict=True)
    )
    counts = np.bincount(rows.run, minlength=rows.n_runs)[drawn].sum(1)
    low, high = percentiles((first.sum(1) - second.sum(1)) / counts)
    return float(own[0].mean() - best[0].mean()), float(low), float(high)


def _sentences(strategy: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return [f"{strategy}: too few runs to compare laws on"]
    best = next(entry for entry in entries if entry.best)
    beaten = [entry.law for entry in entries if entry.beyond[1] > 0]
    level = [entry.law for entry in entries if not entry.best and entry.law not in beaten]
    first = f"{strategy}: {best.law} predicts left-out runs best"
    first += f", better than {_listed(beaten)}" if beaten else ""
    lines = [first + (f"; no significant difference to {_listed(level)}" if level else "")]
    for entry in entries:
        if entry.gamma:
            _, low, high = entry.gamma
            verdict = (
                "differs from 0" if low > 0 or high < 0 else "no significant difference from 0"
            )
            verdict = f"inconclusive: {entry.doubt}" if entry.doubt else verdict
            lines.append(f"{strategy}, {entry.law}: gamma {_ends(entry.gamma, '.3f')} {verdict}")
    return lines


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
