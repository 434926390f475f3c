"""How a tokenizer spells text: the bytes that each of its tokens represents."""

import re
from typing import Any

import numpy as np
from tokenizers import Tokenizer

_SPACE = "▁"  # how SentencePiece writes a space


def token_spellings(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of UTF-8 of each token id; none for special tokens and gaps.

    The space that some tokenizers put before every text counts too.
    """
    vocabulary = tokenizer.get_vocab()
    spellings = [b""] * (max(vocabulary.values(), default=-1) + 1)
    if is_bytewise(tokenizer):
        byte_of = {letter: bytes([byte]) for byte, letter in byte_alphabet().items()}
        for token, number in vocabulary.items():
            spellings[number] = b"".join(byte_of.get(letter, b"") for letter in token)
    else:
        for token, number in vocabulary.items():
            spellings[number] = token.replace(_SPACE, " ").encode()
        for byte, number in byte_tokens(tokenizer).items():
            spellings[number] = bytes([byte])
    for number, token in tokenizer.get_added_tokens_decoder().items():
        spellings[number] = b"" if token.special else token.content.encode()
    unknown = unknown_id(tokenizer)
    if unknown is not None:
        spellings[unknown] = b""
    return spellings


def token_bytes(tokenizer: Tokenizer) -> np.ndarray:
    """The number of bytes of UTF-8 of each token id; 0 for special tokens and gaps."""
    return np.array([len(spelling) for spelling in token_spellings(tokenizer)], dtype=np.int64)


def byte_alphabet() -> dict[int, str]:
    """The letter that byte-level tokenizers write for each byte.

    Printable Latin-1 is written as itself, the others as letters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)).difference(printable))
    letters = {byte: chr(byte) for byte in printable}
    return letters | {byte: chr(0x100 + place) for place, byte in enumerate(others)}


def is_bytewise(tokenizer: Tokenizer) -> bool:
    """Whether its vocabulary is written in the alphabet of bytes rather than in text."""
    return "ByteLevel(" in f"{tokenizer.pre_tokenizer} {tokenizer.decoder}"


def byte_tokens(tokenizer: Tokenizer) -> dict[int, int]:
    """The id of each byte of byte fallback, which spells letters without a token."""
    if is_bytewise(tokenizer):
        return {}
    numbers = {byte: tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in range(256)}
    return {byte: number for byte, number in numbers.items() if number is not None}


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """The id of text that the vocabulary cannot spell, if there is one."""
    model: Any = tokenizer.model
    name = getattr(model, "unk_token", None)
    if name is not None:
        return tokenizer.token_to_id(name)
    match = re.match(r"Unigram\(unk_id=(\d+)", repr(model))
    return int(match[1]) if match else None
