"""Bases to continue from, by id, folder or size; `bases.csv` has what the model cards state."""

import csv
import math
from codecs import getincrementaldecoder
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tongues.errors import UserError, nearest
from tongues.models.folders import read_config, stored_shapes
from tongues.plan.amounts import read_count
from tongues.train.metadata import languages_of

_HEAD = 65_536  # bytes of a file that show what it is
_SAMPLE = 2_000_000  # bytes of text that are enough to measure a tokenizer


@dataclass(frozen=True, slots=True)
class BaseCheckpoint:
    """A checkpoint that training may continue from: its parameters, and the tokens it has read.

    tokens: NaN where nobody says. tokenizer: its family (`llama3`), or a folder.
    languages: those that its makers name, or in which it was at three quarters of its English
        untouched (Mistral 7B, by EuroEval): it knows them already.
    """

    name: str
    params: float
    tokens: float = math.nan
    tokenizer: str = ""
    languages: tuple[str, ...] = ()
    vocabulary: int = 0
    context: int = 4096
    hidden: int = 0
    layers: int = 0
    tied: bool = False
    licence: str = ""
    gated: bool = False
    released: str = "2025-01"
    instruct_of: str = ""
    folder: str = ""

    @property
    def short(self) -> str:
        return self.name.split("/")[-1]

    @property
    def tokenizer_folder(self):
        return None

    def row(self):
        return {"base": self.name}

    @property
    def ratio(self) -> float:
        """Tokens it has read per parameter."""
        return self.tokens / self.params


@lru_cache
def _table(name: str) -> list[dict[str, str]]:
    text = (files("tongues.plan") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@lru_cache
def known_bases() -> dict[str, BaseCheckpoint]:
    """The well-known bases, by their id on the Hugging Face hub."""
    return {
        row["base"]: BaseCheckpoint(
            row["base"],
            float(row["params"]),
            float(row["tokens"] or "nan"),
            row["tokenizer"],
            tuple(row["languages"].split()),
        )
        for row in _table("bases.csv")
    }


def read_base(text: str, where: str = "") -> BaseCheckpoint:
    """A base written `NAME=PARAMS@TOKENS`, or a hub id or a folder, each with `@TOKENS` or not."""
    word, at, amount = text.strip().partition("@")
    tokens = read_count(amount, "--base") if at else math.nan
    name, equals, size = word.rpartition("=")
    by_short_name = {key.split("/")[-1].lower(): one for key, one in known_bases().items()}
    known = by_short_name.get((name if equals else word).split("/")[-1].lower())
    if equals and name.strip():
        params = read_count(size, "--base")
        tokenizer, languages = (known.tokenizer, known.languages) if known else ("", ())
        return BaseCheckpoint(name.strip(), params, tokens, tokenizer, languages)
    if (folder := Path(word)).is_dir() and not equals:
        of_card = languages_of(folder)
        return BaseCheckpoint(word, _parameters(folder), tokens, str(folder), of_card)
    if known is None or equals:
        what = f"`{text}` is neither a folder nor a base that is known by its id"
        close = nearest(word, known_bases()) if word and not equals else ""
        hint = close if close.startswith("did") else "write `NAME=PARAMS@TOKENS`: `llama=8B@15T`"
        raise UserError(what, where="--base", hint=hint)
    return BaseCheckpoint(
        known.name,
        known.params,
        tokens if at else known.tokens,
        known.tokenizer,
        known.languages,
    )


def _parameters(folder: Path) -> float:
    """Of a Hugging Face folder: of its weights, or as its config gives them."""
    config = read_config(folder)
    if any(folder.glob("*.safetensors")):
        return float(sum(math.prod(shape) for shape in stored_shapes(folder).values()))
    try:
        width, layers, vocabulary = (
            config[name] for name in ("hidden_size", "num_hidden_layers", "vocab_size")
        )
        heads, between = config["num_attention_heads"], config["intermediate_size"]
        head = config.get("head_dim") or width // heads
        keys = config.get("num_key_value_heads") or heads
    except KeyError as error:
        what = f"its config.json has no {error}, and there are no weights to count"
        raise UserError(what, where=str(folder), hint="write `NAME=PARAMS@TOKENS`") from None
    attention = 2 * width * head * (heads + keys)
    matrices = 1 if config.get("tie_word_embeddings") else 2
    layer = attention + 3 * width * between + 2 * width
    return float(matrices * vocabulary * width + layers * layer + width)


def text_files(text: Path) -> list[Path]:
    """The files of plain text that a file or folder has; a UserError names one of another kind."""
    paths = sorted(path for path in text.rglob("*") if path.is_file()) if text.is_dir() else [text]
    for path in paths:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        try:
            getincrementaldecoder("utf-8")().decode(head)  # its last character may be cut
            plain = b"\0" not in head
        except UnicodeDecodeError:
            plain = False
        if not plain:
            what = "is not plain text in UTF-8, so that its size says nothing of its tokens"
            hint = "unpack it, or give the size of its text, such as `--available-text 3GB`"
            raise UserError(what, where=str(path), hint=hint)
    return paths


def sample_tokens(text: Path, base: BaseCheckpoint | None) -> tuple[float, float]:
    """The size of a file or folder of text in bytes, and its bytes per token; NaN without a base.

    The tokenizer is that of the base's folder, tried on the first two megabytes.
    """
    paths = text_files(text)
    size = float(sum(path.stat().st_size for path in paths))
    file = Path(base.tokenizer) / "tokenizer.json" if base else Path()
    if not file.is_file():
        return size, math.nan
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(file))
    read = count = 0
    for path in paths:
        with path.open("rb") as source:
            piece = source.read(_SAMPLE - read)
        read += len(piece)
        lines = piece.decode(errors="ignore").splitlines(keepends=True)
        encodings = tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        count += sum(len(encoding.ids) for encoding in encodings)
        if read >= _SAMPLE:
            break
    return size, read / max(count, 1)
