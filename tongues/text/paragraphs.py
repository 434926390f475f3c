"""Paragraphs that many documents repeat, such as notices and menus: cut out beyond some documents.

Which documents keep one depends on their hashes, not on the order of files.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tongues.files import whole_file
from tongues.text.corpus import Corpus, Part, read_columns
from tongues.text.document import hash64
from tongues.text.rewriting import Removed, add_removed

__all__ = ["write_repeated"]

_SHORTEST = 40  # bytes of a paragraph; shorter ones are headings, which documents may share
_SAMPLE = 300  # characters


def write_repeated(corpus: Corpus, kept: np.ndarray, most: int, path: Path) -> dict[str, Removed]:
    """Write where kept documents repeat paragraphs; what is cut out of each language.

    most: documents of a language that keep a paragraph. A document of nothing else is left as it
    is: it is for the filters of copies. kept: whether each document of the corpus is.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    exact = corpus.numbers("exact")
    removed: dict[str, Removed] = {}
    cut = [np.empty((0, 3), np.int64)]
    for lang in corpus.languages:
        parts = [part for part in corpus.parts if part.lang == lang]
        hashes, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for document, text in _texts(parts, kept):
            there = np.unique(np.array([x for *_, x in _paragraphs(text)], np.uint64))
            hashes.append(there)
            owners.append(np.full(len(there), document))
        every, owner = np.concatenate(hashes), np.concatenate(owners)
        order = np.lexsort((exact[owner], every))
        every, owner = every[order], owner[order]
        first = np.flatnonzero(np.diff(every, prepend=~every[:1]) != 0)
        place = np.arange(len(every)) - np.repeat(first, np.diff(np.append(first, len(every))))
        later = place >= most
        repeats: dict[int, set[int]] = {}
        for document, paragraph in zip(owner[later].tolist(), every[later].tolist(), strict=True):
            repeats.setdefault(document, set()).add(paragraph)
        some = np.zeros(corpus.count, dtype=bool)
        some[list(repeats)] = True
        for document, text in _texts(parts, some):
            spans = [x[:2] for x in _paragraphs(text) if x[2] in repeats[document]]
            lines, rest = [text[begin:end] for begin, end in spans], text
            for begin, end in reversed(spans):
                rest = rest[:begin] + rest[end:]
            if rest.strip():
                cut.append(np.array([(document, *span) for span in spans]))
                size = sum(len(line.encode()) for line in lines)
                sample = [line.strip()[:_SAMPLE] for line in lines[:1]]
                row = Removed(places=len(lines), bytes=size, samples=sample)
                add_removed(removed, {lang: row})
    rows = np.concatenate(cut)
    names = ("document", "begin", "end")
    with whole_file(path) as aside:
        columns = {name: rows[:, number] for number, name in enumerate(names)}
        pq.write_table(pa.table(columns), aside, compression="zstd")
    return removed


def _texts(parts: list[Part], chosen: np.ndarray) -> Iterator[tuple[int, str]]:
    for part in parts:
        rows = np.flatnonzero(chosen[part.first : part.first + part.count])
        texts = (
            read_columns(part.path, ["text"])["text"].take(rows).to_pylist() if len(rows) else []
        )
        yield from zip((part.first + rows).tolist(), texts, strict=True)


def _paragraphs(text: str) -> Iterator[tuple[int, int, int]]:
    """Where each long line begins and ends, with its line feed, and its hash."""
    begin = 0
    for line in text.splitlines(keepends=True):
        end = begin + len(line)
        bare = line.strip()
        if len(bare.encode()) >= _SHORTEST:
            yield begin, end, hash64(bare)
        begin = end
