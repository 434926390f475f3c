"""Tables of runs from anywhere: read, choose rows, and check what a law is fitted on."""

from tongues.tables.files import Table, read_table
from tongues.tables.observe import Observations, observe
from tongues.tables.roles import ROLES, Role
from tongues.tables.where import select

__all__ = ["ROLES", "Observations", "Role", "Table", "observe", "read_table", "select"]
