"""A type of text files."""

from collections.abc import Iterator

from tongues.text.reading import ENDED, FileType, Item, State, TextFile


class Subtitles(FileType):
    """The lines that are said, without their numbers and times, as one document."""

    name, summary = "subtitles", "subtitles, a document a film"
    endings = ("srt",)
    is_document = True

    def read(self, file: TextFile, state: State) -> Iterator[Item]:
        """Cut off where a line is no text."""
        lines = [file.line(line) for line in file.lines() if not line.blank]
        said = (line for line in lines if isinstance(line, str) and "-->" not in line)
        text = "\n".join(line.strip() for line in said if not line.strip().isdigit())
        yield file.document(text, group=file.source), ENDED


SUBTITLES = Subtitles()
