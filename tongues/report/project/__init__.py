"""The page of a project's folder."""

from tongues.report.project.view import write_project_report

__all__ = ["write_project_report"]
