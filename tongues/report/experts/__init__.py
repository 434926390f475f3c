"""The pages of language experts."""

from tongues.report.experts.page import write_experts_report
from tongues.report.experts.partition import write_partition_page

__all__ = ["write_experts_report", "write_partition_page"]
