"""Text for other trainers: the samples of a run in order, its shards, or its documents."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.core.terminal import Show
from tongues.text.corpus import open_corpus, read_columns
from tongues.text.select import read_selection
from tongues.text.tokens import Tokens
from tongues.text.tokens.store import Split, corpus_of, read_manifest
from tongues.train.step import cut_windows
from tongues.use.engines.engine import PLACES, Handover
from tongues.use.export.base import ReadyRun

_ARROW = "data-00000-of-00001.arrow"
_UNSCORED = -100  # PyTorch's label of what has no loss
_SPLITS: tuple[Split, Split] = ("train", "valid")


def write_packed(ready: ReadyRun, run: Handover, folder: Path, show: Show, *, labels: bool) -> None:
    """Write the samples of a run, in its order, and its held-out windows of each language.

    The layout is that of `datasets.DatasetDict.save_to_disk`. A sample has a token more than the
    context, since its first is not predicted. labels: whether a sample says what is predicted.
    """

    def steps() -> Iterator[np.ndarray]:
        for step in range(run.steps):
            yield ready.mixture.batch(step)
            show((step + 1) / run.steps)

    data = folder / PLACES["data"]
    splits = ["train", *(f"validation_{lang}" for lang in run.held_out)]
    _write_rows(data / "train", steps(), labels)
    tokens, most = ready.here.tokens, ready.plan.settings.eval_tokens
    for lang in run.held_out:
        text = tokens.valid(lang)
        windows = cut_windows(text, tokens.token_bytes, run.context, most, tokens.frame).windows
        _write_rows(data / f"validation_{lang}", iter([windows.numpy()]), labels)
    write_json(data / "dataset_dict.json", {"splits": splits})


def _write_rows(folder: Path, batches: Iterator[np.ndarray], labels: bool) -> None:
    """Rows of token ids as an Arrow file, of which readers map what they need."""
    folder.mkdir(parents=True)
    types = {"input_ids": pa.int32()}
    types |= {"labels": pa.int32(), "attention_mask": pa.int8()} if labels else {}
    schema = pa.schema({name: pa.list_(kind) for name, kind in types.items()})
    with pa.OSFile(str(folder / _ARROW), "wb") as file, pa.ipc.new_stream(file, schema) as out:
        for batch in batches:
            ids = batch.astype(np.int32)
            scored = np.concatenate([np.full_like(ids[:, :1], _UNSCORED), ids[:, 1:]], axis=1)
            columns = [ids, scored, np.ones_like(ids, np.int8)][: len(types)]
            ends = pa.array(np.arange(len(batch) + 1, dtype=np.int32) * batch.shape[1])
            flat = [pa.array(column.reshape(-1)) for column in columns]
            lists = [pa.ListArray.from_arrays(ends, column) for column in flat]
            out.write_batch(pa.record_batch(lists, schema))
    numbers = {name: {"dtype": str(kind), "_type": "Value"} for name, kind in types.items()}
    features = {name: {"feature": kind, "_type": "Sequence"} for name, kind in numbers.items()}
    write_json(folder / "dataset_info.json", {"features": features})
    state = {"_data_files": [{"filename": _ARROW}], "_split": None}
    state |= {"_fingerprint": folder.name, "_format_type": None, "_format_kwargs": {}}
    state |= {"_format_columns": None, "_output_all_columns": False}
    write_json(folder / "state.json", state)


def link_shards(tokens: Tokens, run: Handover, folder: Path) -> None:
    """Put the shards into a folder, and the planned shares as Megatron's blend."""
    data = folder / PLACES["data"]
    for lang in tokens.languages:
        (data / lang).mkdir(parents=True)
        for name in _SPLITS:
            for suffix in (".bin", ".idx"):
                _link(tokens.path / lang / f"{name}{suffix}", data / lang / f"{name}{suffix}")
    weighted = [
        word for lang, share in run.shares.items() for word in (f"{share:.9g}", _place(lang, 0))
    ]
    held_out = [_place(lang, 1) for lang in run.held_out]
    blend = {"train": weighted, "valid": held_out, "test": held_out}
    (folder / "blend.json").write_text(json.dumps(blend, indent=1) + "\n", encoding="utf-8")


def _place(lang: str, number: int) -> str:
    return f"{PLACES['data']}/{lang}/{_SPLITS[number]}"


def _link(file: Path, place: Path) -> None:
    """A second name of a file; a copy on another volume."""
    try:
        os.link(file.resolve(), place)
    except OSError:
        shutil.copyfile(file, place)


def write_documents(tokens: Tokens, folder: Path) -> None:
    """Write the kept documents as Parquet, by split and language.

    A column each for text, language, source and id. Documents that have text on both sides of
    the split are in neither, as in the tokens.
    """
    place = corpus_of(tokens.path)
    if not (place / "corpus.json").is_file():
        hint = "prepare the recipe again"
        raise UserError("the corpus is gone, only its tokens are left", where=str(place), hint=hint)
    corpus = open_corpus(place)
    titles = {(each["lang"], each["name"]): each["title"] for each in corpus.sources}
    selection = read_selection(corpus)
    kept, component = selection.reason == 0, selection.component
    for lang in tokens.languages:
        held = _hashes(tokens.held_out[lang])
        apart = _hashes(tokens.groups[lang])
        counts = dict.fromkeys(_SPLITS, 0)
        for number, part in enumerate(part for part in corpus.parts if part.lang == lang):
            here = slice(part.first, part.first + part.count)
            groups = read_columns(part.path, ["group_hash"])["group_hash"].to_numpy()
            valid = kept[here] & np.isin(groups, held)
            train = kept[here] & ~np.isin(groups, held) & ~np.isin(component[here], apart)
            title = titles[part.lang, part.source]
            for name, chosen, split in zip(
                _SPLITS, (train, valid), ("train", PLACES["held_out"]), strict=True
            ):
                counts[name] += int(chosen.sum())
                if chosen.any():
                    target = folder / split / f"{lang}-{number:05}.parquet"
                    target.parent.mkdir(parents=True, exist_ok=True)
                    table = read_columns(part.path, ["text", "id"]).filter(pa.array(chosen))
                    for column, value in (("language", lang), ("source", title), ("split", split)):
                        table = table.append_column(column, pa.array([value] * len(table)))
                    pq.write_table(table, target, compression="zstd")
        _check_counts(tokens, lang, counts)


def _hashes(words: Sequence[str]) -> np.ndarray:
    return np.array([int(word, 16) for word in words], dtype=np.uint64)


def _check_counts(tokens: Tokens, lang: str, counts: Mapping[Split, int]) -> None:
    """The corpus may have been read again, for tokens of other settings."""
    there = read_manifest(tokens.path)["languages"][lang]
    for name, count in counts.items():
        if there[name]["documents"] != count:
            what = f"the corpus has {count:,} documents of `{lang}` for `{name}`, and the tokens "
            what += f"{there[name]['documents']:,}"
            raise UserError(what, where=str(tokens.path), hint="prepare the recipe again")
