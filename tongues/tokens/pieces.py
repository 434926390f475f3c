"""What the pieces of a tokenizer stand for: the bytes of text that each id spells."""

import re
from typing import Any

import numpy as np
from tokenizers import Tokenizer

__all__ = ["byte_alphabet", "byte_pieces", "is_bytewise", "piece_bytes", "token_bytes"]
__all__ += ["unknown_id"]

_SPACE = "▁"  # how SentencePiece writes a space


def piece_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of UTF-8 that each token id stands for; none for special tokens and gaps.

    A tokenizer that begins every text with a space of its own spells that one too.
    """
    vocabulary = tokenizer.get_vocab()
    pieces = [b""] * (max(vocabulary.values(), default=-1) + 1)
    if is_bytewise(tokenizer):
        byte_of = {letter: bytes([byte]) for byte, letter in byte_alphabet().items()}
        for piece, number in vocabulary.items():
            pieces[number] = b"".join(byte_of.get(letter, b"") for letter in piece)
    else:
        for piece, number in vocabulary.items():
            pieces[number] = piece.replace(_SPACE, " ").encode()
        for byte, number in byte_pieces(tokenizer).items():
            pieces[number] = bytes([byte])
    for number, token in tokenizer.get_added_tokens_decoder().items():
        pieces[number] = b"" if token.special else token.content.encode()
    unknown = unknown_id(tokenizer)
    if unknown is not None:
        pieces[unknown] = b""
    return pieces


def token_bytes(tokenizer: Tokenizer) -> np.ndarray:
    """How many bytes of UTF-8 each token id stands for; 0 for special tokens and gaps."""
    return np.array([len(piece) for piece in piece_bytes(tokenizer)], dtype=np.int64)


def byte_alphabet() -> dict[int, str]:
    """The letter that byte-level tokenizers write for each byte.

    Printable Latin-1 stands for itself, the others are letters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)).difference(printable))
    letters = {byte: chr(byte) for byte in printable}
    return letters | {byte: chr(0x100 + place) for place, byte in enumerate(others)}


def is_bytewise(tokenizer: Tokenizer) -> bool:
    """Whether its pieces are written in the alphabet of bytes rather than in text."""
    return "ByteLevel(" in f"{tokenizer.pre_tokenizer} {tokenizer.decoder}"


def byte_pieces(tokenizer: Tokenizer) -> dict[int, int]:
    """The id by which SentencePiece spells each byte of a letter it has no piece for."""
    if is_bytewise(tokenizer):
        return {}
    found = {byte: tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in range(256)}
    return {byte: number for byte, number in found.items() if number is not None}


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """The id that stands for whatever the vocabulary cannot spell, if it has one."""
    model: Any = tokenizer.model
    name = getattr(model, "unk_token", None)
    if name is not None:
        return tokenizer.token_to_id(name)
    found = re.match(r"Unigram\(unk_id=(\d+)", repr(model))
    return int(found[1]) if found else None
