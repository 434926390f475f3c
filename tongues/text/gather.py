"""The first stage: read every source, and measure the signals of every document."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues import recipe
from tongues.core.extras import require
from tongues.core.files import append_line, file_hash, fingerprint, read_json, write_json
from tongues.core.quantities import show_bytes
from tongues.core.ranks import Say
from tongues.text.corpus import part_path, table_of, write_part
from tongues.text.document import Document, normalised, parts_of
from tongues.text.reading import Fault, State
from tongues.text.repair import repaired
from tongues.text.signals import SIGNALS, load_benchmarks, load_identifier, signals_in
from tongues.text.sources import TextSource, find_benchmarks, read_source

if TYPE_CHECKING:
    import pyarrow as pa


_LAYOUT = 7  # raised when the same text gives other bytes than before
_PART_BYTES = 32_000_000  # of text: read again after a kill, at most, and held in memory
_PART_DOCUMENTS = 20_000  # of a part, however short they are; chosen
_TOKEN_BYTES = 16  # above the bytes per token of any language
_FAULTS = 10_000  # of a source, written to faults.jsonl; more are only counted
_TELL_FIRST, _TELL_EVERY = 2_000_000, 10.0  # bytes, read in less than a second; seconds

Measure = Callable[[Sequence[Document]], "pa.Table"]  # documents to their table of signals


def gather(
    sources: Iterable[TextSource],
    tell: Say,
    settings: recipe.Text,
    corpus: Path,
    tokens: recipe.TokenSettings | None = None,
) -> None:
    """Read the sources that are not complete; resume those that were interrupted.

    tokens: what they hold out of the text is read in addition to a source's limit.
    """
    identifier = load_identifier(Path(settings.identifier) if settings.identifier else None)
    named = find_benchmarks(settings)
    benchmarks = load_benchmarks(named)
    signals = signals_in(tuple(settings.clean.levels))
    hashes = [file_hash(path) for path in named]
    tools: dict[str, Any] = {"identifier": identifier.name, "benchmarks": hashes}
    others = [[each.name, each.version] for each in signals if each not in SIGNALS.built_in]
    tools |= {"signals": others} if others else {}
    if settings.repair:
        require("ftfy", "text.repair")
        tools["repair"] = version("ftfy")
    progress = _progress(tell)
    measure = partial(table_of, identifier=identifier, benchmarks=benchmarks, signals=signals)
    for source in sources:
        limit, most = source.at_most, None  # bytes to read
        if limit and limit.unit == "bytes":
            most = limit.number
        elif limit and limit.unit == "tokens" and isinstance(source.settings, recipe.Hub):
            # files are local, and are read completely
            held_out = tokens.held_out_of(limit.number) if tokens else 0
            most = (limit.number + 2 * held_out) * _TOKEN_BYTES
        made_from = {"layout": _LAYOUT, "most": most, **source.made_from(), **tools}
        _gather_source(source, made_from, measure, progress, corpus, identifier.knows(source.lang))


def _progress(tell: Say) -> Callable[[int, str, int], None]:
    """Counts text, and says how much of a source is read: soon at first, then every ten seconds."""
    since, counted, begun = time.monotonic(), 0, False

    def add(size: int, title: str, so_far: int) -> None:
        nonlocal since, counted, begun
        counted, spent = counted + size, time.monotonic() - since
        if spent > _TELL_EVERY or (not begun and counted > _TELL_FIRST):
            speed = show_bytes(counted / max(spent, 1e-9))
            tell(f"{title}: {show_bytes(so_far)} read, {speed} a second")
            since, counted, begun = time.monotonic(), 0, True

    return add


def _gather_source(
    source: TextSource,
    made_from: dict[str, Any],
    measure: Measure,
    progress: Callable[[int, str, int], None],
    corpus: Path,
    known: bool,
) -> None:
    folder = source.folder(corpus)
    faults = folder / "faults.jsonl"
    record = _resume(folder, made_from, source.title, known)
    if record["complete"]:
        return
    most_bytes, most, repair = made_from["most"], source.at_most, "repair" in made_from
    most_documents = most.number if most and most.unit == "documents" else None
    documents: list[Document] = []
    size = 0

    def save(state: State | None) -> None:
        if documents:
            write_part(part_path(folder, len(record["parts"])), measure(documents))
            record["parts"].append(len(documents))
        record["documents"] += len(documents)
        record["bytes"] += size
        record["fault_bytes"] = faults.stat().st_size if faults.exists() else 0
        record.update(state=state, complete=state is None)
        write_json(folder / "source.json", record)

    for item, state in read_source(source, record["state"]):
        if isinstance(item, Fault):  # counted, and its place recorded
            if sum(record["faults"].values()) < _FAULTS:
                row = {"source": item.source, "place": item.place, "reason": item.reason}
                row |= {"sample": item.sample, "bytes": item.size}
                append_line(faults, row)
            for amounts, amount in ((record["faults"], 1), (record["lost"], item.size)):
                amounts[item.reason] = amounts.get(item.reason, 0) + amount
            continue
        if repair and (better := repaired(item.text)) != item.text:
            group = fingerprint(better) if item.group == fingerprint(item.text) else item.group
            item = replace(item, text=better, group=group)
            record["repaired"] += 1
        texts = [replace(x, text=normalised(x.text)) for x in parts_of(item, source.part)]
        documents += texts
        length = sum(len(each.text.encode()) for each in texts)
        size += length
        enough = most_documents and record["documents"] + len(documents) >= most_documents
        if enough or (most_bytes is not None and record["bytes"] + size >= most_bytes):
            record["capped"] = True
            break
        if size >= _PART_BYTES or len(documents) >= _PART_DOCUMENTS:
            save(state)
            documents, size = [], 0
        progress(length, source.title, record["bytes"] + size)
    save(None)


def _resume(folder: Path, made_from: dict[str, Any], title: str, known: bool) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    path, faults = folder / "source.json", folder / "faults.jsonl"
    record = read_json(path) if path.exists() else {}
    if record.get("made_from") != fingerprint(made_from):
        for left in (path, *folder.glob("*.parquet"), faults):
            left.unlink(missing_ok=True)
        record = {"made_from": fingerprint(made_from), "content": made_from["content"]}
        record |= {"title": title, "known": known, "complete": False, "parts": [], "state": None}
        record |= {"documents": 0, "bytes": 0, "capped": False, "faults": {}, "lost": {}}
        record["fault_bytes"] = record["repaired"] = 0
        write_json(path, record)
    if faults.exists() and not record["complete"]:
        with faults.open("r+b") as file:
            file.truncate(record["fault_bytes"])
    return record
