"""What `tongues fit` answers: from places on disk to laws, tables and sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tongues.errors import Caution, UserError
from tongues.files import write_json
from tongues.laws.compare import LawComparison
from tongues.laws.describe import html, html_of, law_title, parameter_rows, sentences
from tongues.laws.fit import FitRequest
from tongues.laws.forms import FORMS
from tongues.laws.implied import Implied, implied_by
from tongues.laws.law import Law
from tongues.laws.observed import gather_runs
from tongues.laws.presets import find_law
from tongues.laws.rows import Rows
from tongues.laws.tabled import (
    Fitted,
    columns_of_runs,
    columns_of_table,
    compare_columns,
    fit_columns,
)
from tongues.laws.targets import TargetLaws, fit_targets
from tongues.tables import read_table, select_rows

__all__ = ["FitAnswer", "fit_places"]

_DELTA = 1e-3  # of the command, as of `tongues.laws.fit`


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """One law, all laws of runs by target, or a comparison: whichever was asked for."""

    fitted: tuple[Fitted, ...] = ()
    implied: Implied | None = None
    targets: tuple[TargetLaws, ...] = ()
    comparison: LawComparison | None = None
    cautions: tuple[Caution, ...] = ()

    @property
    def laws(self) -> list[Law]:
        """The laws a plan is made by."""
        if self.targets:
            return [law for of_target in self.targets for law in of_target.all]
        return [one.law for one in self.fitted]

    @property
    def law(self) -> Law | None:
        """The one law that was asked for."""
        return self.fitted[-1].law if self.fitted and not self.targets else None

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
            return html_of(self.comparison.rows, "LawComparison", self.comparison.sentences)
        return "".join(map(html, self.laws))

    def to_json(self, *, draws: bool) -> dict[str, Any]:
        """One JSON object; `draws` tells whether the bootstrap draws come along."""
        doubts = [asdict(caution) for caution in self.cautions]
        if self.comparison:
            return self.comparison.to_json() | {"warnings": doubts}
        if self.law is None:
            laws = [law.to_json(draws=draws) for one in self.targets for law in one.all]
            return {"laws": laws, "refused": [line for one in self.targets for line in one.refused]}
        plain = self.law.to_json(draws=draws)
        if self.implied:
            plain["transfer"] = self.implied.to_json()
            doubts += [asdict(caution) for caution in self.implied.warnings]
        plain["warnings"] += doubts
        return plain

    def write(self, path: Path) -> None:
        """Write all of it; the law underneath, where it was fitted too, comes along."""
        if self.law and len(self.fitted) > 1:
            write_json(path, {"laws": [one.law.to_json() for one in self.fitted]})
        else:
            write_json(path, self.to_json(draws=True))

    @property
    def drawn(self) -> tuple[list[Law], list[Rows | None]]:
        """The laws to draw, and the rows of each where they are at hand."""
        if self.targets:
            laws = [law for one in self.targets for law in (*one.all, *one.powers.values())]
            return laws, [None] * len(laws)
        return [one.law for one in self.fitted], [one.rows for one in self.fitted]

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
        return [[row for one in self.targets for row in one.rows]]

    @property
    def sentences(self) -> list[str]:
        """What to print below them."""
        if self.comparison:
            return list(self.comparison.sentences)
        lines = sentences(self.law) if self.law else []
        for one in self.fitted[:-1]:
            lines += [f"its base: {line}" for line in sentences(one.law, brief=True)]
        return lines + (self.implied.sentences if self.implied else [])

    @property
    def remarks(self) -> list[str]:
        """Every reason to doubt it."""
        doubts = [str(caution) for caution in self.cautions]
        doubts += [f"its base: {c}" for one in self.fitted[:-1] for c in one.law.warnings]
        doubts += [str(caution) for caution in self.law.warnings] if self.law else []
        doubts += [str(caution) for caution in self.implied.warnings] if self.implied else []
        return doubts + [line for one in self.targets for line in one.remarks]

    def next(self, place: Path, out: Path | None) -> str:
        """The command that comes next."""
        if self.targets:
            return f"tongues report {place}"
        if self.law and self.law.loose:
            return "add runs of other sizes and budgets, or hold parameters with --fix and --tie"
        if self.law and out:
            return f"tongues plan --law {out} --flops 1e21"
        if self.comparison:
            return "`--law NAME -o law.json` writes the law you choose"
        return "the same with `-o law.json` writes the law for `tongues plan`"


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
    """Read tables or run directories, and fit what is asked for.

    Run directories without a named law give all laws of every target.
    """
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
    runs = all(place.is_dir() for place in places)
    if runs and where:
        table = select_rows(table, where)
    if runs and any(roles.values()):
        raise UserError("the columns of runs are known; name none", where=str(places[0]))
    rows = (
        [
            dict(zip(table.columns, cells, strict=True))
            for cells in zip(*table.columns.values(), strict=True)
        ]
        if runs
        else []
    )
    if runs and law is None and not compare:
        if base or fix or tie or drop_highest or delta != _DELTA:
            raise UserError(
                "all laws of the runs are fitted at once, each in its own way",
                where=str(places[0]),
                hint="name the one you mean with --law, and then what it should hold",
            )
        targets = fit_targets(gather_runs(rows), draws=draws)
        if not targets:
            raise UserError("there is no finished run to fit", where=str(places[0]))
        return FitAnswer(targets=tuple(targets))
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
    columns, cautions = columns_of_runs(rows, law) if runs else {}, ()
    if not runs:
        needs = ("N", "D") if compare else form.variables
        columns, cautions = columns_of_table(table, roles, where, law, needs)
    if compare:
        return FitAnswer(comparison=compare_columns(columns, request), cautions=cautions)
    fitted = fit_columns(columns, request)
    under = request.base or (fitted.base.law if fitted.base else None)
    implied = implied_by(under, fitted.law) if under and law == "cpt" else None
    return FitAnswer(fitted=fitted.all, implied=implied, cautions=cautions)


def _pair(word: str, flag: str, example: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in word.partition("="))
    if not first or not second:
        raise UserError(f"`{word}` is not a pair", where=flag, hint=f"write {example}")
    return first, second
