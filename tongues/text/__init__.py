"""Text in many languages, from files, the hub or made: read, measured, and what of it is kept."""

from tongues.text.document import Document, hash64
from tongues.text.sources import (
    Piece,
    check_text,
    content_hash,
    describe_made,
    find_pieces,
    open_piece,
    text_bytes,
)

__all__ = ["Document", "Piece", "check_text", "content_hash", "describe_made", "find_pieces"]
__all__ += ["hash64", "open_piece", "text_bytes"]
