"""Tables of runs from anywhere: read, choose rows, and check what a law is fitted on."""

from tongues.tables.files import RunTable, cell_number, read_table
from tongues.tables.observe import Observations, observe
from tongues.tables.roles import ROLES, Role, find_columns
from tongues.tables.where import select_rows

__all__ = ["ROLES", "Observations", "Role", "RunTable", "cell_number", "find_columns", "observe"]
__all__ += ["read_table", "select_rows"]
