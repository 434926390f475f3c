import numpy as np
import pytest

from tests.golden import inputs
from tests.laws.made import CHINCHILLA, CPT, Columns, codes, objective, rows_of
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import FORMS, Law
from tongues.laws.solver import read_fixed

DELTA = 1e-3
OFF = {"E": 1.5, "A": 300.0, "B": 2500.0, "alpha": 0.33, "beta": 0.39, "gamma": 0.02}
WAYS = [  # a law, and what is fixed
    *(("chinchilla", (name,)) for name in ("E", "A", "B", "alpha", "beta")),
    ("chinchilla", ("E", "A", "alpha")),
    ("chinchilla", ("A", "B", "alpha", "beta")),
    ("extended", ("gamma",)),
    ("extended", ("A", "beta")),
    ("extended", ("alpha",)),
]


def height(params, rows):
    """The objective, written out."""
    N, D = rows["N"], rows["D"]
    predicted = params["E"] + params["A"] / N ** params["alpha"]
    predicted = predicted + params["B"] / (D ** params["beta"] * N ** params.get("gamma", 0.0))
    off = np.abs(np.log(predicted / rows["loss"]))
    return np.where(off <= DELTA, off**2 / 2, DELTA * (off - DELTA / 2)).sum()


def slopes(params, rows, names):
    """Its slope along each parameter, of coefficients their log, by central differences."""
    found = []
    for name in names:
        ends = []
        for step in (1e-7, -1e-7):
            value = params[name]
            moved = value * np.exp(step) if name in "EAB" else value + step
            ends.append(height(params | {name: moved}, rows))
        found.append((ends[0] - ends[1]) / 2e-7)
    return np.array(found)


def check_optimum(form, rows, fixed, free_height):
    law = laws.fit(form, **rows, fix={name: OFF[name] for name in fixed}, draws=0)
    assert all(law.params[name] == OFF[name] for name in fixed)
    assert objective(law) == pytest.approx(height(law.params, rows), rel=1e-9)
    assert objective(law) >= free_height * (1 - 1e-12)
    assert "not_converged" not in codes(law)
    assert np.abs(slopes(law.params, rows, set(law.params).difference(fixed))).max() < 1e-8
    # and not only because nothing has a slope
    assert np.abs(slopes(law.params, rows, fixed)).max() > 1e-6


@pytest.fixture(scope="module")
def rows():
    return rows_of(CHINCHILLA, spread=0.02, sizes=3, lengths=7)


@pytest.fixture(scope="module")
def free(rows):
    return laws.fit("chinchilla", **rows, draws=0)


@pytest.mark.parametrize(("form", "fixed"), WAYS)
def test_what_is_fixed_ends_where_nothing_allowed_is_lower(rows, free, form, fixed):
    if form == "extended":
        rows = rows_of(CPT, spread=0.02, sizes=3, lengths=7)
        free = laws.fit("extended", **rows, draws=0)
    check_optimum(form, rows, fixed, objective(free))


def test_without_gamma_the_extended_law_is_chinchilla(rows, free):
    without = laws.fit("extended", **rows, fix={"gamma": 0.0}, draws=0)
    assert without.params == pytest.approx(free.params | {"gamma": 0.0}, rel=1e-8)
    assert objective(without) == pytest.approx(objective(free), rel=1e-12)


def test_without_a_floor_e_is_exactly_zero(rows):
    law = laws.fit("chinchilla", **rows, fix={"E": 0}, draws=10)
    assert law.params["E"] == 0
    assert (law.draws["E"] == 0).all()
    assert "E" not in law.interval
    assert law.fixed == {"E": 0}


def test_fixing_a_joint_exponent_on_a_base():
    rows, base = rows_of(CPT, spread=0.01), Law("chinchilla", CHINCHILLA)
    law = laws.fit("cpt", **rows, base=base, fix={"gamma": 0.0}, draws=0)
    assert np.abs(slopes(law.params, rows, ["B", "beta"])).max() < 1e-8
    assert [law.params[name] for name in "EA"] == [CHINCHILLA[name] for name in "EA"]


def test_curved_laws_can_be_fixed():
    axes = np.meshgrid(np.geomspace(1e5, 1e8, 8), [4.2, 5.0], [1.0, 2.0, 4.0, 8.0])
    at: Columns = dict(zip("DSk", (axis.ravel() for axis in axes), strict=True))
    truth = {"F": 1.9, "D_0": 1e6, "beta": 0.3, "G": 0.3}
    loss = Law("experts", truth).loss(**at)
    fixed = laws.fit("experts", loss, fix={"F": 1.9, "G": 0.3}, draws=0, **at)
    assert fixed.params == pytest.approx(truth, rel=1e-4)
    off = laws.fit("experts", loss, fix={"beta": 0.5}, draws=0, **at)
    assert off.params["beta"] == pytest.approx(0.5, rel=1e-14)
    assert objective(off) > 1e-5 > objective(fixed)


@pytest.mark.parametrize(
    ("form", "fix", "reason", "where"),
    inputs("refused-fixes"),
)
def test_what_cannot_be_fixed_is_refused(form, fix, reason, where):
    with pytest.raises(UserError, match=reason) as caught:
        read_fixed(FORMS.find(form), fix)
    assert caught.value.where == where


def test_a_fixed_parameter_of_a_form_may_be_set_otherwise():
    assert read_fixed(FORMS.find("power"), {}) == {"E": 0.0}
    assert read_fixed(FORMS.find("power"), {"E": 1}) == {"E": 1.0}
