"""The docs' commands on a study."""

import json
from pathlib import Path

import pytest

from tests.printed import replay


@pytest.mark.long
def test_the_pages_print_what_the_commands_answer(tmp_path: Path) -> None:
    replay("study", tmp_path)
    laws = json.loads((tmp_path / "laws.json").read_text())["laws"]
    assert {law["strategy"] for law in laws} == {"scratch", "cpt"}
    assert all(law["warnings"] and law["draws"] for law in laws)
    page = (tmp_path / "reports/study/index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert len(list((tmp_path / "reports/study/figures").glob("*.svg"))) >= 4
