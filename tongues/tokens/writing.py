"""The last stages: documents encoded, split into training and held-out text, written as shards."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.files import whole_file, write_json
from tongues.quantities import show_bytes
from tongues.ranks import Say
from tongues.recipe import Recipe
from tongues.text import TextSource
from tongues.text.corpus import Corpus, Part, Selection
from tongues.tokens.frame import TextFrame
from tongues.tokens.shards import shard_dtype, write_shard
from tongues.tokens.store import Counts, Split
from tongues.tokens.tokenizer import encode, vocabulary_size

__all__ = [
    "counts_path",
    "encode_part",
    "encoded_tokens",
    "held_out_groups",
    "lengths_of",
    "split_documents",
    "write_language",
]

_BATCH_CHARACTERS = 1_000_000  # of text encoded at a time
_TELL_EVERY = 10.0  # seconds
_OPEN = 256  # files mapped at a time
_BATCH = 4096  # documents gathered at a time

Documents = Mapping[Split, np.ndarray]  # by their numbers in the corpus, as they are written


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
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    lengths = [np.empty(0, np.int64)]
    last, start = time.monotonic(), 0
    with whole_file(_place(corpus, part, ".bin")) as aside, aside.open("wb") as file:
        while start < len(texts):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _BATCH_CHARACTERS)) + 1
            tokens, counts = encode(tokenizer, texts[start:stop], frame, dtype)
            file.write(tokens.data)
            lengths.append(counts)
            start = stop
            if time.monotonic() - last > _TELL_EVERY:
                last = time.monotonic()
                size = show_bytes(int(ends[min(stop, len(texts)) - 1]))
                tell(f"{part.lang}: {size} of {part.source} encoded")
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


def split_documents(
    settings: Recipe,
    corpus: Corpus,
    sources: Sequence[TextSource],
    selection: Selection,
    lengths: np.ndarray,
) -> dict[str, Documents]:
    """Hold out whole components, the same in every language, and order the rest by hash.

    So a smaller amount of text is the beginning of a larger one.
    """
    amount = settings.tokens.held_out
    held_out = np.empty(0, dtype=np.uint64)
    for code, lang in enumerate(corpus.languages):
        here = selection.kept[corpus.lang[selection.kept] == code]
        tokens = int(lengths[here].sum())
        if tokens < 2 * amount:
            reason = f"its {tokens} tokens are too few to hold out {amount} and train on the rest"
            hint = f"give it at least {2 * amount} tokens of text, or lower `tokens.held_out`"
            if dropped := int((selection.reason[corpus.lang == code] > 0).sum()):
                hint += f", or drop less by `text.clean`: {dropped} of its documents were dropped"
            raise UserError(reason, where=f"text of {lang}", hint=hint)
        # What other languages hold out of this one counts.
        free = here[~np.isin(selection.component[here], held_out)]
        missing = amount - (tokens - int(lengths[free].sum()))
        if missing > 0:
            more = held_out_groups(selection.component[free], lengths[free], missing)
            held_out = np.union1d(held_out, more)
    order = np.lexsort((np.arange(corpus.count), corpus.numbers("exact")))
    order = order[selection.reason[order] == 0]
    is_held_out = np.isin(selection.component[order], held_out)
    splits: dict[str, Documents] = {}
    for code, lang in enumerate(corpus.languages):
        here = corpus.lang[order] == code
        train, valid = order[here & ~is_held_out], order[here & is_held_out]
        limited = _limited(lang, train, corpus, sources, lengths)
        splits[lang] = {"train": limited, "valid": valid}
        left = int(lengths[train].sum())
        if left < amount or not len(limited):
            reason = f"{left} tokens are left to train on, {int(lengths[valid].sum())} held out"
            hint = "give more documents, smaller groups, or lower `tokens.held_out`"
            raise UserError(reason, where=f"text of {lang}", hint=hint)
    return splits


def held_out_groups(hashes: np.ndarray, tokens: np.ndarray, amount: int) -> np.ndarray:
    """Hashes of the groups that together hold at least `amount` tokens.

    Groups are taken by ascending hash; one with more than `amount` tokens only when the
    smaller ones do not suffice. `hashes` and `tokens` describe the documents of a language.
    """
    groups, group_of = np.unique(hashes, return_inverse=True)
    sizes = np.bincount(group_of, weights=tokens)
    order = np.lexsort((groups, np.maximum(sizes, amount)))
    enough = np.searchsorted(np.cumsum(sizes[order]), amount) + 1
    return groups[order[:enough]]


def _limited(
    lang: str, train: np.ndarray, corpus: Corpus, sources: Sequence[TextSource], lengths: np.ndarray
) -> np.ndarray:
    """Of each source with a limit in tokens, the first documents in the order of hashes."""
    part_of = np.searchsorted([part.first for part in corpus.parts], train, side="right") - 1
    limited = [p for p in sources if p.lang == lang and p.at_most and p.at_most.unit == "tokens"]
    for first in {id(source.settings): source for source in limited}.values():
        names = {source.name for source in limited if source.settings is first.settings}
        in_source = [part.lang == lang and part.source in names for part in corpus.parts]
        from_source = np.array(in_source, dtype=bool)[part_of]
        assert first.at_most
        beyond = from_source & (
            np.cumsum(np.where(from_source, lengths[train], 0)) > first.at_most.number
        )
        train, part_of = train[~beyond], part_of[~beyond]
    return train


def counts_path(corpus: Path, lang: str) -> Path:
    """The counts of a language; its shards are complete once this file is there."""
    return corpus / "work" / "counts" / f"{lang}.json"


def write_language(
    lang: str,
    corpus: Corpus,
    lengths: np.ndarray,
    components: np.ndarray,
    documents: Documents,
    dtype: np.dtype,
) -> None:
    """Write the training and the held-out text of a language, unless that is done."""
    if counts_path(corpus.path, lang).exists():
        return
    sizes = corpus.numbers("bytes").astype(np.int64)
    parts = [part for part in corpus.parts if part.lang == lang]

    @lru_cache(maxsize=_OPEN)
    def opened(number: int) -> np.ndarray:
        return encoded_tokens(corpus, parts[number], dtype)

    counts: dict[Split, Counts] = {}
    for split, numbers in documents.items():
        place = corpus.path / "work" / "tokens" / lang / split
        write_shard(place, _gathered(numbers, parts, opened, lengths), dtype)
        tokens, size = int(lengths[numbers].sum()), int(sizes[numbers].sum())
        ratio = round(size / max(tokens, 1), 4)
        counts[split] = Counts(
            documents=len(numbers), tokens=tokens, bytes=size, bytes_per_token=ratio
        )
    groups = [f"{number:016x}" for number in components[documents["valid"]].tolist()]
    content = {"counts": counts, "held_out": sorted(set(groups)), "groups": groups}
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
