"""Documents from files and hub data sets, and a fault for each that cannot be read."""

from tongues.text.reading.files import read_file, without_column
from tongues.text.reading.find import find_files, passed_over
from tongues.text.reading.hub import hub_source, read_hub
from tongues.text.reading.rows import LONGEST, REASONS, Fault, Item, Reason, State
from tongues.text.reading.streams import size_of

__all__ = ["LONGEST", "REASONS", "Fault", "Item", "Reason", "State", "find_files"]
__all__ += ["hub_source", "passed_over", "read_file", "read_hub", "size_of", "without_column"]
