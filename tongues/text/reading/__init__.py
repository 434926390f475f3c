"""Documents from files and hub data sets, and a fault for each that cannot be read.

Types of files are an open kind: `FILE_TYPES` has those of this package, and those that others add.
"""

from tongues.text.reading.files import (
    ENDED,
    FILE_TYPES,
    FileType,
    TextFile,
    other_columns,
    read_file,
    type_of,
)
from tongues.text.reading.find import find_files, passed_over
from tongues.text.reading.hub import hub_source, read_hub
from tongues.text.reading.origin import LONGEST, REASONS, Fault, Item, Reason, State
from tongues.text.reading.parquet import Parquet
from tongues.text.reading.plain import PLAIN
from tongues.text.reading.streams import size_of
from tongues.text.reading.tables import Csv, Json, JsonLines, Tsv

for _type in (PLAIN, JsonLines(), Json(), Csv(), Tsv(), Parquet()):
    FILE_TYPES.add(_type)

__all__ = ["ENDED", "FILE_TYPES", "LONGEST", "PLAIN", "REASONS", "Fault", "FileType", "Item"]
__all__ += ["Reason", "State", "TextFile", "find_files", "hub_source", "other_columns"]
__all__ += ["passed_over", "read_file", "read_hub", "size_of", "type_of"]
