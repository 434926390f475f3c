"""Repair of UTF-8 that was read as another encoding, by ftfy; all other text stays as it is."""

from tongues.text.signals import garbled


def repaired(text: str) -> str:
    """The text as it was before it was read as Latin-1 or cp1252, as far as that is certain.

    Text without the signs of it is not looked at, so that clean text stays the same.
    """
    if not garbled(text):
        return text
    import ftfy

    return "\n".join(ftfy.fix_encoding(line) for line in text.split("\n"))
