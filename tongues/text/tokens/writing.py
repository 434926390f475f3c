"""Documents as tokens: encoded by part, written as shards of training and held-out text."""

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tongues.core.files import whole_file, write_json
from tongues.core.ranks import Say
from tongues.text.corpus import Corpus, Part, Selection, stretches
from tongues.text.tokens.frame import TextFrame, encode_framed
from tongues.text.tokens.shards import shard_dtype, write_shard
from tongues.text.tokens.split import Documents, source_names, summarise_split
from tongues.text.tokens.store import Counts, Split
from tongues.text.tokens.tokenizer import vocabulary_size

_BATCH_CHARACTERS = 1_000_000  # of text encoded at a time
_TELL_EVERY = 10.0  # seconds
_OPEN = 256  # files mapped at a time
_BATCH = 4096  # documents gathered at a time


def encode_part(
    corpus: Corpus,
    part: Part,
    selection: Selection,
    tokenizer: Tokenizer,
    frame: TextFrame,
    tell: Say,
) -> None:
    """Encode a part's kept documents, each in its frame, unless that is done."""
    if _place(corpus, part, ".npy").exists():
        return
    dtype = shard_dtype(vocabulary_size(tokenizer))
    texts = corpus.texts(part, _kept(part, selection) - part.first)
    lengths = [np.empty(0, np.int64)]
    last = time.monotonic()
    with whole_file(_place(corpus, part, ".bin")) as aside, aside.open("wb") as file:
        for stretch in stretches(texts, _BATCH_CHARACTERS):
            tokens, counts = encode_framed(tokenizer, frame, texts[stretch], dtype)
            file.write(tokens.data)
            lengths.append(counts)
            if time.monotonic() - last > _TELL_EVERY:
                last = time.monotonic()
                tell(f"{part.lang}: {stretch.stop / len(texts):.0%} of {part.source} encoded")
    with whole_file(_place(corpus, part, ".npy")) as aside, aside.open("wb") as file:
        np.save(file, np.concatenate(lengths).astype(np.int32))


def lengths_of(corpus: Corpus, selection: Selection) -> np.ndarray:
    """Tokens of every document of the corpus; 0 where it is not kept."""
    lengths = np.zeros(corpus.count, dtype=np.int64)
    for part in corpus.parts:
        lengths[_kept(part, selection)] = np.load(_place(corpus, part, ".npy"))
    return lengths


def encoded_tokens(corpus: Corpus, part: Part, dtype: np.dtype) -> np.ndarray:
    """The tokens of a part's kept documents, memory-mapped."""
    path = _place(corpus, part, ".bin")
    return np.memmap(path, dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)


def _place(corpus: Corpus, part: Part, suffix: str) -> Path:
    folder = corpus.path / "work" / "encoded" / part.lang / part.source
    return folder / f"{part.path.stem}{suffix}"


def _kept(part: Part, selection: Selection) -> np.ndarray:
    return part.first + np.flatnonzero(selection.reason[part.first :][: part.count] == 0)


def counts_path(corpus: Path, lang: str) -> Path:
    """The counts of a language; its shards are complete once this file is there."""
    return corpus / "work" / "counts" / f"{lang}.json"


def write_language(
    lang: str,
    corpus: Corpus,
    lengths: np.ndarray,
    selection: Selection,
    documents: Documents,
    dtype: np.dtype,
) -> None:
    """Write the training and the held-out text of a language."""
    sizes = corpus.sizes
    parts = [part for part in corpus.parts if part.lang == lang]

    @lru_cache(maxsize=_OPEN)
    def opened(number: int) -> np.ndarray:
        return encoded_tokens(corpus, parts[number], dtype)

    counts: dict[Split, Counts] = {}
    splits: tuple[Split, Split] = ("train", "valid")
    for split in splits:
        numbers = documents[split]
        place = corpus.path / "work" / "tokens" / lang / split
        write_shard(place, _gathered(numbers, parts, opened, lengths), dtype)
        tokens, size = int(lengths[numbers].sum()), int(sizes[numbers].sum())
        ratio = round(size / max(tokens, 1), 4)
        counts[split] = Counts(
            documents=len(numbers), tokens=tokens, bytes=size, bytes_per_token=ratio
        )
    valid = documents["valid"]
    held_out = np.unique(corpus.numbers("group_hash")[valid])
    content = {
        "counts": counts,
        "held_out": [f"{number:016x}" for number in held_out.tolist()],
        "groups": [f"{number:016x}" for number in selection.component[valid].tolist()],
        "sources": source_names(corpus, valid),
        "split": summarise_split(corpus, selection, documents, lengths),
    }
    write_json(counts_path(corpus.path, lang), content)


def _gathered(
    numbers: np.ndarray, parts: list[Part], opened: Callable[[int], np.ndarray], lengths: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Documents in the order of `numbers`, some thousand at a time."""
    first = np.array([part.first for part in parts], dtype=np.int64)
    before = np.cumsum(lengths) - lengths  # a document begins where those before it end
    for begin in range(0, len(numbers), _BATCH):
        batch = numbers[begin : begin + _BATCH]
        owner = np.searchsorted(first, batch, side="right") - 1
        starts = before[batch] - before[first[owner]]
        ends = starts + lengths[batch]
        rows = zip(owner.tolist(), starts.tolist(), ends.tolist(), strict=True)
        yield np.concatenate([opened(part)[start:end] for part, start, end in rows]), lengths[batch]
