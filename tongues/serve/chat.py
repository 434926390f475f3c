"""Conversations in token ids, by the chat template of a model."""

import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.model import Model, Prompt, read_settings

__all__ = ["conversation_ids", "conversation_prompt", "has_template"]

Message = Mapping[str, str]  # its `role` and `content`


def has_template(folder: Path) -> bool:
    """Whether a Hugging Face folder says how a conversation is written."""
    if any((folder / f"chat_template.{kind}").is_file() for kind in ("jinja", "json")):
        return True
    return bool(read_settings(folder / "tokenizer_config.json").get("chat_template"))


@lru_cache(maxsize=64)
def _reader(folder: Path) -> Any:
    """Hugging Face's tokenizer, which writes conversations; its templates run in a sandbox."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def conversation_prompt(model: Model, messages: Sequence[Message]) -> Prompt:
    """A conversation up to the answer; a UserError where the model has no template for it."""
    folder = model.ensemble.tokenizer
    if not has_template(folder):
        what = f"`{model.name}` has no chat template"
        raise UserError(what, where="messages", hint="ask it by `/v1/completions`")
    ids = conversation_ids(_reader(folder), messages, model.special.values(), model.encode)
    return Prompt(ids, begun=len(ids) > 0 and int(ids[0]) in model.special)


def conversation_ids(
    reader: Any,
    messages: Sequence[Message],
    special: Collection[str],
    encode: Callable[[str], np.ndarray],
) -> np.ndarray:
    """The token ids of a conversation, up to the answer; what a message spells is letters always.

    reader: Hugging Face's tokenizer, which runs templates in a sandbox. special: the names of its
    special tokens. encode: the ids of a text without any of them. A UserError where the template
    refuses the messages, or where it changes a message that spells a special token.
    """
    whole = _written(reader, messages)
    contents = [message["content"] for message in messages]
    spelt = next((name for name in special for content in contents if name in content), None)
    if spelt is None:
        return _read(reader, whole)
    marks = [f"message{secrets.token_hex(16)}" for _ in messages]
    marked = [{**message, "content": mark} for message, mark in zip(messages, marks, strict=True)]
    found = _pieces(whole, _written(reader, marked), contents, marks)
    if found is None:  # the template's own special tokens must stay the only ones
        what = f"a message spells `{spelt}`, which means something to the model"
        raise UserError(what, where="messages", hint="write it in another way")
    pieces, contents = found
    ids = [_read(reader, pieces[0])]
    for content, piece in zip(contents, pieces[1:], strict=True):
        ids += (encode(content), _read(reader, piece))
    return np.concatenate(ids)


def _written(reader: Any, messages: Sequence[Message]) -> str:
    try:
        return reader.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # templates raise what they like, and so does their language
        what = f"the model's chat template refuses them ({error})"
        raise UserError(what, where="messages") from None


def _read(reader: Any, text: str) -> np.ndarray:
    """The ids of a text in which special tokens are meant."""
    return np.array(reader(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def _pieces(
    whole: str, marked: str, contents: Sequence[str], marks: Sequence[str]
) -> tuple[list[str], list[str]] | None:
    """What the template writes around the contents, and the contents as it writes them.

    None where it does more than strip them and put each in its place.
    """
    parts = re.split(f"({'|'.join(marks)})", marked)
    pieces = parts[::2]
    if parts[1::2] != list(marks):
        return None
    found: list[str] = []
    place = len(pieces[0])
    for content, piece in zip(contents, pieces[1:], strict=True):
        kept = whole.startswith(content + piece, place)
        found.append(content if kept else content.strip())
        place += len(found[-1]) + len(piece)
    parts[1::2] = found
    return (pieces, found) if "".join(parts) == whole else None
