"""Repair of UTF-8 that was read as another encoding, by ftfy; all other text stays as it is."""

from functools import cache
from typing import TYPE_CHECKING

from tongues.core.extras import require
from tongues.text.signals import garbled

if TYPE_CHECKING:
    from ftfy import TextFixerConfig


def check_repair(wanted: bool) -> str:
    """Ftfy's version, where repair is wanted; a UserError where it is not installed."""
    if not wanted:
        return ""
    require("ftfy", "text.repair")
    import ftfy

    return ftfy.__version__


def repaired(text: str) -> str:
    """The text as it was before it was read as Latin-1 or cp1252, as far as that is certain.

    Text without the signs of it is not looked at, so that clean text stays the same.
    """
    if not garbled(text):
        return text
    import ftfy

    return ftfy.fix_text(text, _settings())


@cache
def _settings() -> "TextFixerConfig":
    from ftfy import TextFixerConfig

    names = TextFixerConfig._fields
    off = {name: False for name in names if TextFixerConfig._field_defaults[name] is True}
    on = ("fix_encoding", "restore_byte_a0", "replace_lossy_sequences", "decode_inconsistent_utf8")
    return TextFixerConfig(
        **(off | dict.fromkeys(on, True)), unescape_html=False, normalization=None
    )
