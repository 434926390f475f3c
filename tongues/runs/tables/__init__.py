"""Tables of runs from anywhere: read, choose rows, and check what a law is fitted on."""

from tongues.runs.tables.files import RunTable, read_table
from tongues.runs.tables.observe import Observations, observe, without_replay
from tongues.runs.tables.roles import ROLES, Role, find_columns, named_columns
from tongues.runs.tables.where import select_rows

__all__ = ["ROLES", "Observations", "Role", "RunTable", "find_columns", "named_columns", "observe"]
__all__ += ["read_table", "select_rows", "without_replay"]
