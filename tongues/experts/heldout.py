"""Held-out text: its first half is scored, its second tunes what has to be chosen.

Experts of an ensemble with added languages were trained on several preparations. Text that is held
out now may have been trained on before, since a language added later brings translations of the
others' text. Only text held out of all preparations is unseen by all experts.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.quantities import show_count
from tongues.core.roles import list_languages
from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.words import WORDS
from tongues.runs.record import read_run
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens
from tongues.text.tokens.spelling import token_spellings
from tongues.text.tokens.store import read_manifest
from tongues.train.base import find_base

_FEWEST = 10  # documents scored, where there are that many: of fewer an interval says little


def scored_documents(bounds: np.ndarray, most: int, kept: np.ndarray | None = None) -> np.ndarray:
    """The first documents of a language, up to `most` tokens, but ten of them where there are.

    Their numbers. kept: which documents (bool) there are to choose from; where none, all.
    """
    numbers, ends = _among(bounds, kept)
    wanted = int(np.searchsorted(ends, most, side="right")) - 1
    return numbers[: min(max(1, len(numbers) // 2), max(wanted, _FEWEST))]


def tuning_documents(bounds: np.ndarray, most: int, kept: np.ndarray | None = None) -> np.ndarray:
    """Documents of the second half, up to `most` tokens, one at least; `kept` as above."""
    numbers, ends = _among(bounds, kept)
    half = len(numbers) // 2
    wanted = int(np.searchsorted(ends, ends[half] + most, side="right")) - 1
    return numbers[half : max(wanted, half + 1)]


def documents_of(
    tokens: np.ndarray, bounds: np.ndarray, numbers: Sequence[int] | np.ndarray
) -> list[np.ndarray]:
    """Documents by their numbers, without the token that ends each; empty ones are left out."""
    documents = (np.asarray(tokens[bounds[i] : bounds[i + 1] - 1], np.int64) for i in numbers)
    return [document for document in documents if len(document)]


def unseen_documents(
    tokens: Tokens, lineages: Iterable[Lineage], workspace: Path
) -> dict[str, np.ndarray]:
    """Of each language, which held-out documents (bool) no expert of its text was trained on.

    Of a preparation that is gone nothing is known.
    """
    counts = {lang: len(tokens.shard(lang, "valid").bounds) - 1 for lang in tokens.languages}
    unseen = {lang: np.ones(count, bool) for lang, count in counts.items()}
    stores = _stores(workspace)
    for fingerprint, learned in _trained_on(lineages, workspace).items():
        if fingerprint == tokens.fingerprint or fingerprint not in stores:
            continue
        shared = learned & unseen.keys()
        now, then = (_held_out(of, shared) for of in (tokens, open_tokens(stores[fingerprint])))
        for lang in shared:
            known = set(then[lang])
            unseen[lang] &= np.array([text in known for text in now[lang]], dtype=bool)
    return unseen


def held_out_cautions(tokens: Tokens, lineage: Lineage, workspace: Path) -> list[Caution]:
    """Held-out text that experts of the ensemble were trained on, or may have been."""
    cautions: list[Caution] = []
    unseen = unseen_documents(tokens, [lineage], workspace)
    moved = {lang: kept for lang, kept in unseen.items() if not kept.all()}
    if moved:
        shares = ", ".join(
            f"`{lang}` {show_count(int(np.diff(shard.bounds)[kept].sum()))} of "
            f"{show_count(len(shard.tokens))}"
            for lang, kept in moved.items()
            for shard in [tokens.shard(lang, "valid")]
        )
        lost = ", ".join(f"`{lang}`" for lang, kept in moved.items() if not kept.any())
        sentence = WORDS["held_out_moved"].format(shares=shares)
        if lost:
            sentence = WORDS["held_out_all_known"].format(moved=sentence, languages=lost)
        cautions.append(Caution("held_out_moved", sentence))
    return cautions + unknown_cautions(tokens, [lineage], workspace)


def unknown_cautions(tokens: Tokens, lineages: Iterable[Lineage], workspace: Path) -> list[Caution]:
    """Held-out text that may have been trained on, since the tokens of then are gone."""
    trained, stores = _trained_on(lineages, workspace), _stores(workspace)
    gone = {lang for mark, learned in trained.items() if mark not in stores for lang in learned}
    languages = [f"`{lang}`" for lang in tokens.languages if lang in gone]
    if not languages:
        return []
    sentence = WORDS["held_out_unknown"].format(languages=list_languages(languages))
    return [Caution("held_out_unknown", sentence)]


def _among(bounds: np.ndarray, kept: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the documents that are kept, and where they would end one after another."""
    numbers = np.arange(len(bounds) - 1)
    if kept is not None and kept.any():
        numbers = numbers[kept]
    return numbers, np.concatenate([[0], np.cumsum(np.diff(bounds)[numbers])])


def _trained_on(lineages: Iterable[Lineage], workspace: Path) -> dict[str, set[str]]:
    languages: dict[str, set[str]] = {}
    for lineage in lineages:
        for name in (*lineage.names, *(str(made["expert"]) for made in lineage.rounds)):
            if (workspace / "runs" / name / "run.json").is_file():
                record = read_run(workspace / "runs" / name)
                languages.setdefault(record.tokens_fingerprint, set()).update(record.shares)
    return languages


def _stores(workspace: Path) -> dict[str, Path]:
    stores: dict[str, Path] = {}
    for file in sorted((workspace / "tokens").glob("*/tokens.json")):
        with suppress(UserError):  # a damaged one
            stores[read_manifest(file.parent)["fingerprint"]] = file.parent
    return stores


def _held_out(tokens: Tokens, languages: Iterable[str]) -> dict[str, list[bytes]]:
    """The text of the held-out documents, which is the same in the tokens of any tokenizer."""
    spellings = token_spellings(load_tokenizer(tokens.tokenizer_path))
    texts: dict[str, list[bytes]] = {}
    for lang in languages:
        shard = tokens.shard(lang, "valid")
        spelt = [spellings[token] for token in shard.tokens.tolist()]
        bounds = pairwise(shard.bounds.tolist())
        texts[lang] = [b"".join(spelt[start:end]).strip() for start, end in bounds]
    return texts


def base_shares(base: str, languages: Sequence[str], workspace: Path) -> dict[str, float] | None:
    """Each language's share of all the text that the base model has read, runs before it included.

    None where that is not known: a model of the hub does not say what it read.
    """
    read, total, run = dict.fromkeys(languages, 0.0), 0.0, base
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
