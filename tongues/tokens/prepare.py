"""From text to tokens on disk: train the tokenizer, encode, hold out, write."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.files import file_hash, fingerprint, whole_directory, write_json
from tongues.quantities import show_bytes, show_count
from tongues.recipe import Recipe
from tongues.text import Document, check_text, open_text, text_files
from tongues.tokens.shards import Shard, open_shard, shard_dtype, write_shard
from tongues.tokens.split import group_hash, held_out_groups
from tongues.tokens.store import Counts, Manifest, Split, read_manifest
from tongues.tokens.tokenizer import (
    END_ID,
    SAMPLE_BYTES,
    sample_text,
    save_tokenizer,
    train_tokenizer,
)

__all__ = ["check_tokens", "prepare_tokens"]

_LAYOUT = 1  # raised when the same settings give other bytes than before
_TELL_EVERY = 10.0  # seconds
_BATCH_BYTES = 2_000_000  # of text encoded at a time


@dataclass(frozen=True, slots=True, eq=False)
class _Encoded:
    """All of a language: its tokens aside on disk, and per document its group and bytes."""

    place: Path
    groups: np.ndarray
    bytes: np.ndarray

    def open(self) -> Shard:
        return open_shard(self.place)


def prepare_tokens(
    recipe: Recipe, workspace: Path, progress: Callable[[str], None], rebuild: bool = False
) -> Path:
    """Make the tokens of a recipe's text in `workspace/tokens/<recipe.name>` and return it.

    Groups of documents that are held out in one language are held out in all. What was
    made from the same text and settings is left as it is; from others, it is an error
    unless `rebuild`. `progress` is given lines for the user to read.
    """
    check_text(recipe.text)
    path = workspace / "tokens" / recipe.name
    made_from = _made_from(recipe)
    if path.exists() and not rebuild:
        before = read_manifest(path)["made_from"]
        if before == made_from:
            progress(f"{path}: made from the same text and settings, nothing to do")
            return path
        reason = f"made from other text or settings: {_difference(before, made_from)}"
        hint = "make it anew with `--rebuild`, or give the recipe another name"
        raise UserError(reason, where=str(path), hint=hint)
    with whole_directory(path) as aside:
        _make(recipe, made_from, aside, progress)
    return path


def check_tokens(recipe: Recipe, workspace: Path) -> None:
    """Refuse tokens that are missing, or were made with other settings than the recipe's."""
    path = workspace / "tokens" / recipe.name
    before = read_manifest(path)["made_from"]
    now = _settings(recipe)
    if any(before.get(section) != now[section] for section in now):
        reason = f"made from other settings: {_difference({k: before[k] for k in now}, now)}"
        hint = "run `tongues prepare` with this recipe, or give it another name"
        raise UserError(reason, where=str(path), hint=hint)


def _settings(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json", include={"text", "tokens"})


def _made_from(recipe: Recipe) -> dict[str, Any]:
    """All that the tokens depend on, in JSON."""
    files = {
        lang: {str(file): [file.stat().st_size, file_hash(file)] for file in paths}
        for lang, paths in text_files(recipe.text).items()
    }
    settings = recipe.model_dump(mode="json", include={"text", "tokens"})
    languages = list(recipe.text.languages)  # their order too decides what a made one tells
    return {"layout": _LAYOUT, "languages": languages, **settings, "files": files}


def _make(
    recipe: Recipe, made_from: dict[str, Any], path: Path, progress: Callable[[str], None]
) -> None:
    languages = recipe.text.languages
    samples = {lang: sample_text(open_text(recipe.text, lang)) for lang in languages}
    tokenizer = train_tokenizer(samples, recipe.tokens.vocabulary)
    save_tokenizer(tokenizer, path)
    size = tokenizer.get_vocab_size()
    progress(f"tokenizer of {size} pieces from up to {show_bytes(SAMPLE_BYTES)} per language")

    dtype = shard_dtype(size)
    encoded: dict[str, _Encoded] = {}
    held_out = np.empty(0, dtype=np.uint64)
    for lang in languages:
        documents = open_text(recipe.text, lang)
        encoded[lang] = _encode(tokenizer, documents, path / lang / "all", dtype, progress)
        lengths = np.diff(encoded[lang].open().bounds)
        _check_amount(lang, int(lengths.sum()), recipe.tokens.held_out)
        groups = held_out_groups(encoded[lang].groups, lengths, recipe.tokens.held_out)
        held_out = np.union1d(held_out, groups)

    counts: dict[str, dict[Split, Counts]] = {}
    for lang in languages:
        counts[lang] = _split(encoded[lang], held_out, dtype)
        train, valid = counts[lang]["train"], counts[lang]["valid"]
        if train["tokens"] < recipe.tokens.held_out:
            reason = f"{train['tokens']} tokens are left to train on, {valid['tokens']} held out"
            hint = "give more documents, smaller groups, or lower `tokens.held_out`"
            raise UserError(reason, where=f"text of {lang}", hint=hint)
        progress(
            f"{lang}: {train['documents'] + valid['documents']} documents, "
            f"{show_count(train['tokens'])} tokens to train on, "
            f"{show_count(valid['tokens'])} held out, "
            f"{train['bytes_per_token']:.2f} bytes per token"
        )
    manifest = Manifest(
        fingerprint=fingerprint(made_from),
        made_from=made_from,
        vocabulary_size=size,
        dtype=dtype.name,
        tokenizer_sha256=file_hash(path / "tokenizer.json"),
        languages=counts,
    )
    write_json(path / "tokens.json", manifest)


def _check_amount(lang: str, tokens: int, held_out: int) -> None:
    if tokens < 2 * held_out:
        reason = f"its {tokens} tokens are too few to hold out {held_out} and train on the rest"
        hint = f"give it at least {2 * held_out} tokens of text, or lower `tokens.held_out`"
        raise UserError(reason, where=f"text of {lang}", hint=hint)


def _encode(
    tokenizer: Tokenizer,
    documents: Iterable[Document],
    place: Path,
    dtype: np.dtype,
    progress: Callable[[str], None],
) -> _Encoded:
    """Write all tokens of a language, each document closed by the end token."""
    groups: list[int] = []
    sizes: list[int] = []
    told = time.monotonic()

    def encoded() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        nonlocal told
        for batch in _batches(documents):
            texts = [document.text for document in batch]
            groups.extend(group_hash(document.group) for document in batch)
            sizes.extend(len(text.encode()) for text in texts)
            encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            pieces = [np.array([*encoding.ids, END_ID], dtype=dtype) for encoding in encodings]
            yield np.concatenate(pieces), np.array([len(piece) for piece in pieces])
            if time.monotonic() - told > _TELL_EVERY:
                told = time.monotonic()
                progress(f"{place.parent.name}: {show_bytes(sum(sizes))} encoded so far")

    write_shard(place, encoded(), dtype)
    return _Encoded(place, np.array(groups, dtype=np.uint64), np.array(sizes, dtype=np.int64))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= _BATCH_BYTES:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _split(encoded: _Encoded, held_out: np.ndarray, dtype: np.dtype) -> dict[Split, Counts]:
    """Write what is trained on and what is held out in the place of all tokens."""
    is_held_out = np.isin(encoded.groups, held_out)
    shard = encoded.open()
    chosen: dict[Split, np.ndarray] = {"train": ~is_held_out, "valid": is_held_out}
    counts: dict[Split, Counts] = {}
    for split, keep in chosen.items():
        write_shard(encoded.place.with_name(split), _documents(shard, keep), dtype)
        tokens = int(np.diff(shard.bounds)[keep].sum())
        size = int(encoded.bytes[keep].sum())
        counts[split] = Counts(
            documents=int(keep.sum()),
            tokens=tokens,
            bytes=size,
            bytes_per_token=round(size / max(tokens, 1), 4),
        )
    for suffix in (".bin", ".idx"):
        encoded.place.with_suffix(suffix).unlink()
    return counts


def _documents(shard: Shard, keep: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The kept documents of a shard, some thousand at a time."""
    lengths = np.diff(shard.bounds)
    for start in range(0, len(keep), 4096):
        stop = min(start + 4096, len(keep))
        tokens = shard.tokens[shard.bounds[start] : shard.bounds[stop]]
        chosen, sizes = keep[start:stop], lengths[start:stop]
        yield tokens[np.repeat(chosen, sizes)], sizes[chosen]


def _difference(before: Any, now: Any) -> str:
    """The first few settings that differ, as `key: before → now`."""
    left, right = _flat(before), _flat(now)
    shown = [
        f"`{key}`: {left.get(key, 'absent')!s:.40} → {right.get(key, 'absent')!s:.40}"
        for key in {**left, **right}
        if left.get(key) != right.get(key)
    ]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    """Nested settings as one level of dotted keys."""
    if not isinstance(value, dict):
        return {key: value}
    inner = (_flat(item, f"{key}.{name}".lstrip(".")) for name, item in value.items())
    return {name: item for settings in inner for name, item in settings.items()}
