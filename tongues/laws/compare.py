"""Which law do the runs support: each is fitted, and asked for the runs of most compute."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.errors import UserError
from tongues.core.magnitudes import counted
from tongues.laws import words
from tongues.laws.fit import FitTask, fit_observed, prepare
from tongues.laws.forms import FORMS
from tongues.laws.law import Law
from tongues.laws.rows import FEWEST_RUNS, hold_out_compute
from tongues.runs.tables import Observations

_THIN = ("few_sizes", "few_runs")  # cautions of a fit whose intervals are too narrow
_OF_OPTIMUM = "no_interior_optimum"  # which is about no single parameter
_FEWEST = 3  # runs held out to compare by
_LEFT = 7  # runs that stay to be fitted


@dataclass(frozen=True, slots=True)
class Entry:
    """One law on one strategy's runs.

    mean_huber: of the fit to all rows. error: mean absolute share by which the law, fitted without
    the runs of most compute, is off on these; None where too few are left without them.
    n_runs: that were resampled; runs that are so together count as one.
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
    gamma: tuple[float, float, float] | None
    doubt: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class LawComparison:
    """The table of fitting errors; strategies: all that were asked about."""

    entries: tuple[Entry, ...]
    strategies: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What follows from it."""
        return tuple(line for strategy in self.strategies for line in self._sentences(strategy))

    def _sentences(self, strategy: str) -> Iterator[str]:
        own = [entry for entry in self.entries if entry.strategy == strategy]
        errors = {entry.law: entry.error for entry in own if entry.error is not None}
        if not own:
            yield words.law_line("none compared", rows=strategy)
        elif not errors:
            yield words.law_line("none held out", rows=strategy)
        else:
            first, *rest = sorted(errors, key=errors.__getitem__)
            others = ", ".join(f"{name} {errors[name]:.2%}" for name in rest)
            facts = {"law": first, "error": errors[first], "others": others}
            kind = "nearest of several" if rest else "nearest"
            yield words.law_line(kind, rows=strategy, **facts)
        for one in own:
            if one.gamma:
                apart = "differs" if one.gamma[1] > 0 or one.gamma[2] < 0 else "of 0"
                kind = f"gamma {'unknown' if one.doubt else apart}"
                facts = {"gamma": _ends(one.gamma), "doubt": one.doubt}
                yield words.law_line(kind, rows=strategy, law=one.law, **facts)

    @property
    def rows(self) -> list[dict[str, str]]:
        """A row a law and strategy: its errors, fitted and held out."""
        return [
            {
                "rows of": entry.strategy,
                "law": entry.law,
                "runs": str(entry.n_runs),
                "fitting error": f"{entry.mean_huber:.3e}",
                "off on the largest": "" if entry.error is None else f"{entry.error:.2%}",
                "gamma": _ends(entry.gamma) if entry.gamma else "",
            }
            for entry in self.entries
        ]

    def __repr__(self) -> str:
        """The sentences."""
        return "\n".join(self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"compare": [asdict(e) for e in self.entries], "sentences": list(self.sentences)}


def _ends(gamma: tuple[float, float, float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*gamma)


def compare(
    by_strategy: Mapping[str, Mapping[str, ArrayLike]],
    base: Law | None = None,
    *,
    draws: int = 1000,
) -> LawComparison:
    """Which law the runs of each strategy support.

    by_strategy: columns `N`, `D`, `loss` and `runs`, by strategy: rows of the same run, or of runs
        that are not independent of each other, are resampled and left out together.
    base: the scratch law that the `cpt` law takes parameters from; without it that law is left out.
    draws: as for `fit`.
    """
    entries = dict[str, list[Entry]]()
    for strategy, of in by_strategy.items():
        variables = {name: of[name] for name in "ND"}
        runs, named = of.get("runs"), "chinchilla"
        task = prepare(named, variables, of["loss"], runs, draws=draws)
        entries[strategy] = _entries(strategy, task, base if strategy != "scratch" else None)
    if not any(entries.values()):
        raise UserError("no law can be compared on these rows", where="rows")
    return LawComparison(tuple(one for own in entries.values() for one in own), tuple(entries))


def compare_observed(
    by_strategy: Mapping[str, Observations], base: Law | None, draws: int
) -> LawComparison:
    """The same of rows from a table or from runs; those of one unit count as one run.

    base: None for a law fitted to the rows from scratch.
    """
    if base is None and "scratch" in by_strategy and len(by_strategy) > 1:
        base = fit_observed(by_strategy["scratch"], "chinchilla", draws=draws)
    columns = {
        strategy or "all rows": {
            **own.variables,
            "loss": own.loss,
            "runs": own.units or own.runs or [],
        }
        for strategy, own in by_strategy.items()
    }
    return compare(columns, base, draws=draws)


def _entries(strategy: str, task: FitTask, base: Law | None) -> list[Entry]:
    rows = task.rows
    if rows.n_runs < FEWEST_RUNS:
        return []
    held = hold_out_compute(rows, _FEWEST)
    if held is not None and len(np.unique(rows.run[~held])) < _LEFT:
        held = None
    entries = list[Entry]()
    for form in (form for form in FORMS if form.compared):
        task = replace(task, form=form, base=base if form.base else None)
        small = task if held is None else replace(task, rows=rows.take(~held), draws=0)
        if (form.base and not base) or len(small.rows.loss) <= len(form.free):
            continue
        error = None
        if held is not None:
            large = rows.take(held)
            off = small.fit().loss(**large.variables) / large.loss - 1.0
            error = float(np.abs(off).mean())
        law = (task if "gamma" in form.free else replace(task, draws=0)).fit()
        ends = law.interval.get("gamma")  # no other interval is shown
        shaky = {caution.code for caution in law.loose} - {_OF_OPTIMUM} | {*_THIN}
        doubt = "; ".join(c.sentence for c in law.warnings if c.code in shaky)
        if law.n_runs <= len(form.free):
            doubt = words.law_line(
                "unknowns", runs=counted(law.n_runs, "run"), unknowns=len(form.free)
            )
        gamma = (law.params["gamma"], *ends) if ends else None
        size = law.n_rows, law.n_runs, law.mean_huber
        entries.append(Entry(strategy, form.name, *size, error, gamma, doubt if ends else ""))
    return entries
