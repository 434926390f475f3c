"""A tokenizer without the tokens that some texts do not use; those texts keep their tokens."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tokenizers import Tokenizer

from tongues.core.errors import UserError
from tongues.text.tokens.spelling import byte_alphabet, byte_tokens, is_bytewise

_TEXTS = 256  # encoded at a time


def trim_tokenizer(base: Tokenizer, texts: Sequence[str]) -> Tokenizer:
    """Keep the tokens of texts, what they are merged from, special tokens, and every byte.

    The others go, with their merges, and ids close up. Other text can still be written, in more
    tokens where it needs one that is gone.
    """
    layout: Any = json.loads(base.to_str())
    model = layout["model"]
    if model["type"] != "BPE":
        what = f"a tokenizer of kind {model['type']} cannot be trimmed"
        raise UserError(what, where="tokens.trim", hint="leave it out, or take another base")
    vocabulary: dict[str, int] = model["vocab"]
    special = {token.content for token in base.get_added_tokens_decoder().values()}
    kept = special | set(_always(base)) & vocabulary.keys()
    kept |= {str(model["unk_token"])} & vocabulary.keys()
    spelling = {number: token for token, number in vocabulary.items()}
    ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        for encoding in base.encode_batch_fast(some, add_special_tokens=False):
            kept |= {spelling[number] for number in set(encoding.ids) if number in spelling}
    parts = {part for token in kept - special for part in _merged_from(token, ranks)}
    kept |= parts & vocabulary.keys()
    order = sorted(kept, key=lambda token: (base.token_to_id(token), token))
    ids = {token: number for number, token in enumerate(order)}
    model["vocab"] = {token: ids[token] for token in order if token in vocabulary}
    model["merges"] = [merge for merge in model["merges"] if {*merge, merge[0] + merge[1]} <= kept]
    for token in layout["added_tokens"]:
        token["id"] = ids[token["content"]]
    _renumber(layout["post_processor"] or {}, ids)
    trimmed = Tokenizer.from_str(json.dumps(layout))
    trimmed.encode_special_tokens = True
    return trimmed


def _renumber(processor: dict[str, Any], ids: Mapping[str, int]) -> None:
    """Give the special tokens around texts, also those of a sequence of steps, their new ids."""
    for part in processor.get("processors", ()):
        _renumber(part, ids)
    for key in {"cls", "sep"} & processor.keys():  # as BERT and RoBERTa have them
        processor[key][1] = ids[processor[key][0]]
    named = processor.get("special_tokens", {})
    for token in named.values() if isinstance(named, dict) else ():
        token["ids"] = [ids[name] for name in token["tokens"]]


def _always(base: Tokenizer) -> Iterable[str]:
    """The tokens of single bytes, which spell any text."""
    if is_bytewise(base):
        return byte_alphabet().values()
    return (token for n in byte_tokens(base).values() if (token := base.id_to_token(n)))


def _merged_from(token: str, ranks: dict[tuple[str, ...], int]) -> set[str]:
    """What occurs while a token's characters are merged."""
    parts, met = list(token), set(token)
    while len(parts) > 1:
        known = [(ranks[pair], n) for n, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not known:
            break
        _, place = min(known)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        met.add(parts[place])
    return met
