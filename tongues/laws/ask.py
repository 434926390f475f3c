"""What `tongues fit` is asked: from places on disk to laws.

| given                | fitted                                                                  |
|----------------------|-------------------------------------------------------------------------|
| folders of runs      | every law of every target, and those of experts                         |
| folders, `--law`     | that law, of the runs of one target                                     |
| folders, `--compare` | the laws of size and tokens, on these runs by strategy                  |
| tables               | `chinchilla`, of the rows from scratch                                  |
| tables, `--law`      | that law, of the rows of its strategy                                   |
| tables, `--compare`  | the laws of size and tokens, on the rows of each strategy               |
| … and `--base`       | with parameters of that law; else of the one of the rows from scratch   |
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.laws.answer import FitAnswer
from tongues.laws.compare import compare_observed
from tongues.laws.experts import fit_experts
from tongues.laws.fit import fit_observed
from tongues.laws.forms import FORMS, LINE, Form
from tongues.laws.law import Law
from tongues.laws.observed import RunCurves, continued, gather_runs
from tongues.laws.presets import find_law
from tongues.laws.targets import base_losses, fit_targets, law_rows, learned_targets, line_rows
from tongues.laws.words import caution
from tongues.runs.tables import (
    ROLES,
    Observations,
    RunTable,
    find_columns,
    named_columns,
    observe,
    read_table,
    select_rows,
    without_replay,
)

_OF_SOME = "CUSk"  # variables that only some laws read
_KNOWN = {"source", "scratch", "cpt"}
_ALSO_CALLED = {"from_scratch": "scratch", "continued": "cpt", "continual": "cpt"}
_ALSO_CALLED |= {"continued_pretraining": "cpt", "continual_pretraining": "cpt"}


def fit_places(
    places: Sequence[Path],
    law: str | None,
    columns: Sequence[str],
    where: str | None,
    *,
    compare: bool,
    base: str | None,
    fix: Sequence[str],
    draws: int,
) -> FitAnswer:
    """Fit what is asked for, by the table of modes above."""
    every = law is None and not compare and all(place.is_dir() for place in places)
    if compare and (law or fix):
        what = "every law is compared, each with all its parameters free"
        raise UserError(what, where="--compare", hint="leave out --law and --fix")
    if where is not None and not where.strip():
        raise UserError("the condition is empty", where="--where", hint="is a variable unset?")
    fixed, named = _fixed(fix), named_columns(columns)
    if every and (base or fixed):
        raise UserError(
            "all laws of the runs are fitted at once, each in its own way",
            where=str(places[0]),
            hint="name the one you mean with --law, and then what it should hold",
        )
    table = read_table(places)
    table = select_rows(table, where) if where else table
    runs = _runs(table, places, named)
    if every and runs is not None:
        return _every_law(runs, places[0], draws)
    form = _form(law or "chinchilla")
    under = find_law(base, form.base or "chinchilla") if base else None
    cautions: tuple[Caution, ...] = ()
    if runs is None:
        needs = ("N", "D") if compare else form.variables
        by_strategy, cautions = _of_table(table, named, form, needs)
    else:
        by_strategy = _of_runs(runs, form)
    if compare:
        return FitAnswer(comparison=compare_observed(by_strategy, under, draws), cautions=cautions)
    return FitAnswer(fitted=_fit(by_strategy, form, under, fixed, draws), cautions=cautions)


def _runs(
    table: RunTable, places: Sequence[Path], named: Mapping[str, str]
) -> list[RunCurves] | None:
    """The runs of a table that was read from their folders alone."""
    if not all(place.is_dir() for place in places):
        return None
    if named:
        raise UserError("the columns of runs are known; name none", where=str(places[0]))
    cells = zip(*table.columns.values(), strict=True)
    return gather_runs(dict(zip(table.columns, row, strict=True)) for row in cells)


def _fixed(words: Sequence[str]) -> dict[str, float]:
    """The value of each parameter that is held at one."""
    fixed: dict[str, float] = {}
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        if not name or not value:
            raise UserError(f"`{word}` is not a pair", where="--fix", hint="write E=1.69")
        if name in fixed:
            raise UserError(f"{name} is fixed twice", where="--fix")
        try:
            fixed[name] = float(value)
        except ValueError:
            hint = "write E=1.69"
            raise UserError(f"`{value}` is not a number", where="--fix", hint=hint) from None
    return fixed


def _form(law: str) -> Form:
    """The form of that name; a UserError lists all there are."""
    try:
        return FORMS.find(law, "--law")
    except UserError as error:
        known = "\n".join(f"  {form.name}: {form.summary}" for form in FORMS)
        hint = f"{error.hint}\nThe laws are\n{known}"
        raise UserError(error.what, where=error.where, hint=hint) from None


def _every_law(runs: Sequence[RunCurves], place: Path, draws: int) -> FitAnswer:
    """All laws of every target, and those of ensembles."""
    targets = fit_targets(runs, draws=draws)
    experts, cautions = fit_experts(runs, draws=draws)
    answer = FitAnswer(targets=tuple(targets), experts=tuple(experts), cautions=tuple(cautions))
    if not answer.laws:
        what = "no law can be fitted to these runs"
        hint = "\n  ".join([*answer.remarks, "train more sizes or budgets: `tongues study`"])
        raise UserError(what, where=str(place), hint=hint, code="no_law")
    return answer


def _of_table(
    table: RunTable, roles: Mapping[str, str], form: Form, needs: Sequence[str]
) -> tuple[dict[str, Observations], tuple[Caution, ...]]:
    """The rows of a table by strategy, and what is odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`. Rows
        with replay are left out, but for the law of forgetting, as with directories of runs.
    """
    find_columns(table, roles)  # one that is not there is a mistake, also where it is not read
    for role, column in roles.items():
        if role in _OF_SOME and role not in needs:
            laws = [f"`--law {other.name}`" for other in FORMS if role in other.variables]
            hint = f"{' or '.join(laws)} does; or leave it out" if laws else "leave it out"
            what = f"the {form.name} law does not read `{column}`"
            raise UserError(what, where=ROLES[role].flag, hint=hint, code="column_unused")
    doubts: list[Caution] = []
    if "r" not in form.variables:
        table, doubts = without_replay(table, roles, f"the {form.name} law is about none")
    every = observe(table, roles, needs)
    every = replace(every, runs=every.runs or every.places)
    doubts += every.warnings
    if every.strategies is not None:
        named = np.array([_strategy(name) for name in every.strategies])
        by_strategy = {name: every.take(named == name) for name in dict.fromkeys(named.tolist())}
        return by_strategy, tuple(doubts)
    for name, cells in table.columns.items():
        if {"scratch", "cpt"} <= {_strategy(cell) for cell in cells if isinstance(cell, str)}:
            flag = quote(f"strategy={name}")
            doubts.append(caution("strategies_pooled", column=name, flag=flag))
            break
    return {"": every}, tuple(doubts)


def _strategy(name: str) -> str:
    """The strategy's name here, of what a table calls it."""
    plain = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
    return _ALSO_CALLED.get(plain, plain) or "unnamed"


def _of_runs(runs: Sequence[RunCurves], form: Form) -> dict[str, Observations]:
    """What finished runs of one target learned, by strategy; for forgetting, what they lost.

    Runs of a shape and seed share their text and their base, and are resampled together. Continued
    runs with replay are left out, but for the law of forgetting.
    """
    targets = learned_targets(runs)
    if len(targets) != 1:
        raise UserError(
            f"the runs learn {len(targets)} target languages: {', '.join(targets)}",
            where="runs",
            hint="""choose one, as in --where "target == 'xx'", or leave out --law for all laws""",
            code="several_languages",
        )
    if form.role == "forgetting":
        rows = base_losses(continued(runs))
        needs = "continued runs that were evaluated on a language of their base before they began"
    elif form is LINE:
        rows = line_rows(runs)
        needs = "four or more lengths of runs that continue a base of one size, with as much replay"
    else:
        return law_rows(runs)[0]
    if rows is None:
        raise UserError(f"it needs {needs}", where=f"--law {form.name}", code="too_few_rows")
    return {"cpt": rows}


def _fit(
    by_strategy: Mapping[str, Observations],
    form: Form,
    base: Law | None,
    fixed: Mapping[str, float],
    draws: int,
) -> tuple[Law, ...]:
    """The law asked for, of the rows of its strategy; before it its base, where that was fitted."""
    strategy, below = form.strategy, ()
    if strategy not in by_strategy and len(by_strategy) == 1:
        strategy = next(iter(by_strategy))
    if strategy not in by_strategy:
        raise UserError(
            f"the rows are of the strategies {', '.join(by_strategy)}; the {form.name} law is "
            f"about {f'`{strategy}`' if strategy else 'one'}",
            where="--column strategy",
            hint="call them `scratch` and `cpt` in the table, or choose rows with --where",
            code="several_strategies",
        )
    own = by_strategy[strategy]
    if form.base and base is None:
        rows = by_strategy.get("scratch")
        if "U" in own.variables:  # the rows that repeat nothing
            rows = own.take(own.variables["D"] <= own.variables["U"])
        elif rows is None or rows is own:
            raise UserError(
                f"the {form.name} law needs a {form.base} law, and no row is from scratch",
                where="base",
                hint="give it with --base law.json, or rows whose strategy is `scratch`",
                code="missing_base",
            )
        # what is fixed goes to the law whose parameter it is
        names = set(FORMS.find(form.base).free) - set(form.free)
        of_base = {name: value for name, value in fixed.items() if name in names}
        fixed = {name: value for name, value in fixed.items() if name not in names}
        base = replace(fit_observed(rows, form.base, fix=of_base, draws=draws), strategy="scratch")
        below = (base,)
    law = fit_observed(own, form.name, base, fix=fixed, draws=draws)
    doubts, known = law.warnings, strategy if strategy in _KNOWN else ""
    unknown = [name for name in by_strategy if name != strategy and name not in _KNOWN]
    if unknown:
        left = sum(len(by_strategy[name]) for name in unknown)
        doubts = (caution("other_strategies", rows=left, named=", ".join(unknown)), *doubts)
    return (*below, replace(law, strategy=known, warnings=doubts))
