"""Text in many languages, as documents: from the user's files, or made."""

from tongues.text.document import Document
from tongues.text.sources import check_text, describe_made, open_text, text_files

__all__ = ["Document", "check_text", "describe_made", "open_text", "text_files"]
