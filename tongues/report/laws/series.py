"""Laws as their figures want them: with their rows, and the series they belong to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tongues.core.pages.axes import Row, domain, series_name
from tongues.laws import Law
from tongues.laws.observed import continued
from tongues.laws.rows import Rows, hold_out_compute
from tongues.laws.targets import base_losses, law_rows
from tongues.runs.tables import Observations
from tongues.train.study.findings import Findings

BEYOND = 10.0  # how far past the runs' compute laws are drawn
BAND = "The band is its 95 % interval."
UNKNOWN = (1e18, 1e24)  # the compute drawn for laws without a range


@dataclass(frozen=True, slots=True, eq=False)
class LawSeries:
    """A law, the rows it was fitted on where they are at hand, and the name of its series.

    bases: for a law of forgetting, the size of the base that has each starting loss.
    """

    law: Law
    rows: Rows | None
    series: str
    bases: Mapping[float, str] = field(default_factory=dict)

    @property
    def range(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of each variable, of the rows or as the law has it."""
        return self.law.range if self.rows is None else self.rows.range

    @property
    def compute(self) -> np.ndarray:
        """Of every row, or of the law's range; none where it is unknown."""
        known = self.law.range if self.rows is None else self.rows.variables
        return np.array(known["C"]) if "C" in known else self.corners[:, 0]

    @property
    def corners(self) -> np.ndarray:
        """Compute and size of every row, or of the corners of the law's range."""
        if not self.by_size:
            return np.empty((0, 2))
        if self.rows is not None:
            N, D = self.rows.variables["N"], self.rows.variables["D"]
        else:
            N, D = np.repeat(self.range["N"], 2), np.tile(self.range["D"], 2)
        return np.stack([6.0 * N * D, N], axis=-1)

    @property
    def by_size(self) -> bool:
        """Whether it has sizes and tokens."""
        return {"N", "D"} <= self.range.keys()

    def title(self, words: str) -> str:
        """A panel's title: the target, where there is one, and what one sees."""
        if not self.law.target:
            return words
        first = words[0].lower() if words[1].islower() else words[0]
        return f"{self.law.target}, {first}{words[1:]}"


def of_laws(laws: Sequence[Law]) -> list[LawSeries]:
    """Laws with their rows; series go by strategy, and by form where several have one strategy."""
    keys: list[tuple[str, str, bool]] = []
    for law in laws:
        form = law.equation
        of_form = form.strategy if form.role == "loss" else ""  # where the law does not say
        named = law.strategy or of_form == "cpt"
        name = series_name(law.strategy or of_form) if named else law.form
        keys.append((law.target, name, form.role == "compute"))
    often = Counter(keys)
    return [
        LawSeries(law, law.rows, f"{key[1]}, {law.form}" if often[key] > 1 else key[1])
        for law, key in zip(laws, keys, strict=True)
    ]


def of_findings(findings: Findings) -> list[LawSeries]:
    """The laws of a study's targets, each with the evaluations it was fitted on."""
    fitted: list[LawSeries] = []
    for target in findings.laws:
        runs = [run for run in findings.runs if run.target == target.target]
        observed, _ = law_rows(runs)
        for strategy, law in target.laws.items():
            rows = _rows(observed[strategy], "N", "D")
            fitted.append(LawSeries(law, rows, series_name(strategy)))
        if target.forgetting:
            replayed = continued(runs)
            observed = base_losses(replayed)
            assert observed  # the law was fitted to them
            rows = _rows(observed, "D", "r", "S")
            starts = ((run.curves[x].loss[0], run) for run in replayed for x in run.forgettable)
            bases = {float(loss): run.shape for loss, run in starts}
            fitted.append(LawSeries(target.forgetting, rows, series_name("cpt"), bases))
    return fitted


def _rows(observed: Observations, *variables: str) -> Rows:
    runs, run = np.unique(observed.runs or [], return_inverse=True)
    columns = {name: observed.variables[name] for name in variables}
    return Rows(columns, observed.loss, run, tuple(str(name) for name in runs))


def all_series(fitted: Iterable[LawSeries]) -> list[str]:
    """Every series in the order of the palette; scratch and CPT keep theirs."""
    names, known = list(dict.fromkeys(each.series for each in fitted)), domain()
    return [*(known if set(known) & set(names) else []), *(n for n in names if n not in known)]


def by_target(fitted: Iterable[LawSeries]) -> dict[str, list[LawSeries]]:
    """The laws of each target together."""
    targets: dict[str, list[LawSeries]] = {}
    for each in fitted:
        targets.setdefault(each.law.target, []).append(each)
    return targets


def compute_known(fitted: Iterable[LawSeries]) -> tuple[float, float] | None:
    """The least and most compute of the runs, or of the laws' ranges; None where unknown."""
    compute = np.concatenate([each.compute for each in fitted])
    return (float(compute.min()), float(compute.max())) if len(compute) else None


def held_out(fitted: LawSeries) -> tuple[Law, Rows] | None:
    """The same law fitted without the largest, and these; None where none were held out."""
    law, rows = fitted.law, fitted.rows
    if law.holdout is None or rows is None:
        return None
    held = hold_out_compute(rows)
    large = rows if held is None else rows.take(held)
    return Law(law.form, law.holdout.params, target=law.target), large


def points(shared: Row, **columns: np.ndarray) -> list[Row]:
    """A row for each place of the columns."""
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [shared | dict(zip(columns, row, strict=True)) for row in values]


def of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    """The rows of one kind."""
    return [row for row in rows if row["kind"] == kind]
