"""What a fit answers: laws with their rows or a comparison, as tables and sentences."""

import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from tongues.core.errors import Caution
from tongues.core.files import write_json
from tongues.core.magnitudes import counted, show_count
from tongues.laws.compare import LawComparison
from tongues.laws.experts import worth_sentence
from tongues.laws.forms import LINE
from tongues.laws.law import Law, allocate
from tongues.laws.next_step import MORE_SHAPES, plan_command, well_known
from tongues.laws.targets import TargetLaws

_BEYOND = 10.0  # how far past the runs a prediction goes that is printed
_DRAWS = 1000  # of it
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
            return [_parameter_rows(self.law)]
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
            for x in _predicted(law)
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

    def next(self, place: Path, out: Path | None) -> str:
        """The command that comes next, or advice; out: where the laws were written."""
        plan = plan_command(self.experts or self.laws, out) if out else ""
        if self.experts and plan:
            return plan
        if self.targets:
            if well_known(self.laws):
                return plan or f"tongues report {quote(str(place))}"
            return f"tongues study RECIPE {MORE_SHAPES}"
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


def _parameter_rows(law: Law) -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    rows: list[dict[str, str]] = []
    for name, of in law.parameters.items():
        ends = f"{of.low:.4g} to {of.high:.4g}" if of.low is not None else ""
        cell = f"{ends} ({of.reason})" if ends and of.reason else ends or of.reason
        rows.append({"parameter": name, "value": f"{of.value:.6g}", "95 % interval": cell})
    return rows


def sentences(law: Law, *, brief: bool = False) -> list[str]:
    """What the law gives and how far to trust it, a line each; `brief` leaves out the use."""
    runs = " ".join(filter(None, (str(law.n_runs), law.strategy, "runs")))
    lines = [f"fitted to {law.n_rows} rows of {runs}; mean Huber error {law.mean_huber:.3g}"]
    best, held = None if brief else allocate(law), law.holdout
    if best and law.loose:
        lines.append("best size for C FLOPs: not pinned down by these runs, see below")
    elif best:
        lines += [f"best {line}" for line in best.sentences]
    if held:
        lines.append(
            f"held out, compute above {held.above:.3g} ({counted(held.n_runs, 'run')}): off by "
            f"{held.error:.2%} on average ({held.bias:+.2%}), within the fit by "
            f"{held.error_within:.2%}"
        )
    return lines + ([] if brief else _predicted(law))


def _predicted(law: Law) -> list[str]:
    """What one run of ten times the most compute would end at."""
    variables = set(law.equation.variables)
    if law.rows is None or variables not in ({"N", "D"}, {"D"}):
        return []
    where = f"{_BEYOND:g} times the most"
    if variables == {"D"}:
        at = {"D": _BEYOND * law.range["D"][1]}
        where = f"{show_count(at['D'])} tokens, {where}"
    else:
        compute, best = _BEYOND * law.range["C"][1], None if law.loose else allocate(law)
        ratio = float(np.median(law.rows.variables["D"] / law.rows.variables["N"]))
        N = float(best.sizes(compute)[0]) if best else math.sqrt(compute / 6.0 / ratio)
        at = {"N": N, "D": compute / (6.0 * N)}
        shape = f"{show_count(at['N'])} parameters on {show_count(at['D'])} tokens"
        where = f"{where} compute, {shape}"
    of = law.predictor(_DRAWS)(**at).estimates[0]
    return [
        f"predicted for one run of {where}: {of.value:.4g}, 95 % of such runs {of.low:.4g} to "
        f"{of.high:.4g}"
    ]
