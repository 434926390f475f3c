"""Laws as their figures want them: with their rows, and the series they belong to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.laws import Law, envelope
from tongues.laws.observed import usual_bases
from tongues.laws.rows import Rows
from tongues.laws.targets import base_losses, law_rows
from tongues.report.findings import Findings
from tongues.report.theme import domain, series
from tongues.tables import Observations

__all__ = [
    "BEYOND",
    "UNKNOWN",
    "LawSeries",
    "all_series",
    "by_target",
    "compute_known",
    "held_out",
    "of_findings",
    "of_laws",
    "pairs",
]

BEYOND = 10.0  # how far past the runs' compute laws are drawn
UNKNOWN = (1e18, 1e24)  # the compute drawn for laws that do not say where they belong


@dataclass(frozen=True, slots=True, eq=False)
class LawSeries:
    """A law, the rows it was fitted on where they are at hand, and what its series is called."""

    law: Law
    rows: Rows | None
    series: str

    @property
    def range(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of each variable, of the rows or as the law tells it."""
        return self.law.range if self.rows is None else self.rows.range

    def title(self, words: str) -> str:
        """A panel's title: the target, where there is one, and what one sees."""
        if not self.law.target:
            return words
        first = words[0].lower() if words[1].islower() else words[0]
        return f"{self.law.target}, {first}{words[1:]}"


def of_laws(laws: Sequence[Law], observed: Sequence[Rows | None]) -> list[LawSeries]:
    """Laws with their rows; series go by strategy, and by form where that does not tell them."""
    named = [series(law.strategy, 0.0) if law.strategy else _form_name(law) for law in laws]
    keys = [(law.target, name, _of_compute(law)) for law, name in zip(laws, named, strict=True)]
    often = Counter(keys)
    names = [
        f"{name}, {law.form}" if often[key] > 1 else name
        for law, name, key in zip(laws, named, keys, strict=True)
    ]
    return [LawSeries(*each) for each in zip(laws, observed, names, strict=True)]


def of_findings(found: Findings) -> list[LawSeries]:
    """The laws of a study's targets, each with the evaluations it was fitted on."""
    fitted: list[LawSeries] = []
    for of_target in found.laws:
        runs = [run for run in found.runs if run.target == of_target.target]
        observed, _ = law_rows(runs)
        for strategy, law in of_target.laws.items():
            own = observed[strategy]
            rows = _rows(own, "N", "D")
            fitted.append(LawSeries(law, rows, series(strategy, 0.0)))
        if of_target.forgetting:
            continued = [run for run in usual_bases(runs) if run.strategy == "cpt"]
            rows = _rows(base_losses(continued), "D", "r", "S")
            fitted.append(LawSeries(of_target.forgetting, rows, series("cpt", 0.0)))
    return fitted


def _rows(observed: Observations, *variables: str) -> Rows:
    runs, run = np.unique(observed.runs or [], return_inverse=True)
    columns = {name: observed.variables[name] for name in variables}
    return Rows(columns, observed.loss, run, tuple(str(name) for name in runs))


def all_series(fitted: Iterable[LawSeries]) -> list[str]:
    """Every series in the order of the palette; scratch and CPT keep theirs."""
    found = list(dict.fromkeys(one.series for one in fitted))
    known = domain([])
    return [*(known if set(known) & set(found) else []), *(n for n in found if n not in known)]


def by_target(fitted: Iterable[LawSeries]) -> dict[str, list[LawSeries]]:
    """The laws of each target together."""
    found: dict[str, list[LawSeries]] = {}
    for one in fitted:
        found.setdefault(one.law.target, []).append(one)
    return found


def compute_known(fitted: Iterable[LawSeries]) -> tuple[float, float] | None:
    """The least and most compute of the runs, or of the laws' ranges; None where unknown."""
    found: list[float] = []
    for one in fitted:
        known = one.law.range if one.rows is None else one.rows.variables
        if "C" in known:
            found += [float(np.min(known["C"])), float(np.max(known["C"]))]
        elif {"N", "D"} <= known.keys():
            compute = 6.0 * np.asarray(known["N"]) * np.asarray(known["D"])
            found += [float(compute.min()), float(compute.max())]
    return (min(found), max(found)) if found else None


def pairs(fitted: Sequence[LawSeries]) -> list[tuple[LawSeries, LawSeries]]:
    """Laws of training from scratch and of CPT that can be compared: one target, one kind."""
    return [
        (scratch, cpt)
        for scratch in fitted
        for cpt in fitted
        if _strategy(scratch.law) == "scratch"
        and _strategy(cpt.law) == "cpt"
        and scratch.law.target == cpt.law.target
        and _of_compute(scratch.law) == _of_compute(cpt.law)
    ]


def held_out(one: LawSeries) -> tuple[Law, Rows] | None:
    """The same law fitted without the largest, and these; None where none were held out."""
    law, rows = one.law, one.rows
    if law.holdout is None or rows is None:
        return None
    if law.equation.envelope:
        rows = rows.take(envelope(rows.variables["C"], rows.loss))
    large = rows.variables[law.holdout.variable] > law.holdout.above
    small = Law(law.form, law.holdout.params, target=law.target)
    return small, rows.take(large)


def _form_name(law: Law) -> str:
    return series(_strategy(law), 0.0) if _strategy(law) == "cpt" else law.form


def _strategy(law: Law) -> str:
    """Whose law it is where nobody said: the form tells."""
    form = law.equation
    return law.strategy or (form.strategy if form.role == "loss" else "")


def _of_compute(law: Law) -> bool:
    return law.equation.role == "compute"
