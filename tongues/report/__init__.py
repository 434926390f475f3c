"""What a study found, in sentences, figures and one page; the figures of laws and plans."""

from tongues.pages import write_figures
from tongues.report.findings import Findings, findings
from tongues.report.laws import law_figures
from tongues.report.plan_figures import plan_figures
from tongues.report.view import write_report
from tongues.report.words import sentences

__all__ = [
    "Findings",
    "findings",
    "law_figures",
    "plan_figures",
    "sentences",
    "write_figures",
    "write_report",
]
