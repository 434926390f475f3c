"""Rows as aligned text."""

from tongues.core.frames import text_table


def test_text_is_aligned_numbers_to_the_right() -> None:
    rows = [{"": "→", "name": "a", "loss": "2.5"}, {"": "", "name": "long", "loss": "10"}]
    assert text_table(rows).splitlines() == ["   name  loss", "→  a      2.5", "   long    10"]
