"""The third stage: the kept documents of each part as token ids, aside on disk."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tongues.files import whole_file
from tongues.quantities import show_bytes
from tongues.ranks import Tell
from tongues.text.corpus import Corpus, Part
from tongues.text.select import Selection
from tongues.tokens.encode import encode
from tongues.tokens.shards import shard_dtype
from tongues.tokens.tokenizer import vocabulary_size

__all__ = ["encode_part", "encoded_folder", "encoded_tokens", "lengths_of"]

_BATCH_CHARACTERS = 1_000_000  # of text encoded at a time
_TELL_EVERY = 10.0  # seconds


def encoded_folder(corpus: Path) -> Path:
    """Where encoded parts lie until they are written in order."""
    return corpus / "work" / "encoded"


def encode_part(
    corpus: Corpus,
    part: Part,
    selection: Selection,
    tokenizer: Tokenizer,
    end: int,
    folder: Path,
    tell: Tell,
) -> None:
    """Encode a part's kept documents, each closed by the end token, unless that was done."""
    if _place(folder, part, ".npy").exists():
        return
    dtype = shard_dtype(vocabulary_size(tokenizer))
    chosen = _kept(part, selection) - part.first
    lengths = [np.empty(0, np.int64)]
    told = time.monotonic()
    size = 0
    with whole_file(_place(folder, part, ".bin")) as aside, aside.open("wb") as file:
        for texts in _batches(corpus.texts(part, chosen)):
            tokens, counts = encode(tokenizer, texts, end, dtype)
            file.write(tokens.data)
            lengths.append(counts)
            size += sum(map(len, texts))
            if time.monotonic() - told > _TELL_EVERY:
                told = time.monotonic()
                tell(f"{part.lang}: {show_bytes(size)} of {part.piece} encoded")
    with whole_file(_place(folder, part, ".npy")) as aside, aside.open("wb") as file:
        np.save(file, np.concatenate(lengths).astype(np.int32))


def lengths_of(corpus: Corpus, selection: Selection, folder: Path) -> np.ndarray:
    """Tokens of every document of the corpus; 0 where it is not kept."""
    lengths = np.zeros(corpus.count, dtype=np.int64)
    for part in corpus.parts:
        lengths[_kept(part, selection)] = np.load(_place(folder, part, ".npy"))
    return lengths


def encoded_tokens(part: Part, folder: Path, dtype: np.dtype) -> np.ndarray:
    """The tokens of a part's kept documents, memory-mapped."""
    path = _place(folder, part, ".bin")
    return np.memmap(path, dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)


def _place(folder: Path, part: Part, suffix: str) -> Path:
    return folder / part.lang / part.piece / f"{part.path.stem}{suffix}"


def _kept(part: Part, selection: Selection) -> np.ndarray:
    """Numbers in the corpus of the documents of a part that are kept."""
    reasons = selection.reason[part.first : part.first + part.count]
    return part.first + np.flatnonzero(reasons == 0)


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
