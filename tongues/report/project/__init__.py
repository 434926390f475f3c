"""The page of a project's folder."""

from tongues.report.project.view import run_blocks, run_tiles, write_project_report

__all__ = ["run_blocks", "run_tiles", "write_project_report"]
