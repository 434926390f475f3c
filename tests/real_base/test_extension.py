"""A real base reads two languages of other scripts in fewer tokens, and its own as before."""

from pathlib import Path

import pytest

from benchmarks.real_base import extension


@pytest.mark.slow
def test_two_languages_take_fewer_tokens_and_unseen_english_keeps_its_own(place: Path) -> None:
    measured = extension(place)
    for language in ("Greek", "Hindi"):
        pair = measured[f"{language}, bytes per token"]
        assert pair.value > 1.5 * pair.other
    changed = measured["new tokens in unseen English"]
    assert changed.value <= 1e-3 * changed.other
