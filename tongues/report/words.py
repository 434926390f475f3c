"""A full stop where there is none."""

__all__ = ["with_stop"]


def with_stop(words: str) -> str:
    """With a full stop, unless it ends as a sentence already."""
    return words if words.endswith((".", "?", "!")) else f"{words}."
