"""A type of text files."""

from collections.abc import Iterator

from tongues.text.reading import ENDED, FileType, Item, State, TextFile


def _read(file: TextFile, state: State) -> Iterator[Item]:
    """The lines that are said, without their numbers and times, as one document."""
    lines = [file.line(line) for line in file.lines() if not line.blank]
    said = (line for line in lines if isinstance(line, str) and "-->" not in line)
    text = "\n".join(line.strip() for line in said if not line.strip().isdigit())
    yield file.document(text, group=file.source), ENDED


SUBTITLES = FileType("subtitles", "subtitles, a document a film", ("srt",), _read, is_document=True)
