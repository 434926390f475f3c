"""All figures of a report, in reading order."""

from tongues.report.charts import Figure
from tongues.report.clouds import clouds
from tongues.report.compute import loss_against_compute
from tongues.report.findings import Findings
from tongues.report.forgotten import forgetting_law
from tongues.report.law_series import of_findings
from tongues.report.overview import overview
from tongues.report.related import bases, relatedness
from tongues.report.replay import by_language, forgetting
from tongues.report.residuals import extrapolation, residuals
from tongues.report.saved import saved_by_laws
from tongues.report.surfaces import loss_surface
from tongues.report.theme import domain
from tongues.report.transferred import saved_through_training

__all__ = ["figures"]


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow; no promises of a law that the runs do not pin down."""
    fitted, names = of_findings(findings), domain(findings.ratios)
    firm = [one for one in fitted if not one.law.loose]
    drawn = (
        overview(findings),
        loss_against_compute(findings),
        saved_through_training(findings),
        relatedness(findings),
        bases(findings),
        forgetting(findings),
        by_language(findings),
        forgetting_law(fitted),
        loss_surface(firm, names),
        saved_by_laws(firm),
        residuals(fitted),
        extrapolation(fitted),
        clouds(fitted, names),
    )
    return [figure for figure in drawn if figure]
