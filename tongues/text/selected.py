"""A selection on disk, made again only when the text or a threshold changed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tongues import recipe
from tongues.errors import UserError
from tongues.files import fingerprint, read_json, whole_file, write_json
from tongues.quantities import show_bytes
from tongues.ranks import Tell
from tongues.text.corpus import Corpus
from tongues.text.select import Selection, select
from tongues.text.signals import signals_in
from tongues.text.sources import Piece
from tongues.text.summary import show_dropped, summarise

__all__ = ["check_selection", "read_selection", "write_selection"]

_LAYOUT = 1  # raised when the same signals and thresholds give another selection than before


def write_selection(
    settings: recipe.Text, corpus: Corpus, pieces: Sequence[Piece], tell: Tell
) -> None:
    """Decide about every document, unless that was done before, and tell the outcome."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    clean = settings.model_dump(mode="json")
    marks = [mark["made_from"] for mark in corpus.pieces]
    made_from = fingerprint({"layout": _LAYOUT, "clean": clean, "pieces": marks})
    path, selected = corpus.path / "corpus.json", corpus.path / "selected.parquet"
    there = path.exists() and selected.exists()
    if not there or read_json(path)["made_from"] != made_from:
        path.unlink(missing_ok=True)  # a kill must not leave it beside another selection
        selection = select(settings, corpus, pieces)
        names = {"reason": selection.reason, "cluster": selection.cluster}
        table = pa.table(names | {"component": selection.component})
        with whole_file(selected) as aside:
            pq.write_table(table, aside, compression="zstd")
        summary = summarise(corpus, selection, signals_in(tuple(settings.clean.levels)))
        write_json(path, {"made_from": made_from, "reasons": selection.reasons, **summary})
    _tell(read_json(path), tell)


def check_selection(corpus: Corpus) -> None:
    """Refuse a corpus with a language of which nothing is kept, and say why."""
    for lang, about in read_json(corpus.path / "corpus.json")["languages"].items():
        if not about["kept"]["documents"]:
            raise _nothing_left(lang, about)


def read_selection(corpus: Corpus) -> Selection:
    """The selection that was made of a corpus."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(corpus.path / "selected.parquet").read(use_threads=False)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    summary: dict[str, Any] = read_json(corpus.path / "corpus.json")
    thresholds = {lang: about["thresholds"] for lang, about in summary["languages"].items()}
    component = columns["component"].astype(np.uint64, copy=False)
    reasons = tuple(summary["reasons"])
    return Selection(reasons, columns["reason"], columns["cluster"], component, thresholds)


def _nothing_left(lang: str, about: dict[str, Any]) -> UserError:
    """Why a language has no document, and where the commonest reason was first met."""
    where = f"text of {lang}"
    if about["read"]["documents"]:
        hint = "see `tongues report` on the corpus, and `text.clean`"
        return UserError("nothing of it is kept", where=where, hint=hint)
    samples = [sample for piece in about["pieces"] for sample in piece["fault_samples"]]
    if not samples:
        return UserError("its sources hold no document", where=where, hint="name others")
    first = samples[0]
    what = f"no document could be read; the first place is {first['source']}, {first['place']}: "
    hint = f"{first['reason']}: {first['sample']:.120}"
    if first["reason"] == "no text":
        hint += "; say which column holds the text: `columns: {text: ...}`"
    return UserError(what + first["reason"], where=where, hint=hint)


def _tell(summary: dict[str, Any], tell: Tell) -> None:
    for lang, about in summary["languages"].items():
        read, kept = about["read"], about["kept"]
        line = f"{lang}: {read['documents']} documents read, {show_bytes(read['bytes'])}"
        if kept != read:
            line += f"; {kept['documents']} kept ({show_dropped(about['dropped'])})"
        tell(line)
    for caution in summary["cautions"]:
        tell(f"caution: {caution['sentence']} ({caution['code']})")
