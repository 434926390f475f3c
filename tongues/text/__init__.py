"""Text from files, the hub or synthetic languages: reading, signals of quality, selection."""

from tongues.text.document import Document, hash64
from tongues.text.sources import (
    TextSource,
    check_tag,
    check_text,
    content_hash,
    describe_synthetic,
    find_sources,
    read_source,
    text_bytes,
)

__all__ = ["Document", "TextSource", "check_tag", "check_text", "content_hash"]
__all__ += ["describe_synthetic", "find_sources", "hash64", "read_source", "text_bytes"]
