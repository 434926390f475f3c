"""The first stage: a piece is read from beginning to end, every document with its signals."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues import recipe
from tongues.files import append_line, file_hash, fingerprint, read_json, write_json
from tongues.quantities import show_bytes
from tongues.ranks import Rank, Tell
from tongues.text.document import Document
from tongues.text.normal import normalised
from tongues.text.parts import part_path, table_of, write_part
from tongues.text.reading import Fault
from tongues.text.signals import SIGNALS, load_benchmarks, load_identifier, signals_in
from tongues.text.sources import Piece, find_benchmarks, find_pieces, open_piece

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["gather", "gather_rank"]

_LAYOUT = 1  # raised when the same text gives other bytes than before
_PART_BYTES = 32_000_000  # of text: what a kill can lose of a piece, and what memory holds of it
_PART_DOCUMENTS = 20_000
_TOKEN_BYTES = 16  # more than a token holds of any language
_FAULTS = 10_000  # of a piece, written down; more are only counted
_TELL_EVERY = 10.0  # seconds

Measure = Callable[[Sequence[Document]], "pa.Table"]  # documents to their table of signals


def gather_rank(rank: Rank, tell: Tell, settings: recipe.Text, corpus: Path, held_out: int) -> None:
    """Read this rank's pieces of the recipe's text into the folder of the corpus."""
    gather(rank.share(find_pieces(settings)), tell, settings, corpus, held_out)


def gather(
    pieces: Iterable[Piece],
    tell: Tell,
    settings: recipe.Text,
    corpus: Path,
    held_out: int = 0,
) -> None:
    """Read pieces that are not whole yet; what was read of one before a kill is kept.

    held_out: tokens that are needed besides those that a source may give at most.
    """
    identifier = load_identifier(Path(settings.identifier) if settings.identifier else None)
    named = find_benchmarks(settings)
    benchmarks = load_benchmarks(named)
    signals = signals_in(tuple(settings.clean.levels))
    tools: dict[str, Any] = {"identifier": identifier.name}
    tools |= {"benchmarks": [file_hash(path) for path in named]}
    others = [[each.name, each.version] for each in signals if each not in SIGNALS.built_in]
    tools |= {"signals": others} if others else {}

    def measure(documents: Sequence[Document]) -> "pa.Table":
        return table_of(documents, identifier, benchmarks, signals)

    for piece in pieces:
        most = _most_bytes(piece, held_out)
        made_from = {"layout": _LAYOUT, "most": most, **piece.made_from(), **tools}
        _gather_piece(piece, made_from, measure, tell, corpus)


def _gather_piece(
    piece: Piece,
    made_from: dict[str, Any],
    measure: Measure,
    tell: Tell,
    corpus: Path,
) -> None:
    folder = piece.folder(corpus)
    mark = _resume(folder, made_from, piece.source)
    if mark["whole"]:
        return
    told, behind = time.monotonic(), mark["bytes"]
    documents: list[Document] = []
    size = 0
    state = mark["state"]
    for item, after in open_piece(piece, state):
        state = after
        if isinstance(item, Fault):
            _note(folder, mark, item)
            continue
        text = normalised(item.text)
        documents.append(replace(item, text=text))
        size += len(text.encode())
        there = mark["documents"] + len(documents), mark["bytes"] + size
        if _full(piece, made_from["most"], *there):
            mark["capped"] = True
            break
        if size >= _PART_BYTES or len(documents) >= _PART_DOCUMENTS:
            _save(folder, mark, documents, size, state, measure)
            documents, size = [], 0
        if time.monotonic() - told > _TELL_EVERY:
            speed = (mark["bytes"] + size - behind) / (time.monotonic() - told)
            told, behind = time.monotonic(), mark["bytes"] + size
            tell(f"{piece.source}: {show_bytes(behind)} read, {show_bytes(speed)} a second")
    _save(folder, mark, documents, size, state, measure, whole=True)


def _most_bytes(piece: Piece, held_out: int) -> int | None:
    """What is read of a piece at most; files are there already and read whole for their tokens."""
    most = None if isinstance(piece.settings, recipe.Made) else piece.settings.at_most
    if most and most.unit == "bytes":
        return most.number
    if most and most.unit == "tokens" and isinstance(piece.settings, recipe.Hub):
        return (most.number + 2 * held_out) * _TOKEN_BYTES
    return None


def _full(piece: Piece, most_bytes: int | None, documents: int, size: int) -> bool:
    """Whether the most that the recipe wants of the piece is there."""
    most = None if isinstance(piece.settings, recipe.Made) else piece.settings.at_most
    if most and most.unit == "documents":
        return documents >= most.number
    return most_bytes is not None and size >= most_bytes


def _resume(folder: Path, made_from: dict[str, Any], source: str) -> dict[str, Any]:
    """What is there of a piece; a fresh start where it was made from something else."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "piece.json"
    mark = read_json(path) if path.exists() else {}
    if mark.get("made_from") != fingerprint(made_from):
        mark = {
            "made_from": fingerprint(made_from),
            "content": made_from["content"],
            "source": source,
            "whole": False,
            "parts": [],
            "state": None,
        }
        mark |= {"documents": 0, "bytes": 0, "capped": False, "faults": {}, "noted": 0}
        for left in (*folder.glob("*.parquet"), folder / "faults.jsonl"):
            left.unlink(missing_ok=True)
        write_json(path, mark)
    faults = folder / "faults.jsonl"
    if faults.exists() and not mark["whole"]:
        with faults.open("r+b") as file:
            file.truncate(mark["noted"])
    return mark


def _note(folder: Path, mark: dict[str, Any], fault: Fault) -> None:
    """Count what could not be read, and write down where."""
    if sum(mark["faults"].values()) < _FAULTS:
        row = {"place": fault.place, "reason": fault.reason, "sample": fault.sample}
        append_line(folder / "faults.jsonl", {"source": fault.source} | row)
    mark["faults"][fault.reason] = mark["faults"].get(fault.reason, 0) + 1


def _save(
    folder: Path,
    mark: dict[str, Any],
    documents: list[Document],
    size: int,
    state: Any,
    measure: Measure,
    whole: bool = False,
) -> None:
    """Write a part, then the mark that makes it count."""
    if documents:
        write_part(part_path(folder, len(mark["parts"])), measure(documents))
        mark["parts"].append(len(documents))
    mark["documents"] += len(documents)
    mark["bytes"] += size
    faults = folder / "faults.jsonl"
    mark["noted"] = faults.stat().st_size if faults.exists() else 0
    mark |= {"state": None if whole else state, "whole": whole}
    write_json(folder / "piece.json", mark)
