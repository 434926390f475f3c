"""A corpus on disk: every document that was read, in a fixed order, a column at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.files import read_json
from tongues.text.parts import column, part_path, read_columns
from tongues.text.signals import BANDS, SIGNATURE
from tongues.text.sources import Piece

__all__ = ["Corpus", "Part", "open_corpus", "reopen_corpus"]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of documents; `first` is the number of its first one in the whole corpus."""

    lang: str
    piece: str
    path: Path
    first: int
    count: int


@dataclass(frozen=True)
class Corpus:
    """All that was read, kept or not; documents are numbered through, in reading order."""

    path: Path
    languages: tuple[str, ...]
    pieces: tuple[dict[str, Any], ...]  # the mark of each, with its `lang`
    parts: tuple[Part, ...]

    @property
    def count(self) -> int:
        """Documents in all."""
        return sum(part.count for part in self.parts)

    @cached_property
    def lang(self) -> np.ndarray:
        """The language of each document, as an index into `languages`."""
        codes = [self.languages.index(part.lang) for part in self.parts]
        return np.repeat(np.array(codes, dtype=np.int16), [part.count for part in self.parts])

    def numbers(self, name: str) -> np.ndarray:
        """A signal of every document."""
        columns = [column(read_columns(part.path, [name]), name) for part in self.parts]
        return np.concatenate(columns) if columns else np.empty(0, np.uint32)

    def band(self, number: int) -> np.ndarray:
        """A band's key of every document."""
        assert 0 <= number < BANDS
        return self.numbers(f"band_{number:02}")

    def words(self, name: str) -> tuple[np.ndarray, list[str]]:
        """A column of few different words: each document's index, and the words."""
        known: dict[str, int] = {}
        codes: list[np.ndarray] = []
        for part in self.parts:
            encoded = read_columns(part.path, [name])[name].combine_chunks().dictionary_encode()
            order = [known.setdefault(word, len(known)) for word in encoded.dictionary.to_pylist()]
            codes.append(np.array(order, dtype=np.int32)[encoded.indices.to_numpy()])
        return np.concatenate([np.empty(0, np.int32), *codes]), list(known)

    def found(self) -> Iterator[tuple[Part, np.ndarray, np.ndarray, np.ndarray]]:
        """A part at a time: which document, label and share, for every label found in it."""
        for part in self.parts:
            table = read_columns(part.path, ["labels", "shares"])
            lists = table["labels"].combine_chunks()
            lengths = np.diff(lists.offsets.to_numpy())
            labels = np.array(lists.flatten().to_pylist(), dtype=str)
            shares = table["shares"].combine_chunks().flatten().to_numpy()
            yield part, np.repeat(np.arange(part.count), lengths), labels, shares

    def texts(self, part: Part, chosen: np.ndarray) -> list[str]:
        """The texts of some documents of a part, by their numbers in it."""
        return read_columns(part.path, ["text"])["text"].take(chosen).to_pylist()

    def chosen_texts(self, documents: np.ndarray) -> list[str]:
        """The texts of documents by their numbers in the corpus, in the order asked."""
        found: dict[int, str] = {}
        owner = self._owner(documents)
        for number in np.unique(owner):
            part, inside = self.parts[number], documents[owner == number]
            texts = self.texts(part, inside - part.first)
            found |= dict(zip(inside.tolist(), texts, strict=True))
        return [found[document] for document in documents.tolist()]

    def signatures(self, documents: np.ndarray) -> np.ndarray:
        """The MinHash signatures of some documents, by their numbers in the corpus."""
        rows = np.empty((len(documents), SIGNATURE), dtype=np.uint16)
        owner = self._owner(documents)
        for number in np.unique(owner):
            part, here = self.parts[number], owner == number
            rows[here] = self._part_signatures(part)[documents[here] - part.first]
        return rows

    def _owner(self, documents: np.ndarray) -> np.ndarray:
        """The number of the part that each document is in."""
        return np.searchsorted([part.first for part in self.parts], documents, side="right") - 1

    def _part_signatures(self, part: Part) -> np.ndarray:
        packed = read_columns(part.path, ["signature"])["signature"].combine_chunks()
        data = np.frombuffer(packed.buffers()[1], dtype=np.uint16)
        return data.reshape(-1, SIGNATURE)[packed.offset : packed.offset + len(packed)]


def open_corpus(path: Path, pieces: Sequence[Piece]) -> Corpus:
    """The corpus at `path` whose pieces have all been read."""
    return _opened(path, [(piece.lang, piece.name) for piece in pieces])


def reopen_corpus(path: Path) -> Corpus:
    """The corpus as it lies there, without the recipe that it was read by."""
    languages = read_json(path / "corpus.json")["languages"]
    named = [(lang, each["name"]) for lang, about in languages.items() for each in about["pieces"]]
    return _opened(path, named)


def _opened(path: Path, named: Sequence[tuple[str, str]]) -> Corpus:
    marks: list[dict[str, Any]] = []
    parts: list[Part] = []
    first = 0
    for lang, name in named:
        folder = path / lang / name
        try:
            mark = read_json(folder / "piece.json")
        except (OSError, ValueError):
            mark = {"whole": False, "source": name}
        if not mark["whole"]:
            what, hint = f"`{mark['source']}` has not been read to its end", "prepare it again"
            raise UserError(what, where=str(folder), hint=hint)
        marks.append({"lang": lang, "name": name, **mark})
        for number, count in enumerate(mark["parts"]):
            parts.append(Part(lang, name, part_path(folder, number), first, count))
            first += count
    languages = tuple(dict.fromkeys(lang for lang, _ in named))
    return Corpus(path, languages, tuple(marks), tuple(parts))
