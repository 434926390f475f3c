"""The figures of laws, fitted here or published, in reading order."""

from collections.abc import Sequence

from tongues.laws import Law
from tongues.laws.rows import Rows
from tongues.pages import Figure
from tongues.report.findings import Findings
from tongues.report.laws.compute import power_laws, saved_by_laws
from tongues.report.laws.fit import clouds, extrapolation, residuals
from tongues.report.laws.series import all_series, of_findings, of_laws
from tongues.report.laws.surface import loss_surface
from tongues.report.laws.tokens import forgetting_law, repeats
from tongues.report.theme import domain

__all__ = ["findings_law_figures", "law_figures"]


def law_figures(laws: Sequence[Law], observed: Sequence[Rows | None]) -> list[Figure]:
    """Every figure these laws allow.

    observed: for each law the rows it was fitted on, or None where they are not at hand, as for a
    law from print or from a file.
    """
    fitted = of_laws(laws, observed)
    names = all_series(fitted)
    drawn = (
        loss_surface(fitted, names),
        power_laws(fitted, names),
        saved_by_laws(fitted),
        residuals(fitted),
        extrapolation(fitted),
        clouds(fitted, names),
        repeats(fitted, names),
        forgetting_law(fitted),
    )
    return [figure for figure in drawn if figure]


def findings_law_figures(findings: Findings) -> list[Figure]:
    """Those of a study's laws; no promises of a law that the runs do not pin down."""
    fitted, names = of_findings(findings), domain(findings.ratios)
    firm = [one for one in fitted if not one.law.loose]
    drawn = (
        forgetting_law(fitted),
        loss_surface(firm, names),
        saved_by_laws(firm),
        residuals(fitted),
        extrapolation(fitted),
        clouds(fitted, names),
    )
    return [figure for figure in drawn if figure]
