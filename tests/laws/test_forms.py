import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.core.errors import UserError
from tongues.laws import FORMS, Law, preset
from tongues.laws.forms import Exponent, PowerForm, Term, TwoTerms

HOFFMANN = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}
N, D = np.array([1e8, 1e9]), np.array([[2e9], [2e10]])


def terms(name):
    form = FORMS.find(name)
    assert isinstance(form, PowerForm)
    return form


def test_every_law_is_known_by_its_name():
    assert [form.name for form in FORMS][:10] == [
        *("chinchilla", "extended", "cpt", "line", "data-constrained", "overfitted"),
        *("experts", "forgetting", "power", "power-floor"),
    ]
    assert all(form.summary and form.formula for form in FORMS)
    with pytest.raises(UserError, match="no law form `chinchila`") as caught:
        FORMS.find("chinchila")
    assert caught.value.hint == "did you mean `chinchilla`?"


def test_parameters_are_named_in_the_order_people_write_them():
    plain = "E A B alpha beta"
    expected = {
        "chinchilla": (plain, ""),
        "extended": (plain + " gamma", ""),
        "cpt": (plain + " gamma", "E A alpha"),  # what it takes from its base
        "data-constrained": (plain + " R_D R_N", plain),
        "power": ("E A gamma", ""),
        "power-floor": ("E A gamma", ""),
    }
    forms = {name: FORMS.find(name) for name in expected}
    found = {name: (" ".join(f.names), " ".join(f.taken_names)) for name, f in forms.items()}
    assert found == expected
    assert [(f.name, f.base) for f in FORMS if f.base][:2] == [
        ("cpt", "chinchilla"),
        ("data-constrained", "chinchilla"),
    ]
    assert set(FORMS.find("cpt").variables) == {"N", "D"}
    assert FORMS.find("power").variables == ("C",)


@pytest.mark.parametrize(
    ("name", "gamma"),
    [("chinchilla", 0.0), *((n, g) for n in ("cpt", "extended") for g in (0, 0.08))],
)
def test_the_loss_is_the_formula(name, gamma):
    loss = FORMS.find(name).loss({**HOFFMANN, "gamma": gamma}, {"N": N, "D": D})
    expected = 1.69 + 406.4 / N**0.34 + 410.7 / (D**0.28 * N**gamma)
    np.testing.assert_allclose(loss, expected, rtol=1e-14)


def test_power_laws_are_of_compute():
    params = {"E": 1.5, "A": 100.0, "gamma": 0.1}
    loss = FORMS.find("power-floor").loss(params, {"C": np.array([1e18, 1e20])})
    np.testing.assert_allclose(loss, [1.5 + 100 * 1e18**-0.1, 1.5 + 1.0], rtol=1e-14)
    assert FORMS.find("power").given == {"E": 0.0}
    assert [form.name for form in FORMS if form.envelope] == ["power", "power-floor"]


def test_known_is_the_part_taken_from_a_base():
    params = {**HOFFMANN, "gamma": 0.08}
    variables = {"N": np.array([1e8, 1e9]), "D": np.array([1e9, 1e9])}
    np.testing.assert_allclose(
        terms("cpt").known(params, variables), 1.69 + 406.4 / variables["N"] ** 0.34
    )
    assert (terms("chinchilla").known({}, variables) == 0).all()
    assert terms("power").known({"E": 1.5}, {"C": np.array(1e18)}) == 0


def test_a_form_of_what_nobody_measures_is_refused():
    of_other = (Term("A", (Exponent("alpha", "M"),)),)
    with pytest.raises(ValueError, match="the form `own` depends on M"):
        PowerForm(name="own", summary="s", formula="f", fitted=of_other)


def test_a_sum_of_two_powers_is_split_without_being_told():
    def form(*fitted):
        return PowerForm(name="own", summary="s", formula="f", fitted=fitted)

    size, tokens = Term("a", (Exponent("x", "N"),)), Term("b", (Exponent("y", "D"),))
    assert form(size, tokens).split == TwoTerms(None, "a", "x", "b", "y")
    assert form(Term("L"), size, tokens).split == TwoTerms("L", "a", "x", "b", "y")
    for other in (Term("c", (Exponent("z", "U"),)), Term("c", (Exponent("z", "N"),))):
        assert form(Term("L"), size, tokens, other).split is None
    params = {"a": 400.0, "x": 0.3, "b": 900.0, "y": 0.3}
    split = form(size, tokens).split
    assert split is not None
    best = split.sizes(params)
    sizes = np.geomspace(0.5, 2.0, 201) * best["N_coef"] * 1e20 ** best["a"]
    losses = form(size, tokens).loss(params, {"N": sizes, "D": 1e20 / 6 / sizes})
    assert losses.argmin() == 100


@settings(deadline=None, max_examples=60)
@given(
    *(st.floats(*ends) for ends in ((0.1, 1), (0.1, 1), (-0.3, 0.5), (0.1, 2), (7, 10), (8, 12)))
)
def test_tokens_for_a_loss_are_those_that_give_it(alpha, beta, gamma, share, size, tokens):
    params = {"E": 1.5, "A": 0.5 * 3e8**alpha, "B": share * 1e10**beta * 3e8**gamma}
    law = Law("extended", params | {"alpha": alpha, "beta": beta, "gamma": gamma})
    N, D = 10**size, 10**tokens
    loss = law.loss(N, D)
    left = float(loss) - 1.5 - params["A"] / N**alpha
    lost = 1e-15 * float(loss) / left / beta  # digits the other terms leave
    split = terms("extended").split
    assert split is not None
    found = split.tokens(law.params, np.array(N), loss)
    assert found == pytest.approx(D, rel=max(1e-9, lost))


def test_tokens_for_a_loss_out_of_reach_never_end():
    law = preset("zheng2024-scratch")
    split = terms("chinchilla").split
    assert split is not None
    floor = 1.55 + 420 / 1e8**0.4
    assert (split.tokens(law.params, np.array(1e8), np.array([floor, 1.0])) == np.inf).all()
    assert np.isfinite(split.tokens(law.params, np.array(1e8), floor + 1e-6))
    assert split.smallest(law.params, floor) == pytest.approx(1e8)
    assert split.smallest(law.params, 1.2) == np.inf  # below E
