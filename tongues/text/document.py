"""What every source of text hands out."""

from dataclasses import dataclass
from hashlib import blake2b

__all__ = ["Document", "hash64"]


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of text in one language.

    `group` names what must never straddle training and held-out text: translations of
    the same content, chapters of one book. `source` says where the text came from.
    """

    id: str
    lang: str
    text: str
    group: str
    source: str


def hash64(text: str) -> int:
    """A 64-bit number that puts texts, or groups by their names, in an arbitrary, fixed order."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
