"""Plain text: a file is one document, or each of its paragraphs is."""

from collections.abc import Iterable, Iterator

from tongues.text.document import Document
from tongues.text.reading.files import ENDED, FileType, TextFile
from tongues.text.reading.origin import LONGEST, Fault, Item, State
from tongues.text.reading.streams import Line

_STRETCH = 250_000  # bytes of a file of paragraphs that make a group; chosen: a chapter or two


class PlainText(FileType):
    """Plain text and Markdown.

    The file is one document and one group. With `documents: paragraphs` each block between blank
    lines is a document, or 250 kB of its lines; blocks that begin in the same 250 kB of the file
    are one group, so the split keeps a chapter together and can still divide a crawl.
    """

    name, summary = "text", "plain text, a document a file or a paragraph"
    endings = ("txt", "md")
    is_document = True

    def read(self, file: TextFile, state: State) -> Iterator[Item]:
        """One document, or one for each block of lines."""
        if not file.by_paragraphs:
            yield _whole(file), ENDED
            return
        for held in _paragraphs(file.lines(state)):
            first, last = held[0], held[-1]
            data = b"\n".join(line.data for line in held).removesuffix(b"\r")
            whole = Line(first.place, first.number, last.after, data, last.ended)
            group = f"{file.source}#{whole.place // _STRETCH}"
            item = _document(file, whole, f"{file.source}:{whole.number}", group)
            yield item, {"place": last.after, "line": last.number + 1}


PLAIN = PlainText()


def _paragraphs(each: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines between blank ones, no more than a stretch: some texts have no blank one."""
    held: list[Line] = []
    for line in each:
        if held and (line.blank or line.after - held[0].place > LONGEST):
            yield held
            held = []
        if not line.blank:
            held.append(line)
            if line.after - held[0].place >= _STRETCH:
                yield held
                held = []
    if held:
        yield held


def _whole(file: TextFile) -> Document | Fault:
    held, size = [], 0
    for block in file.blocks():
        size += len(block)
        if size <= 2 * LONGEST:  # the size of a longer one is counted
            held.append(block)
    return _document(file, Line(0, 1, size, b"".join(held), ended=False), "", file.source)


def _document(file: TextFile, line: Line, name: str, group: str) -> Document | Fault:
    text = file.line(line)
    if isinstance(text, Fault):
        return text
    return file.document(text.replace("\r\n", "\n"), line.place, name, group)
