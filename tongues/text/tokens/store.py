"""Prepared tokens, opened: what training and evaluation read."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.files import check_readable, file_hash, read_json
from tongues.runs.record import find_runs, read_run
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import Shard, open_shard
from tongues.text.tokens.spelling import token_bytes
from tongues.text.tokens.tokenizer import load_tokenizer

Split = Literal["train", "valid"]


class Counts(TypedDict):
    """What a language's split holds; tokens include the frame of each document."""

    documents: int
    tokens: int
    bytes: int
    bytes_per_token: float


class SplitSummary(TypedDict):
    """What a language's held-out text consists of, next to its training text."""

    groups: int  # components of held-out documents, independent of each other
    overlap: dict[str, int]  # documents and bytes of neither split: their text is on both sides
    sources: dict[str, dict[str, int]]  # bytes by title and split
    enough: NotRequired[int]  # tokens to hold out for sixteen groups, where there are few
    repeated: NotRequired[str]  # a file left out because its text is in others too


class MissingLanguage(TypedDict):
    """Why a language of the recipe has no tokens."""

    reason: str
    next_step: str


class Manifest(TypedDict):
    """`tokens.json`."""

    fingerprint: str  # of `inputs`
    inputs: dict[str, Any]  # the settings, and the size and SHA-256 of every text file
    vocabulary_size: int
    frame: dict[str, Any]  # `TextFrame`
    tokenizer_sha256: str
    languages: dict[str, dict[Split, Counts]]
    held_out: dict[str, list[str]]  # hashes, in hex, of the groups held out of each
    groups: dict[str, list[str]]  # the component of each held-out document
    splits: dict[str, SplitSummary]
    missing: dict[str, MissingLanguage]
    foreign: dict[str, dict[str, float] | None]  # shares of other languages found in each, if known
    sources: NotRequired[dict[str, list[str]]]  # of each held-out document; older folders lack it
    commit: NotRequired[str]  # of a tokenizer of the hub
    corpus: NotRequired[str]  # its folder in `corpus/`, if that has another name


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of several languages, memory-mapped."""

    path: Path
    fingerprint: str
    vocabulary_size: int
    frame: TextFrame  # of every document
    held_out: Mapping[str, list[str]]  # hashes of the groups held out of each
    groups: Mapping[str, list[str]]  # of each held-out document: shared with its translations
    foreign: Mapping[str, dict[str, float] | None]  # shares of other languages found inside
    token_bytes: np.ndarray  # bytes of text per token id; 0 for special ones
    counts: Mapping[str, Mapping[Split, Counts]]
    shards: Mapping[tuple[str, Split], Shard]
    # Where each held-out document is from; nothing of an older folder, which does not say.
    sources: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, in the order of the recipe."""
        return tuple(self.counts)

    @property
    def tokenizer_path(self) -> Path:
        """The tokenizer, as Hugging Face writes it; its folder loads as a tokenizer too."""
        return self.path / "tokenizer.json"

    def train(self, lang: str) -> np.ndarray:
        """The tokens to train on, one-dimensional."""
        return self.shard(lang, "train").tokens

    def valid(self, lang: str) -> np.ndarray:
        """The held-out tokens, one-dimensional."""
        return self.shard(lang, "valid").tokens

    def shard(self, lang: str, split: Split) -> Shard:
        """The tokens of a split with the bounds of its documents."""
        if lang not in self.counts:
            hint = nearest(lang, self.counts)
            raise UserError(f"there are no tokens of `{lang}`", where=str(self.path), hint=hint)
        return self.shards[lang, split]


def open_tokens(path: Path) -> Tokens:
    """Open the folder that `prepare_tokens` made; a UserError when it is missing or damaged."""
    manifest = read_manifest(path)
    if not (path / "tokenizer.json").is_file():
        raise _damaged(path, "`tokenizer.json` is gone")
    tokenizer = load_tokenizer(path / "tokenizer.json")
    if file_hash(path / "tokenizer.json") != manifest["tokenizer_sha256"]:
        raise _damaged(path, "`tokenizer.json` is not the one the text was encoded with")
    shards: dict[tuple[str, Split], Shard] = {}
    for lang, splits in manifest["languages"].items():
        for split, counts in splits.items():
            shard = open_shard(path / lang / split)
            held = len(shard.bounds) - 1, len(shard.tokens)
            if held != (counts["documents"], counts["tokens"]):
                raise _damaged(path, f"`{lang}/{split}.bin` does not match `tokens.json`")
            shards[lang, split] = shard
    return Tokens(
        path=path,
        fingerprint=manifest["fingerprint"],
        vocabulary_size=manifest["vocabulary_size"],
        frame=TextFrame(**manifest["frame"]),
        held_out=manifest["held_out"],
        groups=manifest["groups"],
        foreign=manifest["foreign"],
        token_bytes=token_bytes(tokenizer),
        counts=manifest["languages"],
        shards=shards,
        sources=manifest.get("sources", {}),
    )


def open_cluster(tokens: Tokens, cluster: str) -> Tokens:
    """The tokens with the training text of one cluster of a partition, `<partition>/<number>`.

    Held-out text is that of all, so losses compare.
    """
    folder, number = (tokens.path / "clusters" / cluster).parent, cluster.rpartition("/")[2]
    try:
        trained: dict[str, Counts] = read_json(folder / "counts.json")[number]
    except (OSError, ValueError, KeyError):
        what, hint = f"there is no cluster `{cluster}` of these tokens", "partition again"
        raise UserError(what, where=str(folder), hint=hint) from None
    counts = {
        lang: {"train": trained[lang], "valid": splits["valid"]} if lang in trained else splits
        for lang, splits in tokens.counts.items()
    }
    shards = {(lang, "train"): open_shard(folder / number / lang / "train") for lang in trained}
    return replace(tokens, counts=counts, shards={**tokens.shards, **shards})


def read_manifest(path: Path) -> Manifest:
    """Read `tokens.json` of a folder of tokens; a UserError when it is missing or damaged."""
    if not path.is_dir():
        others = [p.parent.name for p in path.parent.glob("*/tokens.json")]
        hint = "run `tongues prepare` with this recipe first"
        hint += f"; {nearest(path.name, others)}" if others else ""
        raise UserError("there are no prepared tokens", where=str(path), hint=hint)
    check_readable(path / "tokens.json")
    try:
        manifest = read_json(path / "tokens.json")
    except (OSError, ValueError) as error:
        raise _damaged(path, f"`tokens.json` cannot be read ({error})") from None
    if not isinstance(manifest, dict) or not manifest.keys() >= Manifest.__required_keys__:
        raise _damaged(path, "`tokens.json` is incomplete")
    return Manifest(**manifest)


def corpus_of(path: Path) -> Path:
    """The folder of the corpus that tokens were made from; it may be gone."""
    path = path.resolve()
    return path.parents[1] / "corpus" / read_manifest(path).get("corpus", path.name)


def tokens_of(corpus: Path) -> list[Path]:
    """The folders of tokens that were made from a corpus, by name."""
    place = corpus.resolve()
    every = sorted(place.parents[1].glob("tokens/*/tokens.json"))
    return [file.parent for file in every if corpus_of(file.parent) == place]


def runs_trained_on(path: Path) -> list[str]:
    """The runs of a workspace that were trained on a folder of its tokens as it is now."""
    store, found = path.resolve().parents[1] / "runs", list[str]()
    if not store.is_dir() or not (path / "tokens.json").is_file():
        return found
    with suppress(UserError):  # of damaged tokens nothing is known
        mark = read_manifest(path)["fingerprint"]
        for directory in find_runs([store]):
            with suppress(UserError):  # a damaged record
                run = read_run(directory)
                found += [run.run] if run.tokens_fingerprint == mark else []
    return found


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(reason, where=str(path), hint="prepare again with `--overwrite`")
