"""What a fit answers: laws with their rows or a comparison, as tables and sentences."""

import math
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.errors import Caution
from tongues.core.files import write_json
from tongues.core.magnitudes import counted, show_count
from tongues.laws import words
from tongues.laws.compare import LawComparison
from tongues.laws.experts import worth_sentence
from tongues.laws.forms import LINE
from tongues.laws.law import Law, allocate
from tongues.laws.targets import TargetLaws

MORE_SHAPES = "'study.shapes=[…]' 'study.budgets=[…]'"  # overrides of a study, to be filled in
# Times the largest run, of what is predicted and planned: far enough to be of use, and known.
_BEYOND = 10.0
_DRAWS = 1000  # of it
_NAMES = ("E", "A", "alpha", "B", "beta", "gamma")  # columns of the table of targets
_OF_OTHERS = ("forgetting", "repetition")  # laws that say nothing without another
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
        for row in (row for one in self.targets for row in _rows_of(one)):
            alike[tuple(row)].append(row)
        return list(alike.values())

    @property
    def sentences(self) -> list[str]:
        """What to print below them."""
        if self.comparison:
            return list(self.comparison.sentences)
        of_targets = (law for one in self.targets for law in one.laws.values())
        lines = [law for law in of_targets if law.form == LINE.name]
        return [
            *(sentences(self.law) if self.law else ()),
            *(f"{law.target}: {line}" for law in lines for line in _predicted(law)),
            *map(worth_sentence, self.experts),
            *(
                words.law_line("base", line=line)
                for law in self.fitted[:-1]
                for line in how_well(law)
            ),
        ]

    @property
    def remarks(self) -> list[str]:
        """Every caution about it, and why laws of a target were not fitted."""
        return [
            *map(str, self.cautions),
            *(
                words.law_line("base", line=caution)
                for law in self.fitted[:-1]
                for caution in law.warnings
            ),
            *map(str, self.law.warnings if self.law else ()),
            *(_of_law(x.target, "experts", one) for x in self.experts for one in x.warnings),
            *(line for one in self.targets for line in _remarks(one)),
        ]

    def next(self, place: Path, out: Path | None) -> str:
        """The command that comes next, or advice; out: where the laws were written."""
        plan = plan_command(self.experts or self.laws, out) if out else ""
        if self.experts and plan:
            return plan
        if self.targets and not well_known(self.laws):
            return f"tongues study RECIPE {MORE_SHAPES}"
        if self.targets:
            return plan or f"tongues report {shlex.quote(str(place))}"
        codes = {one.code for one in (*self.cautions, *(self.law.warnings if self.law else ()))}
        if codes & _MISREAD:
            return words.law_line("columns")
        if "mixed_experiments" in codes:
            return words.law_line("one experiment")
        if self.law and self.law.loose:
            return words.law_line("hold")
        return words.law_line("choose") if self.comparison else plan or words.law_line("write")


def _parameter_rows(law: Law) -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    rows: list[dict[str, str]] = []
    for name, of in law.parameters.items():
        ends = f"{of.low:.4g} to {of.high:.4g}" if of.low is not None else ""
        cell = f"{ends} ({of.reason})" if ends and of.reason else ends or of.reason
        rows.append({"parameter": name, "value": f"{of.value:.6g}", "95 % interval": cell})
    return rows


def _rows_of(one: TargetLaws) -> list[dict[str, str]]:
    """A row a law of a target: every parameter with its 95 % interval."""
    rows: list[dict[str, str]] = []
    for strategy, law in one.laws.items():
        cells = {
            name: words.with_interval(value, law.interval.get(name))
            for name, value in law.params.items()
        }
        head = {"target": one.target, "law": strategy, "runs": str(law.n_runs)}
        if "N" in law.equation.variables:
            best, optimum = None if law.loose else allocate(law), "not pinned down"
            if best:
                power = words.with_interval(best.a, best.interval.get("a"))
                optimum = f"N = {best.N_coef:.3g} C^{power}"
            cells = {name: cells.get(name, "") for name in _NAMES}
            cells["best size for compute C"] = optimum
        else:
            head["law"] = f"{strategy}, {law.form}"
        rows.append(head | cells)
    return rows


def _remarks(one: TargetLaws) -> list[str]:
    """Every caution and refusal of a target's laws, a sentence each."""
    named = [(law.form if law is one.forgetting else law.strategy, law) for law in one.all]
    cautions = (
        _of_law(one.target, name, caution) for name, law in named for caution in law.warnings
    )
    return [*cautions, *one.refused]


def sentences(law: Law) -> list[str]:
    """What the law gives and how far to trust it, a line each."""
    best, (fitted, *held) = allocate(law), how_well(law)
    split = best.sentences if best else []
    loose = [words.law_line("loose")] if best and law.loose else split
    return [fitted, *loose, *held, *_predicted(law)]


def how_well(law: Law) -> list[str]:
    """How well it fits its runs, and predicts the largest without them."""
    runs, held = f"{law.n_runs} {law.strategy}".strip(), law.holdout
    lines = [words.law_line("fitted", rows=law.n_rows, runs=runs, error=law.mean_huber)]
    if held:
        lines.append(words.law_line("held out", **asdict(held), runs=counted(held.n_runs, "run")))
    return lines


def _predicted(law: Law) -> list[str]:
    """What one run of ten times the most compute would end at."""
    variables = set(law.equation.variables)
    if law.rows is None or variables not in ({"N", "D"}, {"D"}):
        return []
    at = {"D": _BEYOND * law.range["D"][1]}
    if "N" in variables:
        compute, best = _BEYOND * law.range["C"][1], None if law.loose else allocate(law)
        ratio = float(np.median(law.rows.variables["D"] / law.rows.variables["N"]))
        N = float(best.sizes(compute)[0]) if best else math.sqrt(compute / 6.0 / ratio)
        at = {"N": N, "D": compute / (6.0 * N)}
    loss = law.predictor(_DRAWS)(**at).estimates[0]
    facts = {"times": _BEYOND, "value": loss.value, "low": loss.low, "high": loss.high}
    facts |= {"tokens": show_count(at["D"]), "params": show_count(at.get("N", 0.0))}
    return [words.law_line(f"predicted by {'size' if 'N' in at else 'length'}", **facts)]


def _of_law(target: str, law: str, caution: Caution) -> str:
    return words.law_line("caution", target=target, law=law, caution=caution)


def well_known(laws: Sequence[Law]) -> list[Law]:
    """The laws that a plan can be made by: of what models learn, and pinned down by their runs."""
    return [law for law in laws if law.equation.role not in _OF_OTHERS and not law.loose]


def plan_command(laws: Sequence[Law], file: Path) -> str:
    """The plan that laws in a file are good for, of a budget near their runs; empty if of none."""
    able = well_known(laws)
    if not able:
        return ""
    words = ["tongues plan --law", shlex.quote(str(file))]
    if len({law.target for law in laws if law.target}) > 1:
        words += ["--language", shlex.quote(able[-1].target)]
    if all("cpt" in (law.equation.role, law.strategy) for law in able):
        words.append("--base NAME=SIZE")
    flops = f"{_BEYOND * max(map(_most_compute, able)):.0e}".replace("e+", "e")
    return " ".join([*words, "--budget", f"'{flops} FLOPs'"])


def _most_compute(law: Law) -> float:
    """FLOPs of the largest run behind a law."""
    by_size = 6.0 * law.range.get("N", (0.0, 1e9))[1] * law.range.get("D", (0.0, 0.0))[1]
    return law.range.get("C", (0.0, by_size))[1]
