"""The last stage: a language's shards, its documents gathered in their final order."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from tongues.files import write_json
from tongues.text.corpus import Corpus, Part
from tongues.tokens.encoding import encoded_folder, encoded_tokens
from tongues.tokens.shards import shard_dtype, write_shard
from tongues.tokens.split import Documents
from tongues.tokens.store import Counts, Split
from tongues.tokens.tokenizer import load_tokenizer, vocabulary_size

__all__ = ["counts_path", "write_language"]

_OPEN = 256  # files mapped at a time
_BATCH = 4096  # documents gathered at a time


def counts_path(corpus: Path, lang: str) -> Path:
    """Where the counts of a written language lie; its shards are whole once it is there."""
    return corpus / "work" / "counts" / f"{lang}.json"


def write_language(
    lang: str,
    corpus: Corpus,
    lengths: np.ndarray,
    components: np.ndarray,
    documents: Documents,
    folder: Path,
) -> None:
    """Write what is trained on and what is held out of a language, unless that was done."""
    if counts_path(folder, lang).exists():
        return
    place = folder / "work" / "tokens"
    dtype = shard_dtype(vocabulary_size(load_tokenizer(place / "tokenizer.json")))
    sizes = corpus.numbers("bytes").astype(np.int64)
    parts = [part for part in corpus.parts if part.lang == lang]

    @lru_cache(maxsize=_OPEN)
    def opened(number: int) -> np.ndarray:
        return encoded_tokens(parts[number], encoded_folder(folder), dtype)

    chosen: dict[Split, np.ndarray] = {"train": documents.train, "valid": documents.valid}
    counts: dict[Split, Counts] = {}
    for split, numbers in chosen.items():
        write_shard(place / lang / split, _gathered(numbers, parts, opened, lengths), dtype)
        tokens, size = int(lengths[numbers].sum()), int(sizes[numbers].sum())
        counts[split] = Counts(
            documents=len(numbers),
            tokens=tokens,
            bytes=size,
            bytes_per_token=round(size / max(tokens, 1), 4),
        )
    groups = [f"{number:016x}" for number in components[documents.valid].tolist()]
    told = {"counts": counts, "held_out": sorted(set(groups)), "groups": groups}
    write_json(counts_path(folder, lang), told)


def _gathered(
    numbers: np.ndarray,
    parts: list[Part],
    opened: Callable[[int], np.ndarray],
    lengths: np.ndarray,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Documents in the order of `numbers`, some thousand at a time, from where they lie."""
    first = np.array([part.first for part in parts], dtype=np.int64)
    before = np.cumsum(lengths) - lengths  # a document begins where those before it end
    for begin in range(0, len(numbers), _BATCH):
        batch = numbers[begin : begin + _BATCH]
        owner = np.searchsorted(first, batch, side="right") - 1
        starts = before[batch] - before[first[owner]]
        ends = starts + lengths[batch]
        rows = zip(owner.tolist(), starts.tolist(), ends.tolist(), strict=True)
        yield np.concatenate([opened(part)[start:end] for part, start, end in rows]), lengths[batch]
