"""What laws are in a notebook: short text."""

import numpy as np
import pytest

from tests.golden import golden
from tests.laws.made import CHINCHILLA, CPT, Columns, codes, rows_of
from tongues import laws
from tongues.laws import Law, LawComparison, allocate, preset
from tongues.laws.forms import FORMS


@pytest.fixture(scope="module")
def law() -> Law:
    return laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=40, fix={"E": 1.6})


@pytest.fixture(scope="module")
def comparison() -> LawComparison:
    both = {"scratch": rows_of(CHINCHILLA), "cpt": rows_of(CPT, seed=1)}
    return laws.compare(both, draws=20)


def test_printed_a_law_is_its_formula_with_numbers(law: Law, comparison: LawComparison) -> None:
    few = laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=10)
    printed = (law, few, preset("hoffmann2022"), allocate(law), allocate(preset("zheng2024-cpt")))
    golden("fit/printed in a notebook", "\n\n".join(map(str, printed)))
    assert repr(law) == str(law)
    assert str(comparison) == "\n".join(comparison.sentences)


def test_every_form_prints_its_numbers_and_no_names() -> None:
    for form in FORMS:
        numbers = {name: 0.125 + i for i, name in enumerate(form.names)}
        text = str(Law(form.name, numbers))
        assert all(f"{number:.4g}" in text for number in numbers.values())


def test_few_draws_give_no_intervals() -> None:
    assert not laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=19).interval
    assert laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=20).interval


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
