"""Documents from files and hub data sets, and a fault for each that cannot be read.

Types of files are an open kind: `FILE_TYPES` has those of this package, and those that others add.
"""

from tongues.core.beside import read_beside
from tongues.text.reading import kinds
from tongues.text.reading.files import (
    ENDED,
    FILE_TYPES,
    PART,
    FileType,
    TextFile,
    other_columns,
    read_file,
    type_of,
)
from tongues.text.reading.find import find_files, passed_over
from tongues.text.reading.hub import hub_source, read_hub
from tongues.text.reading.origin import LONGEST, REASONS, Fault, Item, Reason, State
from tongues.text.reading.parquet import read_parquet
from tongues.text.reading.streams import size_of

__all__ = ["ENDED", "FILE_TYPES", "LONGEST", "PART", "REASONS", "Fault", "FileType", "Item"]
__all__ += ["Reason", "State", "TextFile", "find_files", "hub_source", "other_columns"]
__all__ += ["passed_over", "read_file", "read_hub", "size_of", "type_of"]

_READ = {"text": kinds.read_plain, "jsonl": kinds.read_json_lines, "json": kinds.read_objects}
_READ |= {"csv": kinds.read_csv, "tsv": kinds.read_tsv, "parquet": read_parquet}
for _name, _about in read_beside(__file__, "types.toml").items():
    _endings = tuple(_about.pop("endings"))
    FILE_TYPES.add(FileType(_name, endings=_endings, read=_READ[_name], **_about))
