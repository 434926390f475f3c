"""The training text of each part on disk, in the layout of the tokens that it was divided from."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tongues.experts.partition.documents import batches
from tongues.experts.partition.terms import term_reader
from tongues.experts.partition.topics import Topics, label
from tongues.files import whole_directory, write_json
from tongues.tokens import Counts, Tokens
from tongues.tokens.shards import Shard, shard_dtype, write_shard

__all__ = ["write_parts"]


def write_parts(tokens: Tokens, topics: Topics, path: Path) -> dict[str, dict[str, Counts]]:
    """Write the training documents of each topic to `path/<part>/<lang>/train.{bin,idx}`.

    Parts are numbered from 0; documents keep their order. The folder, with its `counts.json` of
    what each part holds of each language, is whole or absent. Returns these counts.
    """
    read, dtype = term_reader(topics.terms, tokens), shard_dtype(tokens.vocabulary_size)
    parts = [str(part) for part in range(topics.k)]
    counts: dict[str, dict[str, Counts]] = {part: {} for part in parts}
    with whole_directory(path) as aside:
        for lang in tokens.languages:
            shard = tokens.shard(lang, "train")
            found = [label(topics, read(some)) for some in batches(shard)]
            labels = np.concatenate([np.empty(0, np.int64), *found])
            for number, part in enumerate(parts):
                chosen = np.flatnonzero(labels == number)
                place = aside / part / lang
                place.mkdir(parents=True)
                write_shard(place / "train", _documents(shard, chosen), dtype)
                counts[part][lang] = _count(tokens, shard, chosen)
        write_json(aside / "counts.json", counts)
    return counts


def _documents(shard: Shard, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for some in batches(shard, chosen):
        yield some.tokens, np.diff(some.bounds)


def _count(tokens: Tokens, shard: Shard, chosen: np.ndarray) -> Counts:
    count = int(np.diff(shard.bounds)[chosen].sum())
    size = sum(int(tokens.token_bytes[some.tokens].sum()) for some in batches(shard, chosen))
    return Counts(
        documents=len(chosen),
        tokens=count,
        bytes=size,
        bytes_per_token=round(size / max(count, 1), 4),
    )
