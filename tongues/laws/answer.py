"""What a fit answers: laws with their rows or a comparison, as tables and sentences."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from tongues.errors import Caution
from tongues.files import write_json
from tongues.laws.compare import LawComparison
from tongues.laws.describe import parameter_rows, predicted, sentences
from tongues.laws.experts import worth_sentence
from tongues.laws.forms import LINE
from tongues.laws.law import Law
from tongues.laws.next_step import MORE_SHAPES, plan_command, well_known
from tongues.laws.targets import TargetLaws

_MISREAD = {"not_nats", "implausible_amounts"}  # cautions of numbers of another kind


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """One law, all laws of runs by target, or a comparison: whichever was asked for.

    fitted: the law; before it the one it is based on, where that was fitted too. experts: laws of
    ensembles. places: the tables and folders of runs behind it.
    """

    fitted: tuple[Law, ...] = ()
    targets: tuple[TargetLaws, ...] = ()
    experts: tuple[Law, ...] = ()
    comparison: LawComparison | None = None
    cautions: tuple[Caution, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def laws(self) -> list[Law]:
        """The laws a plan is made by."""
        of_targets = (law for one in self.targets for law in one.all)
        return [*self.fitted, *of_targets, *self.experts]

    @property
    def law(self) -> Law | None:
        """The one law that was asked for."""
        return self.fitted[-1] if self.fitted else None

    def __repr__(self) -> str:
        """A few lines for each law, or the sentences of a comparison."""
        return repr(self.comparison) if self.comparison else "\n\n".join(map(repr, self.laws))

    def to_json(self, *, draws: bool) -> dict[str, Any]:
        """One JSON object; draws: whether the bootstrap draws come along."""
        doubts = [asdict(caution) for caution in self.cautions]
        if self.comparison:
            return self.comparison.to_json() | {"warnings": doubts}
        if self.law is None:
            laws = [law.to_json(draws=draws) for law in self.laws]
            return {"laws": laws, "refused": [line for one in self.targets for line in one.refused]}
        plain = self.law.to_json(draws=draws)
        plain["warnings"] += doubts
        return plain

    def write(self, path: Path | str) -> None:
        """Write all of it; the law underneath, where it was fitted too, comes along."""
        several = {"laws": [law.to_json() for law in self.laws]}
        plain = several if self.fitted[:-1] else self.to_json(draws=True)
        write_json(Path(path), plain | {"tables": list(self.places)})

    @property
    def drawn(self) -> list[Law]:
        """The laws to draw."""
        of_targets = (law for one in self.targets for law in (*one.all, *one.powers.values()))
        return [*self.fitted, *of_targets]

    @property
    def title(self) -> str:
        """What to print above the tables."""
        return f"{self.law.form}: L = {self.law.equation.formula}" if self.law else ""

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
        of_targets = (law for one in self.targets for law in one.laws.values())
        lines += [
            f"{law.target}: {x}"
            for law in of_targets
            if law.form == LINE.name
            for x in predicted(law)
        ]
        lines += map(worth_sentence, self.experts)
        lines += [
            f"its base: {line}" for law in self.fitted[:-1] for line in sentences(law, brief=True)
        ]
        return lines

    @property
    def remarks(self) -> list[str]:
        """Every caution about it."""
        doubts = [str(caution) for caution in self.cautions]
        doubts += [f"its base: {caution}" for law in self.fitted[:-1] for caution in law.warnings]
        doubts += map(str, self.law.warnings if self.law else ())
        doubts += [f"{law.target}, experts: {one}" for law in self.experts for one in law.warnings]
        return doubts + [line for one in self.targets for line in one.remarks]

    def next(self, place: Path, out: Path | None, more: str = "") -> str:
        """The command that comes next, or advice.

        out: where the laws are. more: the command that trains more runs of the place.
        """
        plan = plan_command(self.experts or self.laws, out) if out else ""
        if self.experts and plan:
            return plan
        if self.targets:
            if well_known(self.laws):
                return plan or f"tongues report {quote(str(place))}"
            return more or f"tongues study RECIPE {MORE_SHAPES}"
        codes = {one.code for one in (*self.cautions, *(self.law.warnings if self.law else ()))}
        if codes & _MISREAD:
            return "correct the columns as the cautions say, and fit again"
        if "mixed_experiments" in codes:
            return "fit the runs of one experiment: choose them with --where"
        if self.law and self.law.loose:
            return "add runs of other sizes and budgets, or hold parameters with --fix"
        if self.comparison:
            return "`--law NAME -o law.json` writes the law you choose"
        return plan or "the same with `-o law.json` writes the law for `tongues plan`"
