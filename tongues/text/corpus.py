"""A corpus on disk: Parquet files of documents with their signals, read by columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import check_readable, read_json, whole_file
from tongues.text.document import Document
from tongues.text.signals import SIGNATURE, Batch, Benchmarks, Identifier, Signal
from tongues.text.sources import TextSource

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH = 1_000_000  # characters whose signals are taken together


def table_of(
    documents: Sequence[Document],
    identifier: Identifier,
    benchmarks: Benchmarks,
    signals: Sequence[Signal],
) -> "pa.Table":
    """The table of some documents, all of one language: their text and every signal of it."""
    import pyarrow as pa

    tables = []
    for stretch in stretches([document.text for document in documents], _BATCH):
        batch = Batch(documents[stretch], identifier, benchmarks)
        identified = batch.languages
        shares = [list(each.shares.values()) for each in identified]
        columns: dict[str, Any] = {
            "id": pa.array([document.id for document in batch.documents]),
            "group": pa.array([document.group for document in batch.documents]),
            "text": pa.array(batch.texts),
            "script": pa.array(batch.characters["script"].tolist()),
            "label": pa.array([each.label for each in identified]),
            "labels": pa.array([list(each.shares) for each in identified], pa.list_(pa.string())),
            "shares": pa.array(shares, pa.list_(pa.float32())),
        }
        for signal in signals:
            columns |= signal.columns(batch)
        tables.append(pa.table(columns))
    return pa.concat_tables(tables).combine_chunks()


def stretches(texts: Sequence[str], characters: int) -> Iterator[slice]:
    """Stretches of texts, each of about that many characters and at least one text."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    start = 0
    while start < len(texts):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + characters)) + 1
        yield slice(start, min(stop, len(texts)))
        start = stop


def part_path(folder: Path, number: int) -> Path:
    """The path of a source's Parquet file `number`."""
    return folder / f"{number:05}.parquet"


def write_part(path: Path, table: "pa.Table") -> None:
    """Write a part, under a temporary name until it is complete."""
    import pyarrow.parquet as pq

    few = ["group", "script", "label"]  # different words; hashes would find no use for a dictionary
    with whole_file(path) as aside:
        options = {"compression": "zstd", "use_dictionary": few, "write_statistics": False}
        with pq.ParquetWriter(aside, table.schema, **options) as writer:
            writer.write_table(table)


def read_columns(path: Path, columns: Sequence[str]) -> "pa.Table":
    """Some columns of a part; a UserError when it is missing or damaged."""
    import pyarrow.parquet as pq

    check_readable(path)
    try:
        return pq.ParquetFile(path).read(list(columns), use_threads=False)
    except (OSError, ValueError) as error:
        hint = f"remove `{path.parent}`: it is read again"
        raise UserError(f"cannot be read ({error})", where=str(path), hint=hint) from None


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file of documents; `first` is the number of its first document in the corpus."""

    lang: str
    source: str
    path: Path
    first: int
    count: int


@dataclass(frozen=True)
class Corpus:
    """All documents that were read, kept or not, numbered in reading order."""

    path: Path
    languages: tuple[str, ...]
    sources: tuple[dict[str, Any], ...]  # source.json of each, with its language and name
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

    @property
    def titles(self) -> list[str]:
        """The title of the source of each part."""
        titles = {(each["lang"], each["name"]): each["title"] for each in self.sources}
        return [titles[part.lang, part.source] for part in self.parts]

    def numbers(self, name: str) -> np.ndarray:
        """A signal of every document."""
        columns = [read_columns(part.path, [name])[name].to_numpy() for part in self.parts]
        return np.concatenate(columns) if columns else np.empty(0, np.uint32)

    def words(self, name: str) -> tuple[np.ndarray, list[str]]:
        """A column of few different words: each document's index, and the words."""
        known: dict[str, int] = {}
        codes: list[np.ndarray] = [np.empty(0, np.int32)]
        for part in self.parts:
            encoded = read_columns(part.path, [name])[name].combine_chunks().dictionary_encode()
            order = [known.setdefault(word, len(known)) for word in encoded.dictionary.to_pylist()]
            codes.append(np.array(order, dtype=np.int32)[encoded.indices.to_numpy()])
        return np.concatenate(codes), list(known)

    def identified(self) -> Iterator[tuple[Part, np.ndarray, np.ndarray, np.ndarray]]:
        """Of each part: document, label and share of every language identified in a document."""
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

    @cached_property
    def sizes(self) -> np.ndarray:
        """Bytes of every document, int64."""
        return self.numbers("bytes").astype(np.int64)

    def chosen_texts(self, documents: np.ndarray) -> list[str]:
        """The texts of documents by their numbers in the corpus, in the order given."""
        texts: dict[int, str] = {}
        for part, here in self._by_part(documents):
            inside = documents[here]
            rows = self.texts(part, inside - part.first)
            texts |= dict(zip(inside.tolist(), rows, strict=True))
        return [texts[document] for document in documents.tolist()]

    def files_of(self, documents: np.ndarray) -> np.ndarray:
        """The file that each of some documents is from; of a data set its name."""
        many = {(x["lang"], x["name"]) for x in self.sources if len(x["content"]) > 1}
        names, titles = np.empty(len(documents), dtype=object), self.titles
        for part, here in self._by_part(documents):
            names[here] = titles[self.parts.index(part)]
            if (part.lang, part.source) in many:
                ids = read_columns(part.path, ["id"])["id"].take(documents[here] - part.first)
                names[here] = [re.sub(r"#\d+$", "", each) for each in ids.to_pylist()]
        return names

    def signatures(self, documents: np.ndarray) -> np.ndarray:
        """The MinHash signatures of some documents, by their numbers in the corpus."""
        rows = np.empty((len(documents), SIGNATURE), dtype=np.uint16)
        for part, here in self._by_part(documents):
            packed = read_columns(part.path, ["signature"])["signature"].combine_chunks()
            data = np.frombuffer(packed.buffers()[1], dtype=np.uint16).reshape(-1, SIGNATURE)
            rows[here] = data[packed.offset + documents[here] - part.first]
        return rows

    def part_of(self, documents: np.ndarray) -> np.ndarray:
        """The index of the part that each of some documents is in, by their numbers."""
        return np.searchsorted([part.first for part in self.parts], documents, side="right") - 1

    def _by_part(self, documents: np.ndarray) -> Iterator[tuple[Part, np.ndarray]]:
        owner = self.part_of(documents)
        for number in np.unique(owner):
            yield self.parts[number], owner == number


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Which documents of a corpus are kept, and why the others are dropped.

    reasons: why documents are dropped; the first entry means kept.
    reason: index into `reasons`.
    cluster: number of the first document that it is a near copy of, its own if none; -1 where
        it was dropped before the search for near copies.
    component: a hash shared by documents that the split keeps together, because they have one
        group or are similar, in any language.
    thresholds: the value of each threshold, by language and recipe key.
    """

    reasons: tuple[str, ...]
    reason: np.ndarray
    cluster: np.ndarray
    component: np.ndarray
    thresholds: dict[str, dict[str, float]]

    @property
    def kept(self) -> np.ndarray:
        """Numbers of the documents that are kept."""
        return np.flatnonzero(self.reason == 0)


def open_corpus(path: Path, sources: Sequence[TextSource] | None = None) -> Corpus:
    """The corpus at `path`; a UserError unless all `sources`, by default its own, were read."""
    if sources is None:
        kept = read_json(path / "corpus.json")["languages"]
        named = [(lang, each["name"]) for lang, about in kept.items() for each in about["sources"]]
    else:
        named = [(source.lang, source.name) for source in sources]
    records: list[dict[str, Any]] = []
    parts: list[Part] = []
    for lang, name in named:
        folder = path / lang / name
        try:
            record = read_json(folder / "source.json")
        except (OSError, ValueError):
            record = {"complete": False, "title": name}
        if not record["complete"]:
            what, hint = f"`{record['title']}` has not been read to its end", "prepare it again"
            raise UserError(what, where=str(folder), hint=hint)
        records.append({"lang": lang, "name": name, **record})
        for number, count in enumerate(record["parts"]):
            first = parts[-1].first + parts[-1].count if parts else 0
            parts.append(Part(lang, name, part_path(folder, number), first, count))
    return Corpus(
        path, tuple(dict.fromkeys(lang for lang, _ in named)), tuple(records), tuple(parts)
    )
