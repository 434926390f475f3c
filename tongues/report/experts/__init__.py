"""The pages of language experts."""

from tongues.report.experts.partition import cluster_table, write_partition_page
from tongues.report.experts.view import write_experts_report

__all__ = ["cluster_table", "write_experts_report", "write_partition_page"]
