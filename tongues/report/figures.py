"""All figures of a report, in reading order."""

from tongues.report.charts import Figure
from tongues.report.compute import loss_against_compute
from tongues.report.findings import Findings
from tongues.report.laws import findings_law_figures
from tongues.report.overview import overview
from tongues.report.related import bases, relatedness
from tongues.report.replay import by_language, forgetting
from tongues.report.transferred import saved_through_training

__all__ = ["figures"]


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow; no promises of a law that the runs do not pin down."""
    drawn = (
        overview(findings),
        loss_against_compute(findings),
        saved_through_training(findings),
        relatedness(findings),
        bases(findings),
        forgetting(findings),
        by_language(findings),
        *findings_law_figures(findings),
    )
    return [figure for figure in drawn if figure]
