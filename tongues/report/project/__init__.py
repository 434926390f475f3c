"""The page of a project's folder."""

from tongues.report.project.view import run_blocks, write_project_report

__all__ = ["run_blocks", "write_project_report"]
