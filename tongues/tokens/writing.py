"""The last stage: a language's shards, its documents gathered in their final order."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.files import write_json
from tongues.recipe import TokenSettings
from tongues.text.corpus import Corpus, Part
from tongues.text.select import Selection
from tongues.tokens.encoding import encoded_folder, encoded_tokens
from tongues.tokens.fertility import BYTEWISE
from tongues.tokens.shards import shard_dtype, write_shard
from tongues.tokens.split import Documents
from tongues.tokens.store import Counts, Split
from tongues.tokens.tokenizer import load_tokenizer, vocabulary_size

__all__ = ["check_spelling", "counts_path", "write_language"]

_BATCH = 4096  # documents gathered at a time


def counts_path(corpus: Path, lang: str) -> Path:
    """Where the counts of a written language lie; its shards are whole once it is there."""
    return corpus / "work" / "counts" / f"{lang}.json"


def check_spelling(
    settings: TokenSettings, corpus: Corpus, selection: Selection, lengths: np.ndarray
) -> None:
    """Refuse a language that the tokenizer spells byte by byte, unless that is allowed."""
    if settings.spelling == "allow":
        return
    kept, sizes = selection.kept, corpus.numbers("bytes")
    for code, lang in enumerate(corpus.languages):
        here = kept[corpus.lang[kept] == code]
        ratio = sizes[here].sum(dtype=np.int64) / max(int(lengths[here].sum()), 1)
        if len(here) and ratio < BYTEWISE:
            what = f"the tokenizer spells it out: {ratio:.2f} bytes per token"
            hint = "extend it (`tokens.extend`), train one (leave out `tokens.base`), give it a "
            hint += "larger `tokens.vocabulary`, or say `tokens.spelling: allow`"
            raise UserError(what, where=f"text of {lang}", hint=hint, code="spelt_out")


def write_language(
    lang: str, corpus: Corpus, lengths: np.ndarray, documents: Documents, folder: Path
) -> None:
    """Write what is trained on and what is held out of a language, unless that was done."""
    if counts_path(folder, lang).exists():
        return
    place = folder / "work" / "tokens"
    dtype = shard_dtype(vocabulary_size(load_tokenizer(place / "tokenizer.json")))
    sizes = corpus.numbers("bytes").astype(np.int64)
    parts = [part for part in corpus.parts if part.lang == lang]
    encoded = [encoded_tokens(part, encoded_folder(folder), dtype) for part in parts]
    chosen: dict[Split, np.ndarray] = {"train": documents.train, "valid": documents.valid}
    counts: dict[Split, Counts] = {}
    for split, numbers in chosen.items():
        write_shard(place / lang / split, _gathered(numbers, parts, encoded, lengths), dtype)
        tokens, size = int(lengths[numbers].sum()), int(sizes[numbers].sum())
        counts[split] = Counts(
            documents=len(numbers),
            tokens=tokens,
            bytes=size,
            bytes_per_token=round(size / max(tokens, 1), 4),
        )
    write_json(counts_path(folder, lang), counts)


def _gathered(
    numbers: np.ndarray, parts: list[Part], tokens: list[np.ndarray], lengths: np.ndarray
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
        yield np.concatenate([tokens[part][start:end] for part, start, end in rows]), lengths[batch]
