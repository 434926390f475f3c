"""Pages and figures of runs, laws, plans, corpora, tokenizers, evaluations and experts."""

from tongues.pages import write_figures
from tongues.report.laws import law_figures
from tongues.report.study import write_report

__all__ = ["law_figures", "write_figures", "write_report"]
