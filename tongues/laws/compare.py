"""Which law do the runs support: each is fitted, and asked for the runs of most compute."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.frames import text_table
from tongues.laws import describe
from tongues.laws.fit import FitRequest, FitTask, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.predict import STACKED, Known, last_held_out, weigh_forms
from tongues.laws.rows import Rows
from tongues.laws.uncertainty import FEWEST_RUNS
from tongues.magnitudes import counted

_THIN = ("few_sizes", "few_runs")  # cautions of a fit whose intervals are too narrow
_OF_OPTIMUM = "no_interior_optimum"  # which is about no single parameter


@dataclass(frozen=True, slots=True)
class Entry:
    """One law on one strategy's runs.

    mean_huber: of the fit to all rows. error: mean absolute share by which the law, fitted without
    the runs of most compute, is off on these; None where too few are left without them.
    weight: the share that it would have in a prediction by all of them, by its predictive density
    of these runs. n_runs: that were resampled; runs that are so together count as one.
    gamma: its value and 95 % interval, where the law has one.
    doubt: why the runs are too few to know anything of gamma, however narrow its interval; empty
    where enough does.
    """

    strategy: str
    law: str
    n_rows: int
    n_runs: int
    mean_huber: float
    error: float | None
    weight: float
    gamma: tuple[float, float, float] | None
    doubt: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class LawComparison:
    """The table of fitting errors, and what follows, in sentences."""

    entries: tuple[Entry, ...]
    sentences: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """A row a law and strategy: its errors, fitted and held out, and its weight."""
        return [
            {
                "rows of": entry.strategy,
                "law": entry.law,
                "runs": str(entry.n_runs),
                "fitting error": f"{entry.mean_huber:.3e}",
                "off on the largest": "" if entry.error is None else f"{entry.error:.2%}",
                "weight": "" if entry.error is None else f"{entry.weight:.0%}",
                "gamma": _ends(entry.gamma),
            }
            for entry in self.entries
        ]

    def __repr__(self) -> str:
        """The sentences."""
        return "\n".join(self.sentences)

    def summary(self) -> str:
        """The table and the sentences."""
        return "\n".join([text_table(self.rows), *self.sentences])

    def _repr_html_(self) -> str:
        return describe.html_of(self.rows, "Which law do the runs support?", self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"compare": [asdict(e) for e in self.entries], "sentences": list(self.sentences)}


def _ends(of: tuple[float, float, float] | None) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*of) if of else ""


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
        that are made for it, and those that a fit weighs.
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
    """Fit every law to every strategy's rows, with and without the largest runs, and compare.

    request: whose delta, draws and seed count. base, forms: as for `compare`.
    """
    usual = [form for form in FORMS if form.compared or form.name in STACKED]
    compared = [FORMS.find(name) for name in forms] or usual
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
    parts = last_held_out(rows)
    small, large = parts or (rows, rows)
    tasks = {
        form.name: FitTask(
            form, rows, base if form.base else None, request.delta, request.draws, request.seed
        )
        for form in forms
        if (base or not form.base) and len(small.loss) > len(form.free)
    }
    errors, known = dict[str, float](), dict[str, Known]()
    for name, task in tasks.items() if parts else ():
        of_small = replace(task, rows=small, draws=0).fit()
        off = of_small.loss(**large.variables) / large.loss - 1.0
        errors[name] = float(np.abs(off).mean())
        draws = task.base.draws if task.base else {}
        count = len(next(iter(draws.values()), ()))
        same = {n: np.full(count, value) for n, value in of_small.params.items()} if count else {}
        taken = {n: draws[n] for n in task.form.taken_names if count}
        known[name] = (of_small.params, same | taken)
    weights = weigh_forms(rows, list(tasks), request.seed, known) if tasks else {}
    entries = list[Entry]()
    for name, task in tasks.items():
        resampled = "gamma" in task.form.free  # no other interval is shown
        law = (task if resampled else replace(task, draws=0)).fit()
        ends, unknowns = law.interval.get("gamma"), len(law.equation.free)
        shaky = {caution.code for caution in law.loose} - {_OF_OPTIMUM} | {*_THIN}
        doubt = "; ".join(c.sentence for c in law.warnings if c.code in shaky)
        if law.n_runs <= unknowns:
            doubt = f"{counted(law.n_runs, 'run')} for {unknowns} unknowns"
        entries.append(
            Entry(
                strategy=strategy,
                law=name,
                n_rows=law.n_rows,
                n_runs=law.n_runs,
                mean_huber=law.mean_huber,
                error=errors.get(name),
                weight=weights.get(name, 0.0),
                gamma=(law.params["gamma"], *ends) if ends else None,
                doubt=doubt if ends else "",
            )
        )
    return entries


def _sentences(strategy: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return [f"{strategy}: too few runs to compare laws on"]
    if entries[0].error is None:
        lines = [f"{strategy}: too few runs to hold the largest out, so no law is preferred"]
    else:
        best = max(entries, key=lambda entry: entry.weight)
        level = [e.law for e in entries if e is not best and 2 * e.weight >= best.weight]
        worse = [e.law for e in entries if 2 * e.weight < best.weight]
        first = f"{strategy}: {best.law} predicts the largest runs best"
        first += f", better than {_listed(worse)}" if worse else ""
        lines = [first + (f"; {_listed(level)} nearly as well" if level else "")]
    for entry in entries:
        if entry.gamma:
            _, low, high = entry.gamma
            verdict = (
                "differs from 0" if low > 0 or high < 0 else "no significant difference from 0"
            )
            verdict = f"inconclusive: {entry.doubt}" if entry.doubt else verdict
            lines.append(f"{strategy}, {entry.law}: gamma {_ends(entry.gamma)} {verdict}")
    return lines


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
