"""What laws are in a notebook: short text."""

import pytest

from tests.golden import golden
from tests.laws.made import CHINCHILLA, CPT, rows_of
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
