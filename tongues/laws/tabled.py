"""From a table, or the directories of runs, to the law that was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws.compare import Comparison, compare_rows
from tongues.laws.fit import Manner, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.observed import gather, usual_bases
from tongues.laws.rows import Rows
from tongues.laws.targets import base_losses, law_rows, units_of
from tongues.laws.trust import fit_examined
from tongues.tables import Table, find_columns, number, observe, select

__all__ = [
    "Columns",
    "Fitted",
    "Request",
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
class Request:
    """Which law, and how; as for `tongues.laws.fit`.

    base: the law to stand on; without it, it is fitted on the rows at hand.
    drop_highest: how many of the highest losses to leave out of the fit.
    """

    law: str = "chinchilla"
    base: Law | None = None
    drop_highest: int = 0
    delta: float = 1e-3
    draws: int = 1000
    seed: int = 0
    fix: Mapping[str, float] = field(default_factory=dict)
    tie: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows to fit on: variables by name, losses, the run of each row (None: one each).

    units: what is resampled as one, of each row; the runs where it is not given.
    """

    variables: Mapping[str, np.ndarray]
    loss: np.ndarray
    runs: Sequence[str] | None
    units: Sequence[str] | None = None

    def take(self, rows: np.ndarray) -> Self:
        """The rows of a mask."""
        index = np.flatnonzero(rows)
        return type(self)(
            {name: values[index] for name, values in self.variables.items()},
            self.loss[index],
            _at(self.runs, index),
            _at(self.units, index),
        )

    def without_highest(self, count: int) -> Self:
        """Without so many of the highest losses."""
        order = np.argsort(self.loss, kind="stable")
        return self.take(np.isin(np.arange(len(order)), order[: max(len(order) - count, 0)]))


def _at(names: Sequence[str] | None, index: np.ndarray) -> list[str] | None:
    return None if names is None else [names[int(i)] for i in index]


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
    table: Table, roles: Mapping[str, str | None], where: str | None, law: str, needs: Sequence[str]
) -> tuple[dict[str, Columns], tuple[Caution, ...]]:
    """The chosen rows of a table by strategy, and what was found odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`. Rows
        with replay are left out, but for the law of forgetting, as with directories of runs.
    """
    chosen = select(table, where) if where else table
    chosen, doubts = _without_replay(chosen, roles, law)
    found = observe(chosen, roles, needs)
    every = Columns(found.variables, found.loss, found.runs or found.places)
    if found.strategies is None:
        return {"": every}, (*doubts, *found.warnings, *_unused_strategies(chosen))
    named = np.array([_strategy(name) for name in found.strategies])
    by_strategy = {name: every.take(named == name) for name in dict.fromkeys(named.tolist())}
    return by_strategy, (*doubts, *found.warnings)


def _strategy(name: str) -> str:
    """The strategy's name here, of what a table calls it."""
    plain = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
    return _ALSO_CALLED.get(plain, plain) or _UNNAMED


def _without_replay(
    table: Table, roles: Mapping[str, str | None], law: str
) -> tuple[Table, tuple[Caution, ...]]:
    column = find_columns(table, roles).get("r")
    if column is None or "r" in FORMS.find(law).variables:
        return table, ()
    plain = [i for i, cell in enumerate(table.columns[column]) if not number(cell)]
    left = len(table) - len(plain)
    if not left or not plain:
        return table, ()
    what = f"{left} rows with replay (`{column}` above 0) are left out: the {law} law is about none"
    return table.take(plain), (Caution("replay_left_out", what),)


def _unused_strategies(table: Table) -> tuple[Caution, ...]:
    """A caution where a column looks like strategies that were meant to be told apart."""
    for name, cells in table.columns.items():
        words = {_strategy(cell) for cell in cells if isinstance(cell, str)}
        if {"scratch", "cpt"} <= words:
            sentence = f"`{name}` tells scratch and continued rows apart; all were taken as one"
            return (Caution("strategies_pooled", f"{sentence}: name it with --strategy"),)
    return ()


def columns_of_runs(rows: Iterable[Mapping[str, Any]], law: str) -> tuple[dict[str, Columns], str]:
    """What finished runs learned, by strategy, and their one target.

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
        continued = [run for run in usual_bases(runs) if run.strategy == "cpt"]
        D, r, S, loss, names = base_losses(continued)
        units = units_of(continued, names)
        return {"cpt": Columns({"D": D, "r": r, "S": S}, loss, names, units)}, targets[0]
    found = {
        strategy: Columns(
            {"N": rows.N, "D": rows.D, "C": rows.C},
            rows.loss,
            rows.runs,
            units_of(runs, rows.runs),
        )
        for strategy, rows in law_rows(runs)[0].items()
    }
    return found, targets[0]


def fit_columns(by_strategy: Mapping[str, Columns], request: Request) -> Fitted:
    """Fit the law asked for to the rows of its strategy, on the base asked for or fitted first."""
    form = FORMS.find(request.law)
    strategy, own = _own(by_strategy, form)
    others = [name for name in by_strategy if name != strategy and name not in _KNOWN]
    left = sum(len(by_strategy[name].loss) for name in others)
    base = None
    if form.base and request.base is None:
        of_base, request = _shared_out(form, FORMS.find(form.base), request)
        base = _fit_base(form, by_strategy, own, of_base)
    under = request.base or (base.law if base else None)
    below = base.rows if base else None
    kept = own.without_highest(request.drop_highest)
    fitted = _fit(form.name, kept, under, request, below)
    doubts = fitted.law.warnings
    if others:
        said = (
            f"{left} rows of strategy {', '.join(others)} are left out; known are scratch and cpt"
        )
        doubts = (Caution("other_strategies", said), *doubts)
    known = strategy if strategy in _KNOWN else ""
    return Fitted(replace(fitted.law, strategy=known, warnings=doubts), fitted.rows, base)


def compare_columns(by_strategy: Mapping[str, Columns], request: Request) -> Comparison:
    """Every law on every strategy's rows."""
    prepared: dict[str, Rows] = {}
    manner = Manner()
    for strategy, columns in by_strategy.items():
        kept = columns.without_highest(request.drop_highest)
        _, prepared[strategy or "all rows"], manner = _prepare("chinchilla", kept, None, request)
    base = request.base
    if base is None and "scratch" in by_strategy and len(by_strategy) > 1:
        rows = by_strategy["scratch"].without_highest(request.drop_highest)
        base = _fit("chinchilla", rows, None, request).law
    return compare_rows(prepared, base, manner)


def _own(by_strategy: Mapping[str, Columns], form: Form) -> tuple[str, Columns]:
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


def _fit_base(
    form: Form, by_strategy: Mapping[str, Columns], own: Columns, request: Request
) -> Fitted:
    """The law underneath: of scratch rows, or of the rows that repeat nothing."""
    if "U" in own.variables:
        rows = own.take(own.variables["D"] <= own.variables["U"])
    elif "scratch" in by_strategy and own is not by_strategy["scratch"]:
        rows = by_strategy["scratch"]
    else:
        raise UserError(
            f"the {form.name} law stands on a {form.base} law, and no row is from scratch",
            where="base",
            hint="give it with --base law.json, or rows whose strategy is `scratch`",
            code="missing_base",
        )
    fitted = _fit(form.base or "", rows.without_highest(request.drop_highest), None, request)
    return replace(fitted, law=replace(fitted.law, strategy="scratch"))


def _shared_out(form: Form, base: Form, request: Request) -> tuple[Request, Request]:
    """What is fixed or tied goes to the law whose parameter it is: the base, or the form itself."""
    below = set(base.free) - set(form.free)
    ties = [pair for pair in request.tie if below.issuperset(pair)]
    fixed = {name: value for name, value in request.fix.items() if name in below}
    own = {name: value for name, value in request.fix.items() if name not in below}
    rest = [pair for pair in request.tie if pair not in ties]
    return replace(request, fix=fixed, tie=ties), replace(request, fix=own, tie=rest)


def _fit(
    law: str,
    columns: Columns,
    base: Law | None,
    request: Request,
    base_rows: Rows | None = None,
) -> Fitted:
    form, rows, manner = _prepare(law, columns, base, request)
    fitted = fit_examined(form, rows, base, manner, base_rows)
    if columns.units and columns.runs:
        fitted = replace(fitted, n_runs=len(set(columns.runs)))
    return Fitted(fitted, rows)


def _prepare(
    law: str, columns: Columns, base: Law | None, request: Request
) -> tuple[Form, Rows, Manner]:
    return prepare(
        law,
        columns.variables,
        columns.loss,
        columns.units or columns.runs,
        base,
        delta=request.delta,
        draws=request.draws,
        seed=request.seed,
        fix=request.fix,
        tie=request.tie,
    )
