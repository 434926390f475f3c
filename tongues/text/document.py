"""What every source of text hands out."""

from dataclasses import dataclass

__all__ = ["Document"]


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
