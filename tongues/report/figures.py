"""All figures of a report, in reading order."""

from tongues.report.charts import Figure
from tongues.report.compute import loss_against_compute, saved_through_training
from tongues.report.findings import Findings
from tongues.report.overview import overview
from tongues.report.replay import forgetting
from tongues.report.surfaces import iso_loss, residuals

__all__ = ["figures"]

_FIGURES = (overview, loss_against_compute, saved_through_training, forgetting, iso_loss, residuals)


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow."""
    return [figure for draw in _FIGURES if (figure := draw(findings))]
