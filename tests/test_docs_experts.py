"""The docs' commands on experts."""

from pathlib import Path

import pytest

from tests.printed import replay


@pytest.mark.long
def test_the_pages_print_what_the_commands_answer(tmp_path: Path) -> None:
    replay("experts", tmp_path)
