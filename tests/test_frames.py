"""Rows as the data frame of whichever library is there, and as HTML."""

import sys
from types import SimpleNamespace

import pytest

from tongues.errors import UserError
from tongues.frames import html_table, text_table, to_frame

ROWS = [{"name": "a", "loss": 2.5}, {"name": "b", "loss": None, "note": "<x>"}]


def install(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make these the libraries that are installed, each with a DataFrame that keeps its columns."""
    monkeypatch.setattr("tongues.frames.find_spec", lambda name: name in names or None)
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    made = {name: SimpleNamespace(DataFrame=lambda columns, n=name: (n, columns)) for name in names}
    monkeypatch.setattr("tongues.frames.import_module", made.__getitem__)


def test_a_frame_has_a_column_for_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"name": ["a", "b"], "loss": [2.5, None], "note": [None, "<x>"]}
    install(monkeypatch, "polars")
    assert to_frame(ROWS) == ("polars", columns)
    install(monkeypatch, "pandas", "polars")
    assert to_frame(ROWS) == ("pandas", columns)
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace())  # in use already
    assert to_frame(ROWS) == ("polars", columns)


def test_without_a_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(UserError, match="pandas or polars") as caught:
        to_frame(ROWS)
    assert "pip install pandas" in caught.value.hint


def test_a_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = to_frame(ROWS)
    assert isinstance(frame, pandas.DataFrame) and list(frame["name"]) == ["a", "b"]


def test_html_is_escaped() -> None:
    shown = html_table(ROWS, caption="a & b")
    assert "<td>2.5</td>" in shown and "&lt;x&gt;" in shown and "a &amp; b" in shown


def test_text_is_aligned_numbers_to_the_right() -> None:
    rows = [{"": "→", "name": "a", "loss": "2.5"}, {"": "", "name": "long", "loss": "10"}]
    assert text_table(rows).splitlines() == ["   name  loss", "→  a      2.5", "   long    10"]
