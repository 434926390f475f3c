"""Conversations in token ids, by the chat template of a model."""

import re
import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.model import Model, Prompt, read_settings

__all__ = ["conversation_prompt", "has_template"]


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


def conversation_prompt(model: Model, messages: Sequence[Mapping[str, str]]) -> Prompt:
    """A conversation up to the answer, of messages with `role` and `content`.

    What a message spells is letters always. A UserError where the model has no template, where that
    refuses the messages, or where it changes a message that spells a special token.
    """
    folder = model.ensemble.tokenizer
    if not has_template(folder):
        what = f"`{model.name}` has no chat template"
        raise UserError(what, where="messages", hint="ask it by `/v1/completions`")
    reader = _reader(folder)
    whole = _write(reader, messages)
    contents = [message["content"] for message in messages]
    special = model.special.values()
    spelt = next((name for name in special for content in contents if name in content), None)
    if spelt is None:
        ids = _read(reader, whole)
    else:
        marks = [f"message{secrets.token_hex(16)}" for _ in messages]
        marked = [{**one, "content": mark} for one, mark in zip(messages, marks, strict=True)]
        parts = _parts(whole, _write(reader, marked), contents, marks)
        if parts is None:  # the template's own special tokens must stay the only ones
            what = f"a message spells `{spelt}`, which means something to the model"
            raise UserError(what, where="messages", hint="write it in another way")
        ids = np.concatenate(
            [model.encode(part) if n % 2 else _read(reader, part) for n, part in enumerate(parts)]
        )
    return Prompt(ids, begun=len(ids) > 0 and int(ids[0]) in model.special)


def _write(reader: Any, messages: Sequence[Mapping[str, str]]) -> str:
    try:
        return reader.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # templates raise what they like, and so does their language
        what = f"the model's chat template refuses them ({error})"
        raise UserError(what, where="messages") from None


def _read(reader: Any, text: str) -> np.ndarray:
    """The ids of a text in which special tokens are meant."""
    return np.array(reader(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def _parts(
    whole: str, marked: str, contents: Sequence[str], marks: Sequence[str]
) -> list[str] | None:
    """What the template writes around the contents, and each content as it writes it, by turns.

    None where it does more than strip them and put each in its place.
    """
    parts = re.split(f"({'|'.join(marks)})", marked)
    if parts[1::2] != list(marks):
        return None
    place = len(parts[0])
    for number, content in enumerate(contents):
        behind = parts[2 * number + 2]
        kept = content if whole.startswith(content + behind, place) else content.strip()
        parts[2 * number + 1] = kept
        place += len(kept) + len(behind)
    return parts if "".join(parts) == whole else None
