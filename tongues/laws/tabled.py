"""From a table, or the directories of runs, to the law that was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws.compare import Comparison, compare_rows
from tongues.laws.fit import Manner, prepare
from tongues.laws.forms import AnyForm, find_form
from tongues.laws.law import Law
from tongues.laws.observed import gather
from tongues.laws.rows import Rows
from tongues.laws.targets import settled, source_losses
from tongues.laws.trust import fit_examined
from tongues.tables import Table, observe, select

__all__ = [
    "Columns",
    "Fitted",
    "Request",
    "columns_of_runs",
    "columns_of_table",
    "compare_columns",
    "fit_columns",
]

_OF_STRATEGY = {"chinchilla": "scratch", "cpt": "cpt", "data-constrained": "scratch"}


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
    """Rows to fit on: variables by name, losses, the run of each row (None: one each)."""

    variables: Mapping[str, np.ndarray]
    loss: np.ndarray
    runs: Sequence[str] | None

    def take(self, rows: np.ndarray) -> Self:
        """The rows of a mask."""
        index = np.flatnonzero(rows)
        return type(self)(
            {name: values[index] for name, values in self.variables.items()},
            self.loss[index],
            None if self.runs is None else [self.runs[i] for i in index.tolist()],
        )

    def without_highest(self, count: int) -> Self:
        """Without so many of the highest losses."""
        order = np.argsort(self.loss, kind="stable")
        return self.take(np.isin(np.arange(len(order)), order[: max(len(order) - count, 0)]))


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
    table: Table, roles: Mapping[str, str | None], where: str | None, needs: Iterable[str]
) -> tuple[dict[str, Columns], tuple[Caution, ...]]:
    """The chosen rows of a table by strategy, and what was found odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`.
    """
    found = observe(select(table, where) if where else table, roles, tuple(needs))
    every = Columns(found.variables, found.loss, found.runs)
    if found.strategies is None:
        return {"": every}, found.warnings
    named = np.array(found.strategies)
    return {name: every.take(named == name) for name in dict.fromkeys(found.strategies)}, (
        found.warnings
    )


def columns_of_runs(rows: Iterable[Mapping[str, Any]], law: str) -> tuple[dict[str, Columns], str]:
    """What finished runs learned past their warm-up, by strategy, and their one target.

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
    if law == "forgetting":
        D, r, S, loss, names = source_losses([run for run in runs if run.strategy == "cpt"])
        return {"cpt": Columns({"D": D, "r": r, "S": S}, loss, names)}, targets[0]
    found = {}
    for strategy in ("scratch", "cpt"):
        own = [run for run in runs if run.strategy == strategy and not run.replay]
        if own:
            N, D, C, loss, names = settled(own)
            found[strategy] = Columns({"N": N, "D": D, "C": C}, loss, names)
    return found, targets[0]


def fit_columns(by_strategy: Mapping[str, Columns], request: Request) -> Fitted:
    """Fit the law asked for to the rows of its strategy, on the base asked for or fitted first."""
    form = find_form(request.law)
    strategy, own = _own(by_strategy, request.law)
    base = None
    if form.base and request.base is None:
        below, request = _shared_out(form, find_form(form.base), request)
        base = _fit_base(form, by_strategy, own, below)
    under = request.base or (base.law if base else None)
    fitted = _fit(request.law, own.without_highest(request.drop_highest), under, request)
    return Fitted(replace(fitted.law, strategy=strategy), fitted.rows, base)


def compare_columns(by_strategy: Mapping[str, Columns], request: Request) -> Comparison:
    """Every law on every strategy's rows."""
    prepared: dict[str, Rows] = {}
    manner = Manner()
    for strategy, columns in by_strategy.items():
        kept = columns.without_highest(request.drop_highest)
        _, prepared[strategy or "all rows"], manner = _prepare("chinchilla", kept, None, request)
    base = request.base
    if base is None and "scratch" in by_strategy and len(by_strategy) > 1:
        base = _fit("chinchilla", by_strategy["scratch"], None, request).law
    return compare_rows(prepared, base, manner)


def _own(by_strategy: Mapping[str, Columns], law: str) -> tuple[str, Columns]:
    """The rows a law is about: those of its strategy, or all when there is only one."""
    wanted = _OF_STRATEGY.get(law, "scratch")
    if wanted in by_strategy:
        return wanted, by_strategy[wanted]
    if len(by_strategy) == 1:
        return next(iter(by_strategy.items()))
    raise UserError(
        f"the rows are of the strategies {', '.join(by_strategy)}, and the {law} law is about one",
        where="strategy",
        hint="""choose one, as in --where "strategy == 'cpt'" """.rstrip(),
        code="several_strategies",
    )


def _fit_base(
    form: AnyForm, by_strategy: Mapping[str, Columns], own: Columns, request: Request
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
    fitted = _fit(form.base or "", rows, None, request)
    return replace(fitted, law=replace(fitted.law, strategy="scratch"))


def _shared_out(form: AnyForm, base: AnyForm, request: Request) -> tuple[Request, Request]:
    """What is fixed or tied goes to the law whose parameter it is: the base, or the form itself."""
    below = set(base.free) - set(form.free)
    ties = [pair for pair in request.tie if below.issuperset(pair)]
    fixed = {name: value for name, value in request.fix.items() if name in below}
    own = {name: value for name, value in request.fix.items() if name not in below}
    rest = [pair for pair in request.tie if pair not in ties]
    return replace(request, fix=fixed, tie=ties), replace(request, fix=own, tie=rest)


def _fit(law: str, columns: Columns, base: Law | None, request: Request) -> Fitted:
    form, rows, manner = _prepare(law, columns, base, request)
    return Fitted(fit_examined(form, rows, base, manner), rows)


def _prepare(
    law: str, columns: Columns, base: Law | None, request: Request
) -> tuple[AnyForm, Rows, Manner]:
    return prepare(
        law,
        columns.variables,
        columns.loss,
        columns.runs,
        base,
        delta=request.delta,
        draws=request.draws,
        seed=request.seed,
        fix=request.fix,
        tie=request.tie,
    )
