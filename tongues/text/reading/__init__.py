"""Documents from files and hub data sets, and a fault for each that cannot be read.

Types of files are an open kind: `FILE_TYPES` has those of this package, and those that others add.
"""

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

_PLAIN = "plain text, a document a file or a paragraph"
_LINES = "an object of JSON a line, a document each"
_JSON = "a list of JSON, a document each of its objects"
_TSV = "a table divided by tabs, a document a row"
_PARQUET = "a table in columns, a document a row"
for _type in (
    FileType("text", _PLAIN, ("txt", "md"), kinds.read_plain, is_document=True),
    FileType("jsonl", _LINES, ("jsonl", "ndjson"), kinds.read_json_lines, has_columns=True),
    FileType("json", _JSON, ("json",), kinds.read_objects, has_columns=True),
    FileType("csv", "a table, a document a row", ("csv",), kinds.read_csv, has_columns=True),
    FileType("tsv", _TSV, ("tsv",), kinds.read_tsv, has_columns=True),
    FileType("parquet", _PARQUET, ("parquet",), read_parquet, has_columns=True, is_packed=True),
):
    FILE_TYPES.add(_type)
