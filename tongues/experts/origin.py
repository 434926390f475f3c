"""The seed of experts: what it was trained on, and how it reads text of another tokenizer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.runs import read_run
from tongues.tokens import load_tokenizer
from tongues.train.base import find_base

__all__ = ["reread", "same_tokenizer", "seed_shares"]


def seed_shares(origin: str, languages: Sequence[str], workspace: Path) -> dict[str, float] | None:
    """Each language's share of all the text that the seed has read, runs before it included.

    None where that is not known: a model of the hub does not say what it read.
    """
    read, total, run = dict.fromkeys(languages, 0.0), 0.0, origin
    while run:
        try:
            folder = find_base(run, workspace)
        except UserError:
            return None
        if folder is None or not (folder / "run.json").is_file():
            return None
        record = read_run(folder)
        total += record.tokens
        for lang, share in record.shares.items():
            if lang in read:
                read[lang] += share * record.tokens
        run = record.base_model
    return {lang: tokens / total for lang, tokens in read.items()}


def same_tokenizer(one: Path, other: Path) -> bool:
    """Whether two tokenizers cut every text alike; their files may be written differently."""
    return load_tokenizer(one).to_str() == load_tokenizer(other).to_str()


def reread(documents: Sequence[np.ndarray], written: Path, reader: Path) -> list[np.ndarray]:
    """The same documents in the tokens of another tokenizer, `reader`."""
    theirs, own = load_tokenizer(written), load_tokenizer(reader)
    texts = [theirs.decode(document.tolist(), skip_special_tokens=False) for document in documents]
    found = own.encode_batch(texts, add_special_tokens=False)
    return [np.array(one.ids, dtype=np.int64) for one in found]
