"""The first stage: a piece is read from beginning to end, every document with its signals."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues import recipe
from tongues.files import append_line, file_hash, fingerprint, read_json, write_json
from tongues.quantities import show_bytes
from tongues.ranks import Say
from tongues.text.corpus import part_path, table_of, write_part
from tongues.text.document import Document, normalised
from tongues.text.reading import Fault, State
from tongues.text.signals import SIGNALS, load_benchmarks, load_identifier, signals_in
from tongues.text.sources import Piece, find_benchmarks, open_piece

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["gather"]

_LAYOUT = 1  # raised when the same text gives other bytes than before
_PART_BYTES = 32_000_000  # of text: what a kill can lose of a piece, and what memory holds of it
_PART_DOCUMENTS = 20_000
_TOKEN_BYTES = 16  # more than a token holds of any language
_FAULTS = 10_000  # of a piece, written down; more are only counted
_TELL_EVERY = 10.0  # seconds

Measure = Callable[[Sequence[Document]], "pa.Table"]  # documents to their table of signals


def gather(
    pieces: Iterable[Piece], tell: Say, settings: recipe.Text, corpus: Path, held_out: int = 0
) -> None:
    """Read pieces that are not whole yet; what was read of one before a kill is kept.

    held_out: tokens that are needed besides those that a source may give at most.
    """
    identifier = load_identifier(Path(settings.identifier) if settings.identifier else None)
    named = find_benchmarks(settings)
    benchmarks = load_benchmarks(named)
    signals = signals_in(tuple(settings.clean.levels))
    hashes = [file_hash(path) for path in named]
    tools: dict[str, Any] = {"identifier": identifier.name, "benchmarks": hashes}
    others = [[each.name, each.version] for each in signals if each not in SIGNALS.built_in]
    tools |= {"signals": others} if others else {}

    def measure(documents: Sequence[Document]) -> "pa.Table":
        return table_of(documents, identifier, benchmarks, signals)

    for piece in pieces:
        limit, most = piece.at_most, None  # bytes that are read of it at most
        if limit and limit.unit == "bytes":
            most = limit.number
        elif limit and limit.unit == "tokens" and isinstance(piece.settings, recipe.Hub):
            # files are there already and read whole for their tokens
            most = (limit.number + 2 * held_out) * _TOKEN_BYTES
        made_from = {"layout": _LAYOUT, "most": most, **piece.made_from(), **tools}
        _gather_piece(piece, made_from, measure, tell, corpus)


def _gather_piece(
    piece: Piece, made_from: dict[str, Any], measure: Measure, tell: Say, corpus: Path
) -> None:
    folder = piece.folder(corpus)
    faults = folder / "faults.jsonl"
    mark = _resume(folder, made_from, piece.source)
    if mark["whole"]:
        return
    most_bytes, most = made_from["most"], piece.at_most
    most_documents = most.number if most and most.unit == "documents" else None
    documents: list[Document] = []
    size = 0

    def save(state: State | None) -> None:
        if documents:
            write_part(part_path(folder, len(mark["parts"])), measure(documents))
            mark["parts"].append(len(documents))
        mark["documents"] += len(documents)
        mark["bytes"] += size
        mark["noted"] = faults.stat().st_size if faults.exists() else 0
        mark.update(state=state, whole=state is None)
        write_json(folder / "piece.json", mark)

    last_time, last_size = time.monotonic(), mark["bytes"]
    for item, state in open_piece(piece, mark["state"]):
        if isinstance(item, Fault):  # counted, and its place written down
            if sum(mark["faults"].values()) < _FAULTS:
                row = {"source": item.source, "place": item.place, "reason": item.reason}
                append_line(faults, row | {"sample": item.sample})
            mark["faults"][item.reason] = mark["faults"].get(item.reason, 0) + 1
            continue
        text = normalised(item.text)
        documents.append(replace(item, text=text))
        size += len(text.encode())
        enough = most_documents and mark["documents"] + len(documents) >= most_documents
        if enough or (most_bytes is not None and mark["bytes"] + size >= most_bytes):
            mark["capped"] = True
            break
        if size >= _PART_BYTES or len(documents) >= _PART_DOCUMENTS:
            save(state)
            documents, size = [], 0
        if time.monotonic() - last_time > _TELL_EVERY:
            speed = (mark["bytes"] + size - last_size) / (time.monotonic() - last_time)
            last_time, last_size = time.monotonic(), mark["bytes"] + size
            tell(f"{piece.source}: {show_bytes(last_size)} read, {show_bytes(speed)} a second")
    save(None)


def _resume(folder: Path, made_from: dict[str, Any], source: str) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    path, faults = folder / "piece.json", folder / "faults.jsonl"
    mark = read_json(path) if path.exists() else {}
    if mark.get("made_from") != fingerprint(made_from):
        mark = {"made_from": fingerprint(made_from), "content": made_from["content"]}
        mark |= {"source": source, "whole": False, "parts": [], "state": None}
        mark |= {"documents": 0, "bytes": 0, "capped": False, "faults": {}, "noted": 0}
        for left in (*folder.glob("*.parquet"), faults):
            left.unlink(missing_ok=True)
        write_json(path, mark)
    if faults.exists() and not mark["whole"]:
        with faults.open("r+b") as file:
            file.truncate(mark["noted"])
    return mark
