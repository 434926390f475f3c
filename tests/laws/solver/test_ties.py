from typing import Any

import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, CPT, rows_of
from tongues import laws
from tongues.errors import UserError
from tongues.laws import FORMS, Law
from tongues.laws.solver import Ties, read_ties

DELTA = 1e-3
OFF = {"E": 1.5, "A": 300.0, "B": 2500.0, "alpha": 0.33, "beta": 0.39, "gamma": 0.02}
EXPONENTS, COEFFICIENTS = ("alpha", "beta"), ("A", "B")
WAYS = [  # a law, what is fixed, what is tied
    *(("chinchilla", (name,), ()) for name in ("E", "A", "B", "alpha", "beta")),
    ("chinchilla", ("E", "A", "alpha"), ()),
    ("chinchilla", ("A", "B", "alpha", "beta"), ()),
    *(("chinchilla", (), tie) for tie in ((EXPONENTS,), (COEFFICIENTS,))),
    ("chinchilla", ("E",), (EXPONENTS, COEFFICIENTS)),
    ("chinchilla", ("alpha",), (COEFFICIENTS,)),
    ("extended", ("gamma",), (("E", "B"),)),
    ("extended", ("A", "beta"), ()),
    ("extended", ("alpha",), (("E", "B"),)),
]


def height(params, rows):
    """The objective, written out."""
    N, D = rows["N"], rows["D"]
    predicted = params["E"] + params["A"] / N ** params["alpha"]
    predicted = predicted + params["B"] / (D ** params["beta"] * N ** params.get("gamma", 0.0))
    off = np.abs(np.log(predicted / rows["loss"]))
    return np.where(off <= DELTA, off**2 / 2, DELTA * (off - DELTA / 2)).sum()


def slopes(params, rows, moves):
    """Its slope along each set of parameters moved together, by central differences."""
    found = []
    for names in moves:
        ends = []
        for step in (1e-7, -1e-7):
            moved = dict(params)
            for name in names:
                coefficient = name in "EAB"
                moved[name] = moved[name] * np.exp(step) if coefficient else moved[name] + step
            ends.append(height(moved, rows))
        found.append((ends[0] - ends[1]) / 2e-7)
    return np.array(found)


def check_optimum(form, rows, fixed, tie, free_height):
    law = laws.fit(form, **rows, fix={name: OFF[name] for name in fixed}, tie=tie, draws=0)
    assert all(law.params[name] == OFF[name] for name in fixed)
    for first, second in tie:
        assert law.params[first] == law.params[second]
    assert law.objective == pytest.approx(height(law.params, rows), rel=1e-9)
    assert law.objective >= free_height * (1 - 1e-12)
    assert law.gradient_norm < 1e-9
    free = set(law.params).difference(fixed, *tie)
    alone = [(name,) for name in law.params if name in free]
    assert np.abs(slopes(law.params, rows, [*alone, *tie])).max() < 1e-8
    if fixed:  # and not only because nothing has a slope
        assert np.abs(slopes(law.params, rows, [(name,) for name in fixed])).max() > 1e-6


@pytest.fixture(scope="module")
def rows():
    return rows_of(CHINCHILLA, spread=0.02, sizes=3, lengths=7)


@pytest.fixture(scope="module")
def free(rows):
    return laws.fit("chinchilla", **rows, draws=0)


@pytest.mark.parametrize(("form", "fixed", "tie"), WAYS)
def test_what_is_fixed_or_tied_ends_where_nothing_allowed_is_lower(rows, free, form, fixed, tie):
    if form == "extended":
        rows = rows_of(CPT, spread=0.02, sizes=3, lengths=7)
        free = laws.fit("extended", **rows, draws=0)
    check_optimum(form, rows, fixed, tie, free.objective)


@pytest.mark.parametrize("tie", [(EXPONENTS,), (COEFFICIENTS,), (EXPONENTS, COEFFICIENTS)])
def test_what_is_equal_is_found_by_tying_it(tie):
    truth = CHINCHILLA | {second: CHINCHILLA[first] for first, second in tie}
    rows = rows_of(truth, spread=0.0)
    assert laws.fit("chinchilla", **rows, tie=tie, draws=0).params == pytest.approx(truth, rel=1e-6)


def test_without_gamma_the_extended_law_is_chinchilla(rows, free):
    without = laws.fit("extended", **rows, fix={"gamma": 0.0}, draws=0)
    assert without.params == pytest.approx(free.params | {"gamma": 0.0}, rel=1e-8)
    assert without.objective == pytest.approx(free.objective, rel=1e-12)


def test_without_a_floor_e_is_exactly_zero(rows):
    law = laws.fit("chinchilla", **rows, fix={"E": 0}, draws=10)
    assert law.params["E"] == 0
    assert (law.draws["E"] == 0).all()
    assert "E" not in law.interval
    assert law.fixed == {"E": 0}


@pytest.mark.parametrize("leader", ["alpha", "beta"])
def test_three_may_be_tied_to_one_in_every_draw(leader):
    rows = rows_of(CPT, spread=0.02)
    law = laws.fit("extended", **rows, tie=[("alpha", "beta"), (leader, "gamma")], draws=20)
    for values in (law.params, law.draws, law.interval):
        np.testing.assert_allclose(values["alpha"], values["beta"], rtol=1e-12)
        np.testing.assert_allclose(values["alpha"], values["gamma"], rtol=1e-12)
    assert law.tied == {"beta": "alpha", "gamma": "alpha"}


def test_fixing_a_joint_exponent_on_a_base():
    rows, base = rows_of(CPT, spread=0.01), Law("chinchilla", CHINCHILLA)
    law = laws.fit("cpt", **rows, base=base, fix={"gamma": 0.0}, draws=0)
    assert np.abs(slopes(law.params, rows, [("B",), ("beta",)])).max() < 1e-8
    assert [law.params[name] for name in "EA"] == [CHINCHILLA[name] for name in "EA"]


def test_curved_laws_can_be_fixed_and_tied():
    axes = np.meshgrid(np.geomspace(1e5, 1e8, 8), [4.2, 5.0], [1.0, 2.0, 4.0, 8.0])
    at: dict[str, Any] = dict(zip("DSk", (axis.ravel() for axis in axes), strict=True))
    truth = {"F": 1.9, "D_0": 1e6, "beta": 0.3, "G": 0.3}
    loss = Law("experts", truth).loss(**at)
    tied = laws.fit("experts", loss, tie=[("beta", "G")], draws=0, **at)
    assert tied.params == pytest.approx(truth, rel=1e-4)
    fixed = laws.fit("experts", loss, fix={"F": 1.9, "G": 0.3}, draws=0, **at)
    assert fixed.params == pytest.approx(truth, rel=1e-4)
    off = laws.fit("experts", loss, fix={"beta": 0.5}, draws=0, **at)
    assert off.params["beta"] == pytest.approx(0.5, rel=1e-14)
    assert off.objective > 1e-5 > tied.objective


@pytest.mark.parametrize(
    ("form", "fix", "tie", "reason", "where"),
    [
        ("chinchilla", {"gama": 1.0}, (), "has no parameter `gama`", "fix"),
        ("extended", {"gama": 1.0}, (), "has no parameter `gama`\n  did you mean `gamma`", "fix"),
        ("chinchilla", {}, [("alpha", "betta")], "has no parameter `betta`", "tie"),
        ("cpt", {"E": 1.5}, (), "E of the cpt law comes from its base", "E"),
        ("cpt", {}, [("alpha", "beta")], "alpha of the cpt law comes from its base", "alpha"),
        ("data-constrained", {"beta": 0.3}, (), "comes from its base", "beta"),
        ("chinchilla", {}, [("alpha", "A")], "cannot be tied", "tie"),
        ("chinchilla", {}, [("alpha", "alpha")], "cannot be tied", "tie"),
        ("chinchilla", {"alpha": 0.3}, [("alpha", "beta")], "tied or fixed already", "tie"),
        ("chinchilla", {"beta": 0.3}, [("alpha", "beta")], "tied or fixed already", "tie"),
        ("chinchilla", {}, [("alpha", "beta"), ("beta", "alpha")], "already", "tie"),
        ("chinchilla", {"E": "1"}, (), "must be fixed at a number, not '1'", "fix"),
        ("extended", {}, [("alpha", "beta"), ("gamma", "alpha")], "already", "tie"),
        ("extended", {}, [("alpha", "beta"), ("gamma", "beta")], "already", "tie"),
        ("power", {}, [("E", "A")], "already", "tie"),
        ("chinchilla", {"alpha": -0.3}, (), "alpha cannot be -0.3", "fix"),
        ("chinchilla", {"alpha": 0.0}, (), "alpha cannot be 0", "fix"),
        ("chinchilla", {"E": -1.0}, (), "E cannot be -1", "fix"),
        ("chinchilla", {"A": np.nan}, (), "A cannot be nan", "fix"),
        ("extended", {"gamma": np.inf}, (), "gamma cannot be inf", "fix"),
        ("experts", {"G": 0.0}, (), "G cannot be 0", "fix"),
        ("chinchilla", CHINCHILLA, (), "nothing to fit", "fix"),
        ("power", {"E": 0.0, "A": 30.0, "gamma": 0.05}, (), "nothing to fit", "fix"),
    ],
)
def test_what_cannot_be_fixed_or_tied_is_refused(form, fix, tie, reason, where):
    with pytest.raises(UserError, match=reason) as caught:
        read_ties(FORMS.find(form), fix, tie)
    assert caught.value.where == where


def test_a_fixed_parameter_of_a_form_may_be_set_otherwise():
    assert read_ties(FORMS.find("power"), None, ()).fixed == {"E": 0.0}
    assert read_ties(FORMS.find("power"), {"E": 1}, ()).fixed == {"E": 1.0}


def test_the_leader_is_the_first_of_a_pair():
    ties = Ties(tied={"beta": "alpha"})
    assert (ties.leader("beta"), ties.leader("alpha"), ties.leader("E")) == ("alpha", "alpha", "E")
    assert ties.free(("E", "alpha", "beta")) == ("E", "alpha")
