"""The docs' commands that train."""

import json
from pathlib import Path

import pytest

from tests.printed import replay


@pytest.mark.long
@pytest.mark.parametrize("pages", ["study", "runs", "experts"])
def test_the_pages_print_what_the_commands_answer(tmp_path: Path, pages: str) -> None:
    replay(pages, tmp_path)
    if pages != "study":
        return
    laws = json.loads((tmp_path / "laws.json").read_text())["laws"]
    assert {law["strategy"] for law in laws} == {"scratch", "cpt"}
    assert all(law["warnings"] and law["draws"] for law in laws)
    page = (tmp_path / "reports/study/index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert len(list((tmp_path / "reports/study/figures").glob("*.svg"))) >= 4
