"""The frame of a text: what precedes and follows every document, and begins every window.

Many bases were trained with a token before every text (`<bos>`), and fail without it: Gemma's loss
is three times as high. The frame is read from the base's tokenizer, kept in `tokens.json`, written
into the tokenizer that is exported, and read from there again by all that use the model.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, processors

from tongues.core.errors import UserError
from tongues.core.files import read_json

# What ends a document where no settings name it, the most common first.
_KNOWN_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|end|>", "<|eos|>")

NAME_THE_END = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json")


@dataclass(frozen=True, slots=True)
class TextFrame:
    """Token ids around a document."""

    start: int | None  # before every text and prompt; None: the tokenizer puts nothing there
    end: int  # behind every document

    @property
    def bos(self) -> int | None:
        """The token that documents and windows begin with.

        None where documents only end: the end of one begins the next.
        """
        return None if self.start == self.end else self.start

    @property
    def first(self) -> int:
        """The token that the first one of a document is predicted from."""
        return self.end if self.start is None else self.start

    def begin(self, windows: np.ndarray) -> np.ndarray:
        """Windows [n, context + 1] of a stream of tokens as a model sees them; changed in place.

        Their first token is only seen, never predicted; it gives its place to `bos`.
        """
        if self.bos is not None:
            windows[:, 0] = self.bos
        return windows


def read_frame(tokenizer: Tokenizer, path: Path | None = None, start: str = "auto") -> TextFrame:
    """The frame that a tokenizer gives its texts.

    path: its folder or file, next to which settings are looked for. start: `auto`, as the tokenizer
    does it; `none`; or the name of a special token.
    """
    folder = path.parent if path and path.is_file() else path
    end = _end(tokenizer, folder, str(path or "the tokenizer"))
    if start == "auto":
        return TextFrame(_start(tokenizer, folder), end)
    return TextFrame(None if start == "none" else _named(tokenizer, start), end)


def encode_framed(
    tokenizer: Tokenizer, frame: TextFrame, texts: Sequence[str], dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of texts, each in its frame, end to end, and how many of each (int64).

    `dtype` must hold every id of the tokenizer.
    """
    before = [] if frame.bos is None else [frame.bos]
    encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    ids = [np.array([*before, *each.ids, frame.end], dtype) for each in encoded]
    lengths = np.array([len(each) for each in ids], np.int64)
    return np.concatenate([np.empty(0, dtype), *ids]), lengths


def apply_frame(
    tokenizer: Tokenizer, frame: TextFrame, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Make a tokenizer put a frame around its texts, for every program that uses it.

    settings: of its tokenizer_config.json; they are returned with what the frame changes.
    """
    changed = dict(settings)
    before = [] if frame.start is None else [frame.start]
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    if tokenizer.encode("a", add_special_tokens=True).ids != [*before, *plain]:
        name = "" if frame.start is None else tokenizer.id_to_token(frame.start)
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{name}:0 $A:0".removeprefix(":0 "),
            pair=f"{name}:0 $A:0 $B:1".removeprefix(":0 "),
            special_tokens=[(name, frame.start)] if name else [],
        )
    if frame.start is not None:
        changed |= {"add_bos_token": True, "bos_token": tokenizer.id_to_token(frame.start)}
    elif changed.get("add_bos_token"):
        changed["add_bos_token"] = False
    if changed.get("add_eos_token"):  # a prompt is continued
        changed["add_eos_token"] = False
    return changed


def same_but_frame(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether two tokenizers give every text the same tokens, but for its frame."""

    def content(tokenizer: Tokenizer) -> dict[str, Any]:
        return json.loads(tokenizer.to_str()) | {"post_processor": None}

    return content(one) == content(other)


def read_settings(file: Path) -> dict[str, Any]:
    """A file of settings of a Hugging Face folder; nothing where there is none."""
    try:
        settings: Any = read_json(file) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read ({error})", where=str(file)) from None
    return settings if isinstance(settings, dict) else {}


def _named(tokenizer: Tokenizer, start: str) -> int:
    number = tokenizer.token_to_id(start)
    special = {x.content for x in tokenizer.get_added_tokens_decoder().values() if x.special}
    if number is None or start not in special:
        known = ", ".join(f"`{name}`" for name in sorted(special)[:8])
        what = f"`{start}` is not a special token of the tokenizer"
        raise UserError(what, where="tokens.document_start", hint=f"it has {known or 'none'}")
    return number


def named_token(tokenizer: Tokenizer, settings: Mapping[str, Any], key: str) -> int | None:
    """The id of a token that settings name, as text or with its properties; None where none is."""
    token = settings.get(key)
    token = token.get("content") if isinstance(token, dict) else token
    return tokenizer.token_to_id(token) if isinstance(token, str) else None


def _start(tokenizer: Tokenizer, folder: Path | None) -> int | None:
    prepended = prepended_token(tokenizer)
    if prepended is not None or folder is None:
        return prepended
    settings = read_settings(folder / "tokenizer_config.json")
    if settings.get("add_bos_token") is not True:
        return None
    return named_token(tokenizer, settings, "bos_token")


def prepended_token(tokenizer: Tokenizer) -> int | None:
    """The last special token that the tokenizer's own template puts before a text."""
    encoded = tokenizer.encode("a", add_special_tokens=True)
    mask = encoded.special_tokens_mask
    count = mask.index(0) if 0 in mask else 0
    return encoded.ids[count - 1] if count else None


def _end(tokenizer: Tokenizer, folder: Path | None, where: str) -> int:
    """The end of sequence in the settings, else a well-known one of the special tokens."""
    if folder is not None:
        named = (_end_in(folder / name, tokenizer) for name in NAME_THE_END)
        if (number := next((n for n in named if n is not None), None)) is not None:
            return number
    special = {x.content: i for i, x in tokenizer.get_added_tokens_decoder().items() if x.special}
    for token in _KNOWN_ENDS:
        if token in special:
            return special[token]
    reason = "does not name the token that ends a document"
    hint = "name it as `eos_token` in a tokenizer_config.json next to it"
    raise UserError(reason, where=where, hint=hint)


def _end_in(file: Path, tokenizer: Tokenizer) -> int | None:
    settings = read_settings(file)
    if (named := named_token(tokenizer, settings, "eos_token")) is not None:
        return named
    number: Any = settings.get("eos_token_id")
    number = number[0] if isinstance(number, list) and number else number
    if isinstance(number, int) and tokenizer.id_to_token(number) is not None:
        return number
    return None
