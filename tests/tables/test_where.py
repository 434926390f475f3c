"""The expressions that choose rows: they agree with Python, and never run anything."""

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.golden import cases, golden
from tests.tables.test_observe import table_of
from tongues.core.errors import UserError
from tongues.runs.tables import RunTable, select_rows

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "N": st.sampled_from([1, 2.5, 1e9]) | st.floats(-5, 5),
            "D": st.integers(-3, 3),
            "lang": st.sampled_from(["nan", "de", "no", "x y", "1"]),
        }
    ),
    min_size=1,
    max_size=20,
)
NUMBERS = st.sampled_from(["0", "-1", "2.5", "1e9"])
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
TEXTS = st.sampled_from(["'de'", '"nan"', "'x y'", "'nothing'"])
COMPARISONS = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(["N", "D"]), SIGNS, NUMBERS),
    st.builds("lang {} {}".format, st.sampled_from(["==", "!="]), TEXTS),
    st.builds("lang {} [{}, {}]".format, st.sampled_from(["in", "not in"]), TEXTS, TEXTS),
    st.builds("D {} (1, {})".format, st.sampled_from(["in", "not in"]), NUMBERS),
)
EXPRESSIONS = st.lists(COMPARISONS, min_size=1, max_size=4).map(" and ".join)


@settings(deadline=None, max_examples=150)
@given(rows=ROWS, expression=EXPRESSIONS, as_text=st.booleans())
def test_select_agrees_with_python(
    rows: list[dict[str, Any]], expression: str, as_text: bool
) -> None:
    table = table_of([*rows, {"N": 1, "D": 1, "lang": "de"}], as_text=as_text)
    rows = [*rows, {"N": 1, "D": 1, "lang": "de"}]
    wanted = [i for i, row in enumerate(rows, 2) if eval(expression, {}, row)]
    try:
        chosen = select_rows(table, expression).places
    except UserError as refusal:
        assert refusal.code == "empty_selection"
        assert f"none of the {len(rows)} rows" in refusal.what
        chosen = []
    assert chosen == [f"runs.csv:{i}" for i in wanted]


WORDS = st.one_of(
    st.sampled_from([*"[](),.*:=<1`"]),
    st.sampled_from(["N", "D", "lang", "`N`", "'de'", "30M", "True"]),
    st.sampled_from(["==", "!=", "in", "not", "and", "or", "is", "lambda"]),
)


@settings(deadline=None, max_examples=150)
@given(expression=st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=30))
def test_any_text_is_an_expression_or_refused(expression: str) -> None:
    table = table_of([{"N": 1, "D": None, "lang": "de"}, {"N": 2, "D": 3, "lang": "sw"}])
    try:
        assert len(select_rows(table, expression)) > 0
    except UserError as refusal:
        codes = {"bad_expression", "unknown_column", "text_and_number", "empty_selection"}
        assert refusal.code in codes
        assert refusal.hint


@given(name=st.text("abcdé -{}'\"[]=<5中", min_size=1, max_size=12), value=st.integers(0, 3))
def test_any_column_can_be_named_in_backticks(name: str, value: int) -> None:
    assume(name.strip() == name)
    table = RunTable({"x": ["a"] * 4, name: [0, 1, 2, 3]}, list("abcd"))
    chosen = select_rows(table, f"x == 'a' and `{name}` == {value} and x != '`'")
    assert chosen.columns[name] == [value]


@pytest.mark.parametrize("expression", ["lang == 'nan'", "lang in ['nan', 'de']"])
@pytest.mark.parametrize("langs", [["nan", "sw"], ["nan", "nan"], ["nan", None]])
def test_the_language_nan_is_found(expression: str, langs: list[str | None]) -> None:
    assert (
        select_rows(RunTable({"lang": [*langs]}, ["a", "b"]), expression).columns["lang"][0]
        == "nan"
    )


def test_a_comparison_with_a_missing_cell_is_false() -> None:
    table = RunTable({"D": [None, 1, 2]}, list("abc"))
    assert select_rows(table, "D != 1").places == ["c"]
    assert select_rows(table, "D not in [1]").places == ["c"]


def test_numbers_may_be_written_as_counts() -> None:
    table = RunTable({"D": [1e6, 3e7, "40M"]}, list("abc"))
    assert select_rows(table, "D >= 30M").places == ["b", "c"]


def test_a_text_among_numbers_is_told_and_can_be_left_out_first() -> None:
    table = RunTable({"loss": ["3", "n/a", "5"]}, ["t:2", "t:3", "t:4"])
    with pytest.raises(UserError, match=r"`loss` holds 'n/a' \(t:3\)"):
        select_rows(table, "loss < 4")
    assert select_rows(table, "loss != 'n/a' and loss < 4").places == ["t:2"]


@pytest.mark.parametrize("expression", cases("refused-expressions"))
def test_what_is_said_of_a_wrong_expression(expression: str) -> None:
    columns: dict[str, Any] = {"tokens": ["1", "5"], "lang": ["de", "nan"], "run": [None, None]}
    table = RunTable(columns, ["a", "b"])
    with pytest.raises(UserError) as refusal:
        select_rows(table, json.loads(expression))
    golden(f"refused-expressions/{expression}", f"{refusal.value.code}: {refusal.value}")
