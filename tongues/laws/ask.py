"""What `tongues fit` answers: from places on disk to laws, tables and sentences."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.files import write_json
from tongues.laws.compare import LawComparison, compare_rows
from tongues.laws.describe import (
    html,
    html_of,
    law_title,
    parameter_rows,
    predicted_end,
    sentences,
)
from tongues.laws.experts import fit_experts, worth_sentence
from tongues.laws.fit import FitRequest, fit_observed, prepare
from tongues.laws.forms import FORMS, ONE_BASE, Form
from tongues.laws.inverse import Implied, implied_by
from tongues.laws.law import Law
from tongues.laws.next_step import MORE_SHAPES, after_fit
from tongues.laws.observed import RunCurves, gather_runs, usual_bases
from tongues.laws.presets import find_law
from tongues.laws.rows import Rows
from tongues.laws.targets import (
    TargetLaws,
    base_losses,
    fit_targets,
    law_rows,
    learned_targets,
    one_base_rows,
)
from tongues.tables import (
    ROLES,
    Observations,
    RunTable,
    find_columns,
    observe,
    read_table,
    select_rows,
    without_replay,
)

__all__ = ["FitAnswer", "fit_places"]

_DELTA = 1e-3  # of the command, as of `tongues.laws.fit`
_OF_SOME = "CUShk"  # variables that only some laws read
_KNOWN = {"source", "scratch", "cpt"}
_ALSO_CALLED = {"from_scratch": "scratch", "continued": "cpt", "continual": "cpt"}
_ALSO_CALLED |= {"continued_pretraining": "cpt", "continual_pretraining": "cpt"}


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """One law, all laws of runs by target, or a comparison: whichever was asked for.

    fitted: the law with the rows it was fitted on; before it the one it is based on, where that was
    fitted too. experts: laws of ensembles. places: the tables and folders of runs behind it.
    """

    fitted: tuple[tuple[Law, Rows], ...] = ()
    implied: Implied | None = None
    targets: tuple[TargetLaws, ...] = ()
    experts: tuple[Law, ...] = ()
    comparison: LawComparison | None = None
    cautions: tuple[Caution, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def laws(self) -> list[Law]:
        """The laws a plan is made by."""
        of_targets = (law for one in self.targets for law in one.all)
        return [*(law for law, _ in self.fitted), *of_targets, *self.experts]

    @property
    def law(self) -> Law | None:
        """The one law that was asked for."""
        return self.fitted[-1][0] if self.fitted else None

    @property
    def _below(self) -> list[Law]:
        return [law for law, _ in self.fitted[:-1]]

    def __repr__(self) -> str:
        """A few lines for each law, or the sentences of a comparison."""
        return repr(self.comparison) if self.comparison else "\n\n".join(map(repr, self.laws))

    def summary(self) -> str:
        """What `tongues fit` prints of each law, or of a comparison."""
        if self.comparison:
            return self.comparison.summary()
        return "\n\n".join(law.summary() for law in self.laws)

    def _repr_html_(self) -> str:
        if self.comparison:
            return html_of(self.comparison.rows, "Comparison", self.comparison.sentences)
        return "".join(map(html, self.laws))

    def to_json(self, *, draws: bool) -> dict[str, Any]:
        """One JSON object; draws: whether the bootstrap draws come along."""
        doubts = [asdict(caution) for caution in self.cautions]
        if self.comparison:
            return self.comparison.to_json() | {"warnings": doubts}
        if self.law is None:
            laws = [law.to_json(draws=draws) for law in self.laws]
            return {"laws": laws, "refused": [line for one in self.targets for line in one.refused]}
        plain = self.law.to_json(draws=draws)
        if self.implied:
            plain["transfer"] = self.implied.to_json()
            doubts += [asdict(caution) for caution in self.implied.warnings]
        plain["warnings"] += doubts
        return plain

    def write(self, path: Path | str) -> None:
        """Write all of it; the law underneath, where it was fitted too, comes along."""
        several = {"laws": [law.to_json() for law in self.laws]}
        plain = several if self._below else self.to_json(draws=True)
        write_json(Path(path), plain | {"tables": list(self.places)})

    @property
    def drawn(self) -> tuple[list[Law], list[Rows | None]]:
        """The laws to draw, and the rows of each where they are at hand."""
        pairs: list[tuple[Law, Rows | None]] = list(self.fitted)
        for one in self.targets:
            pairs += [(law, None) for law in (*one.all, *one.powers.values())]
        return [law for law, _ in pairs], [rows for _, rows in pairs]

    @property
    def title(self) -> str:
        """What to print above the tables."""
        return law_title(self.law) if self.law else ""

    @property
    def tables(self) -> list[list[dict[str, str]]]:
        """What to print as tables."""
        if self.comparison:
            return [self.comparison.rows]
        if self.law:
            return [parameter_rows(self.law)]
        alike = defaultdict[tuple[str, ...], list[dict[str, str]]](list)
        for row in (row for one in self.targets for row in one.rows):
            alike[tuple(row)].append(row)
        return list(alike.values())

    @property
    def sentences(self) -> list[str]:
        """What to print below them."""
        if self.comparison:
            return list(self.comparison.sentences)
        lines = sentences(self.law) if self.law else []
        for one in self.targets:
            lines += [f"{one.target}: {line}" for law in one.all for line in predicted_end(law)]
        lines += map(worth_sentence, self.experts)
        lines += [f"its base: {line}" for law in self._below for line in sentences(law, brief=True)]
        return lines + (self.implied.sentences if self.implied else [])

    @property
    def remarks(self) -> list[str]:
        """Every caution about it."""
        doubts = [str(caution) for caution in self.cautions]
        doubts += [f"its base: {caution}" for law in self._below for caution in law.warnings]
        doubts += [str(one) for of in (self.law, self.implied) if of for one in of.warnings]
        doubts += [f"{law.target}, experts: {one}" for law in self.experts for one in law.warnings]
        return doubts + [line for one in self.targets for line in one.remarks]

    def next(self, place: Path, out: Path | None, more: str = "") -> str:
        """The command that comes next; more: the one that trains more runs of the place."""
        return after_fit(self, place, out, more or f"tongues study RECIPE {MORE_SHAPES}")


def fit_places(
    places: Sequence[Path],
    law: str | None,
    roles: Mapping[str, str | None],
    where: str | None,
    *,
    compare: bool,
    base: str | None,
    fix: Sequence[str],
    tie: Sequence[str],
    drop_highest: int,
    delta: float,
    draws: int,
) -> FitAnswer:
    """Fit what is asked for; directories of runs without a named law give all laws."""
    if compare and (law or fix or tie):
        raise UserError(
            "every law is compared, each with all its parameters free",
            where="--compare",
            hint="leave out --law, --fix and --tie",
        )
    if where is not None and not where.strip():
        raise UserError("the condition is empty", where="--where", hint="is a variable unset?")
    fixed: dict[str, float] = {}
    for name, value in (_pair(word, "--fix", "E=1.69") for word in fix):
        if name in fixed:
            raise UserError(f"{name} is fixed twice", where="--fix")
        try:
            fixed[name] = float(value)
        except ValueError:
            hint = "write E=1.69"
            raise UserError(f"`{value}` is not a number", where="--fix", hint=hint) from None
    table = read_table(places)
    table = select_rows(table, where) if where else table
    runs: list[RunCurves] | None = None
    if all(place.is_dir() for place in places):
        if any(roles.values()):
            raise UserError("the columns of runs are known; name none", where=str(places[0]))
        cells = zip(*table.columns.values(), strict=True)
        runs = gather_runs(dict(zip(table.columns, row, strict=True)) for row in cells)
    if runs is not None and law is None and not compare:
        if base or fix or tie or drop_highest or delta != _DELTA:
            raise UserError(
                "all laws of the runs are fitted at once, each in its own way",
                where=str(places[0]),
                hint="name the one you mean with --law, and then what it should hold",
            )
        targets = fit_targets(runs, draws=draws)
        experts, cautions = fit_experts(runs, draws=draws)
        if not targets and not experts:
            hint = "; ".join(caution.sentence for caution in cautions)
            raise UserError("there is no finished run to fit", where=str(places[0]), hint=hint)
        answer = FitAnswer(targets=tuple(targets), experts=tuple(experts), cautions=tuple(cautions))
        if not answer.laws:
            what = "no law can be fitted to these runs"
            hint = "\n  ".join([*answer.remarks, "train more sizes or budgets: `tongues study`"])
            raise UserError(what, where=str(places[0]), hint=hint, code="no_law")
        return answer
    weighed = law is None and not (compare or base or fixed or tie)
    law = law or "chinchilla"
    try:
        form = FORMS.find(law, "--law")
    except UserError as error:
        known = "\n".join(f"  {form.name}: {form.summary}" for form in FORMS)
        hint = f"{error.hint} The laws are\n{known}"
        raise UserError(error.what, where=error.where, hint=hint) from None
    if drop_highest < 0:
        raise UserError(f"cannot drop {drop_highest} rows", where="--drop-highest")
    request = FitRequest(
        law=law,
        base=find_law(base, form.base or "chinchilla") if base else None,
        drop_highest=drop_highest,
        delta=delta,
        draws=draws,
        fix=fixed,
        tie=[_pair(word, "--tie", "alpha=beta") for word in tie],
    )
    needs, cautions = ("N", "D") if compare else form.variables, ()
    if runs is None:
        by_strategy, cautions = _of_table(table, roles, form, needs)
    else:
        by_strategy = _of_runs(runs, form)
    if compare:
        compared: dict[str, Rows] = {}
        plain = replace(request, law="chinchilla", base=None)
        for strategy, observed in by_strategy.items():
            kept = observed.without_highest(request.drop_highest)
            task = prepare(plain, kept.variables, kept.loss, kept.units or kept.runs)
            compared[strategy or "all rows"] = task.rows
        under = request.base
        if under is None and "scratch" in by_strategy and len(by_strategy) > 1:
            under, _ = fit_observed(by_strategy["scratch"], plain)
        return FitAnswer(comparison=compare_rows(compared, plain, under), cautions=cautions)
    fitted = _fit(by_strategy, request, form, weighed=weighed)
    first, last = fitted[0][0], fitted[-1][0]
    under = request.base or (None if first is last else first)
    implied = implied_by(under, last) if under and law == "cpt" else None
    return FitAnswer(fitted=fitted, implied=implied, cautions=cautions)


def _pair(word: str, flag: str, example: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in word.partition("="))
    if not first or not second:
        raise UserError(f"`{word}` is not a pair", where=flag, hint=f"write {example}")
    return first, second


def _of_table(
    table: RunTable, roles: Mapping[str, str | None], form: Form, needs: Sequence[str]
) -> tuple[dict[str, Observations], tuple[Caution, ...]]:
    """The rows of a table by strategy, and what is odd about them.

    roles: the column of each role (`N`, `D`, `loss`, …) that the user named.
    needs: the variables to read. Without a column of strategies, all rows are under `""`. Rows
        with replay are left out, but for the law of forgetting, as with directories of runs.
    """
    find_columns(table, roles)  # one that is not there is a mistake, also where it is not read
    for role, column in roles.items():
        if column is not None and role in _OF_SOME and role not in needs:
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
            what = f"`{name}` separates scratch and continued rows; all were taken as one"
            doubts.append(Caution("strategies_pooled", f"{what}: name it with --strategy"))
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
        return {"cpt": base_losses([run for run in usual_bases(runs) if run.strategy == "cpt"])}
    if form is ONE_BASE:
        rows = one_base_rows(runs)
        if rows is None:
            what = "it needs four or more lengths of runs that continue a base of one size"
            hint = "with the same share of replay, evaluated before their first step"
            raise UserError(what, where="--law one-base", hint=hint, code="too_few_rows")
        return {"cpt": rows}
    return law_rows(runs)[0]


def _fit(
    by_strategy: Mapping[str, Observations], request: FitRequest, form: Form, *, weighed: bool
) -> tuple[tuple[Law, Rows], ...]:
    """Fit the law asked for to the rows of its strategy, on the base asked for or fitted first."""
    strategy, below = form.strategy, ()
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
    own, base_rows = by_strategy[strategy], None
    if form.base and request.base is None:
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
        # what is fixed or tied goes to the law whose parameter it is
        names = set(FORMS.find(form.base).free) - set(form.free)
        fixed = {name: value for name, value in request.fix.items() if name in names}
        ties = [pair for pair in request.tie if names.issuperset(pair)]
        of_base = replace(request, law=form.base, base=None, fix=fixed, tie=ties)
        base, base_rows = fit_observed(rows, of_base)
        base = replace(base, strategy="scratch")
        below = ((base, base_rows),)
        rest = {name: value for name, value in request.fix.items() if name not in names}
        others = [pair for pair in request.tie if pair not in ties]
        request = replace(request, base=base, fix=rest, tie=others)
    law, rows = fit_observed(own, request, base_rows, weighed=weighed)
    doubts, known = law.warnings, strategy if strategy in _KNOWN else ""
    unknown = [name for name in by_strategy if name != strategy and name not in _KNOWN]
    if unknown:
        left = sum(len(by_strategy[name]) for name in unknown)
        what = f"{left} rows of strategy {', '.join(unknown)} are left out"
        doubts = (Caution("other_strategies", f"{what}; known are scratch and cpt"), *doubts)
    return (*below, (replace(law, strategy=known, warnings=doubts), rows))
