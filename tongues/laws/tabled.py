"""From a table, or the directories of runs, to the law that was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws.compare import LawComparison, compare_rows
from tongues.laws.fit import FitRequest, prepare
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import Law
from tongues.laws.observed import gather_runs, usual_bases
from tongues.laws.rows import Rows
from tongues.laws.targets import base_losses, law_rows, learned_targets
from tongues.laws.trust import fit_observed
from tongues.tables import Observations, RunTable, find_columns, number, observe, select_rows

__all__ = ["Fitted", "columns_of_runs", "columns_of_table", "compare_columns", "fit_columns"]

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
    table: RunTable,
    roles: Mapping[str, str | None],
    where: str | None,
    law: str,
    needs: Sequence[str],
) -> tuple[dict[str, Observations], tuple[Caution, ...]]:
    """The chosen rows of a table by strategy, and what is odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`. Rows
        with replay are left out, but for the law of forgetting, as with directories of runs.
    """
    chosen = select_rows(table, where) if where else table
    doubts: list[Caution] = []
    replayed = find_columns(chosen, roles).get("r")
    if replayed and "r" not in FORMS.find(law).variables:
        plain = [i for i, cell in enumerate(chosen.columns[replayed]) if not number(cell)]
        if plain and (left := len(chosen) - len(plain)):
            what = f"{left} rows with replay (`{replayed}` above 0) are left out: "
            doubts.append(Caution("replay_left_out", what + f"the {law} law is about none"))
            chosen = chosen.take(plain)
    every = observe(chosen, roles, needs)
    every = replace(every, runs=every.runs or every.places)
    doubts += every.warnings
    if every.strategies is not None:
        named = np.array([_strategy(name) for name in every.strategies])
        by_strategy = {name: every.take(named == name) for name in dict.fromkeys(named.tolist())}
        return by_strategy, tuple(doubts)
    for name, cells in chosen.columns.items():
        if {"scratch", "cpt"} <= {_strategy(cell) for cell in cells if isinstance(cell, str)}:
            what = f"`{name}` tells scratch and continued rows apart; all were taken as one"
            doubts.append(Caution("strategies_pooled", f"{what}: name it with --strategy"))
            break
    return {"": every}, tuple(doubts)


def _strategy(name: str) -> str:
    """The strategy's name here, of what a table calls it."""
    plain = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
    return _ALSO_CALLED.get(plain, plain) or _UNNAMED


def columns_of_runs(rows: Iterable[Mapping[str, Any]], law: str) -> dict[str, Observations]:
    """What finished runs of one target learned, by strategy.

    Runs of a shape and seed share their text and their base, and are resampled together.
    rows: of `tongues.runs.table`. Continued runs with replay are left out, but for the law of
    forgetting, which is about what they lost of their source.
    """
    runs = gather_runs(rows)
    targets = learned_targets(runs)
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


def fit_columns(by_strategy: Mapping[str, Observations], request: FitRequest) -> Fitted:
    """Fit the law asked for to the rows of its strategy, on the base asked for or fitted first."""
    form, base = FORMS.find(request.law), None
    strategy = form.strategy
    if strategy not in by_strategy and len(by_strategy) == 1:
        strategy = next(iter(by_strategy))
    if strategy not in by_strategy:
        raise UserError(
            f"the rows are of the strategies {', '.join(by_strategy)}; the {form.name} law is "
            f"about {f'`{strategy}`' if strategy else 'one'}",
            where="--strategy",
            hint="call them `scratch` and `cpt` in the table, or choose rows with --where",
            code="several_strategies",
        )
    own = by_strategy[strategy]
    others = [name for name in by_strategy if name != strategy and name not in _KNOWN]
    if form.base and request.base is None:
        # what is fixed or tied goes to the law whose parameter it is
        below = set(FORMS.find(form.base).free) - set(form.free)
        fixed = [
            {n: v for n, v in request.fix.items() if (n in below) is of} for of in (True, False)
        ]
        ties = [[t for t in request.tie if below.issuperset(t) is of] for of in (True, False)]
        of_base = replace(request, law=form.base, base=None, fix=fixed[0], tie=ties[0])
        law, rows = fit_observed(_base_rows(form, by_strategy, own), of_base)
        base = Fitted(replace(law, strategy="scratch"), rows)
        request = replace(request, base=base.law, fix=fixed[1], tie=ties[1])
    law, rows = fit_observed(own, request, base.rows if base else None)
    doubts = law.warnings
    if others:
        left = sum(len(by_strategy[name]) for name in others)
        what = f"{left} rows of strategy {', '.join(others)} are left out"
        doubts = (Caution("other_strategies", f"{what}; known are scratch and cpt"), *doubts)
    known = strategy if strategy in _KNOWN else ""
    return Fitted(replace(law, strategy=known, warnings=doubts), rows, base)


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


def compare_columns(by_strategy: Mapping[str, Observations], request: FitRequest) -> LawComparison:
    """Every law on every strategy's rows."""
    rows: dict[str, Rows] = {}
    plain = replace(request, law="chinchilla", base=None)
    for strategy, observed in by_strategy.items():
        kept = observed.without_highest(request.drop_highest)
        task = prepare(plain, kept.variables, kept.loss, kept.units or kept.runs)
        rows[strategy or "all rows"] = task.rows
    base = request.base
    if base is None and "scratch" in by_strategy and len(by_strategy) > 1:
        base, _ = fit_observed(by_strategy["scratch"], plain)
    return compare_rows(rows, plain, base)
