"""What laws are in a notebook: short text, a data frame, a chart and HTML."""

import sys
from typing import Any

import numpy as np
import pytest

from tests.golden import golden
from tests.laws.made import CHINCHILLA, CPT, Columns, codes, rows_of
from tongues import laws
from tongues.errors import UserError
from tongues.laws import Law, LawComparison, allocate, preset
from tongues.laws.forms import FORMS


@pytest.fixture(scope="module")
def law() -> Law:
    return laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=40, fix={"E": 1.6})


@pytest.fixture(scope="module")
def comparison() -> LawComparison:
    both = {"scratch": rows_of(CHINCHILLA), "cpt": rows_of(CPT, seed=1)}
    return laws.compare(both, draws=20, forms=("chinchilla", "extended"))


def test_printed_a_law_is_its_formula_with_numbers(law: Law, comparison: LawComparison) -> None:
    few = laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=10)
    printed = (law, few, preset("hoffmann2022"), allocate(law), allocate(preset("zheng2024-cpt")))
    golden("fit/printed in a notebook", "\n\n".join(map(str, printed)))
    assert repr(law) == str(law)
    summaries = (law.summary(), few.summary(), comparison.summary())
    golden("fit/summaries", "\n\n".join(summaries))
    assert str(comparison) == "\n".join(comparison.sentences)


def test_every_form_prints_its_numbers_and_no_names() -> None:
    for form in FORMS:
        numbers = {name: 0.125 + i for i, name in enumerate(form.names)}
        text = str(Law(form.name, numbers))
        assert all(f"{number:.4g}" in text for number in numbers.values())


def test_as_a_data_frame(law: Law) -> None:
    pytest.importorskip("pandas")
    frame = law.to_frame()
    assert list(frame["parameter"]) == list(law.params)
    assert list(frame["value"]) == list(law.params.values())
    assert frame["low"][1] == law.interval["A"][0]
    assert frame["note"][0] == "fixed"


def test_without_a_data_frame_library_it_says_what_to_install(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongues.frames.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    with pytest.raises(UserError, match="pip install pandas"):
        law.to_frame()


@pytest.mark.parametrize("form", FORMS.names())
def test_every_form_is_drawn(form: str) -> None:
    params = dict.fromkeys(FORMS.find(form).names, 0.3) | {"F": 1e5, "B": 1e7}
    drawn = Law(form, {name: params[name] for name in FORMS.find(form).names}).plot()
    points = drawn.to_dict()["data"]["values"]
    assert all(np.isfinite(point["loss"]) for point in points)


def test_a_chart_tells_what_lies_beyond_the_runs(law: Law) -> None:
    points = law.plot().to_dict()["data"]["values"]
    most = law.range["D"][1]
    assert all((p["range"] == "beyond") == (p["D"] > most) for p in points if p["D"] != most)
    assert max(p["D"] for p in points) == pytest.approx(10 * most)
    assert all(p["low"] <= p["loss"] * 1.01 and p["loss"] <= p["high"] * 1.01 for p in points)


def test_without_altair_a_chart_says_what_to_install(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UserError, match="pip install altair"):
        law.plot()


def test_html_has_the_table_and_the_sentences(law: Any, comparison: Any) -> None:
    html = law._repr_html_()
    assert html.count("<tr>") == 1 + len(law.params)
    assert "<li>fitted to 48 rows" in html
    assert comparison._repr_html_().count("<tr>") == 1 + len(comparison.entries)


def test_few_draws_give_no_intervals_and_say_so() -> None:
    few = laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=19)
    assert not few.interval and codes(few) == {"few_draws"}
    enough = laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=20)
    assert enough.interval and codes(enough) == set()
    assert codes(laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=0)) == set()


def test_copies_are_left_out_by_the_library_too() -> None:
    rows = rows_of(CHINCHILLA)
    plain = laws.fit("chinchilla", **rows, draws=0)
    twice: Columns = {name: np.concatenate([values, values[:3]]) for name, values in rows.items()}
    law = laws.fit("chinchilla", **twice, draws=0)
    assert law.params == plain.params and law.n_rows == 48
    assert codes(law) == {"duplicate_rows"}
    runs = [f"run {i}" for i in range(51)]
    assert laws.fit("chinchilla", **twice, runs=runs, draws=0).n_rows == 51


def test_perplexities_are_cautioned_by_the_library_too() -> None:
    rows = rows_of(CHINCHILLA)
    rows["loss"] = np.exp(rows["loss"] + 1.0)
    assert "not_nats" in codes(laws.fit("chinchilla", **rows, draws=0))
