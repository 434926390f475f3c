"""From a table, or the directories of runs, to the law that was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws.compare import Comparison, compare_rows
from tongues.laws.fit import Manner, Request, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.observed import gather, usual_bases
from tongues.laws.rows import Rows
from tongues.laws.targets import base_losses, law_rows
from tongues.laws.trust import fit_observed
from tongues.tables import Observations, RunTable, find_columns, number, observe, select_rows

__all__ = [
    "Fitted",
    "columns_of_runs",
    "columns_of_table",
    "compare_columns",
    "fit_columns",
]

_KNOWN = {"source", "scratch", "cpt"}
_ALSO_CALLED = {"from_scratch": "scratch", "continued": "cpt", "continual": "cpt"}
_ALSO_CALLED |= {"continued_pretraining": "cpt", "continual_pretraining": "cpt"}
_UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law with the rows it was fitted on, and the one it stands on where that was fitted too."""

    law: Law
    rows: Rows
    base: "Fitted | None" = None

    @property
    def all(self) -> tuple["Fitted", ...]:
        """The base, where it was fitted too, then the law."""
        return (self.base, self) if self.base else (self,)


def columns_of_table(
    table: RunTable, roles: Mapping[str, str | None], where: str | None, law: str, needs: Sequence[str]
) -> tuple[dict[str, Observations], tuple[Caution, ...]]:
    """The chosen rows of a table by strategy, and what was found odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`. Rows
        with replay are left out, but for the law of forgetting, as with directories of runs.
    """
    chosen = select_rows(table, where) if where else table
    chosen, doubts = _without_replay(chosen, roles, law)
    every = observe(chosen, roles, needs)
    every = replace(every, runs=every.runs or every.places)
    if every.strategies is None:
        return {"": every}, (*doubts, *every.warnings, *_unused_strategies(chosen))
    named = np.array([_strategy(name) for name in every.strategies])
    by_strategy = {name: every.take(named == name) for name in dict.fromkeys(named.tolist())}
    return by_strategy, (*doubts, *every.warnings)


def _strategy(name: str) -> str:
    """The strategy's name here, of what a table calls it."""
    plain = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
    return _ALSO_CALLED.get(plain, plain) or _UNNAMED


def _without_replay(
    table: RunTable, roles: Mapping[str, str | None], law: str
) -> tuple[RunTable, tuple[Caution, ...]]:
    column = find_columns(table, roles).get("r")
    if column is None or "r" in FORMS.find(law).variables:
        return table, ()
    plain = [i for i, cell in enumerate(table.columns[column]) if not number(cell)]
    left = len(table) - len(plain)
    if not left or not plain:
        return table, ()
    what = f"{left} rows with replay (`{column}` above 0) are left out: the {law} law is about none"
    return table.take(plain), (Caution("replay_left_out", what),)


def _unused_strategies(table: RunTable) -> tuple[Caution, ...]:
    """A caution where a column looks like strategies that were meant to be told apart."""
    for name, cells in table.columns.items():
        words = {_strategy(cell) for cell in cells if isinstance(cell, str)}
        if {"scratch", "cpt"} <= words:
            sentence = f"`{name}` tells scratch and continued rows apart; all were taken as one"
            return (Caution("strategies_pooled", f"{sentence}: name it with --strategy"),)
    return ()


def columns_of_runs(rows: Iterable[Mapping[str, Any]], law: str) -> dict[str, Observations]:
    """What finished runs of one target learned, by strategy.

    Runs of a shape and seed share their text and their base, and are resampled together.
    rows: of `tongues.runs.table`. Continued runs with replay are left out, but for the law of
    forgetting, which is about what they lost of their source.
    """
    runs = gather(rows)
    targets = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    if len(targets) != 1:
        raise UserError(
            f"the runs learn {len(targets)} target languages: {', '.join(targets)}",
            where="runs",
            hint="""choose one, as in --where "target == 'xx'", or leave out --law for all laws""",
            code="several_languages",
        )
    if FORMS.find(law).role == "forgetting":
        return {"cpt": base_losses([r for r in usual_bases(runs) if r.strategy == "cpt"])}
    return law_rows(runs)[0]


def fit_columns(by_strategy: Mapping[str, Observations], request: Request) -> Fitted:
    """Fit the law asked for to the rows of its strategy, on the base asked for or fitted first."""
    form = FORMS.find(request.law)
    strategy, own = _own(by_strategy, form)
    others = [name for name in by_strategy if name != strategy and name not in _KNOWN]
    base = None
    if form.base and request.base is None:
        of_base, request = _shared_out(form, FORMS.find(form.base), request)
        law, rows = fit_observed(_base_rows(form, by_strategy, own), of_base)
        base = Fitted(replace(law, strategy="scratch"), rows)
        request = replace(request, base=base.law)
    law, rows = fit_observed(own, request, base.rows if base else None)
    doubts = law.warnings
    if others:
        left = sum(len(by_strategy[name]) for name in others)
        what = f"{left} rows of strategy {', '.join(others)} are left out"
        doubts = (Caution("other_strategies", f"{what}; known are scratch and cpt"), *doubts)
    known = strategy if strategy in _KNOWN else ""
    return Fitted(replace(law, strategy=known, warnings=doubts), rows, base)


def compare_columns(by_strategy: Mapping[str, Observations], request: Request) -> Comparison:
    """Every law on every strategy's rows."""
    prepared: dict[str, Rows] = {}
    manner = Manner()
    plain = replace(request, law="chinchilla", base=None)
    for strategy, observed in by_strategy.items():
        kept = observed.without_highest(request.drop_highest)
        units = kept.units or kept.runs
        _, rows, manner = prepare(plain, kept.variables, kept.loss, units)
        prepared[strategy or "all rows"] = rows
    base = request.base
    if base is None and "scratch" in by_strategy and len(by_strategy) > 1:
        base, _ = fit_observed(by_strategy["scratch"], plain)
    return compare_rows(prepared, base, manner)


def _own(by_strategy: Mapping[str, Observations], form: Form) -> tuple[str, Observations]:
    """The rows a law is about: those of its strategy, or all when there is only one."""
    wanted = form.strategy
    if wanted in by_strategy:
        return wanted, by_strategy[wanted]
    if len(by_strategy) == 1:
        return next(iter(by_strategy.items()))
    raise UserError(
        f"the rows are of the strategies {', '.join(by_strategy)}; the {form.name} law is about "
        + (f"`{wanted}`" if wanted else "one"),
        where="--strategy",
        hint="call them `scratch` and `cpt` in the table, or choose rows with --where",
        code="several_strategies",
    )


def _base_rows(
    form: Form, by_strategy: Mapping[str, Observations], own: Observations
) -> Observations:
    """What the law underneath is fitted on: scratch rows, or the rows that repeat nothing."""
    if "U" in own.variables:
        return own.take(own.variables["D"] <= own.variables["U"])
    if "scratch" in by_strategy and own is not by_strategy["scratch"]:
        return by_strategy["scratch"]
    raise UserError(
        f"the {form.name} law stands on a {form.base} law, and no row is from scratch",
        where="base",
        hint="give it with --base law.json, or rows whose strategy is `scratch`",
        code="missing_base",
    )


def _shared_out(form: Form, base: Form, request: Request) -> tuple[Request, Request]:
    """What is fixed or tied goes to the law whose parameter it is: the base, or the form itself."""
    below = set(base.free) - set(form.free)
    ties = [pair for pair in request.tie if below.issuperset(pair)]
    fixed = {name: value for name, value in request.fix.items() if name in below}
    own = {name: value for name, value in request.fix.items() if name not in below}
    rest = [pair for pair in request.tie if pair not in ties]
    of_base = replace(request, law=base.name, base=None, fix=fixed, tie=ties)
    return of_base, replace(request, fix=own, tie=rest)
