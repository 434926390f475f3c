"""What a study found: its numbers, in sentences, figures and one page."""

from tongues.report.findings import Findings, findings
from tongues.report.words import sentences
from tongues.report.write import write_report

__all__ = ["Findings", "findings", "sentences", "write_report"]
