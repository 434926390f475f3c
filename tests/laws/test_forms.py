import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import FORMS
from tongues.laws.forms import Form, find_form

HOFFMANN = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}
N, D = np.array([1e8, 1e9]), np.array([[2e9], [2e10]])


def terms(name):
    form = FORMS[name]
    assert isinstance(form, Form)
    return form


def test_every_law_is_known_by_its_name():
    assert list(FORMS) == [
        *("chinchilla", "cpt", "extended", "kaplan"),
        *("data-constrained", "forgetting", "power", "power-floor"),
    ]
    assert all(FORMS[name].name == name for name in FORMS)
    with pytest.raises(UserError, match="no law `chinchila`") as caught:
        find_form("chinchila")
    assert caught.value.hint == "did you mean `chinchilla`?"


def test_parameters_are_named_in_the_order_people_write_them():
    assert FORMS["chinchilla"].names == ("E", "A", "B", "alpha", "beta")
    assert FORMS["extended"].names == ("E", "A", "B", "alpha", "beta", "gamma")
    assert FORMS["cpt"].names == FORMS["extended"].names
    assert FORMS["cpt"].free == ("B", "beta", "gamma")
    assert FORMS["cpt"].taken_names == ("E", "A", "alpha")
    assert FORMS["data-constrained"].names == ("E", "A", "B", "alpha", "beta", "R_D", "R_N")
    assert FORMS["power"].names == FORMS["power-floor"].names == ("E", "A", "gamma")
    assert set(FORMS["cpt"].variables) == {"N", "D"}
    assert FORMS["power"].variables == ("C",)


def test_laws_that_stand_on_another_name_it():
    based = {name: form.base for name, form in FORMS.items() if form.base}
    assert based == {"cpt": "chinchilla", "data-constrained": "chinchilla"}
    for name, base in based.items():
        assert set(FORMS[name].taken_names) <= set(FORMS[base].names)


def test_the_chinchilla_loss_is_the_formula():
    loss = FORMS["chinchilla"].loss(HOFFMANN, {"N": np.array(70e9), "D": np.array(1.4e12)})
    assert loss == pytest.approx(1.69 + 406.4 / 70e9**0.34 + 410.7 / 1.4e12**0.28, rel=1e-14)


@pytest.mark.parametrize("name", ["cpt", "extended"])
def test_the_joint_loss_is_the_formula_and_gamma_zero_makes_it_chinchilla(name):
    params = {**HOFFMANN, "gamma": 0.08}
    loss = FORMS[name].loss(params, {"N": N, "D": D})
    expected = 1.69 + 406.4 / N**0.34 + 410.7 / (D**0.28 * N**0.08)
    np.testing.assert_allclose(loss, expected, rtol=1e-14)
    plain = FORMS["chinchilla"].loss(HOFFMANN, {"N": N, "D": D})
    np.testing.assert_allclose(FORMS[name].loss({**params, "gamma": 0.0}, {"N": N, "D": D}), plain)


def test_power_laws_are_of_compute():
    params = {"E": 1.5, "A": 100.0, "gamma": 0.1}
    loss = FORMS["power-floor"].loss(params, {"C": np.array([1e18, 1e20])})
    np.testing.assert_allclose(loss, [1.5 + 100 * 1e18**-0.1, 1.5 + 1.0], rtol=1e-14)
    assert FORMS["power"].given == {"E": 0.0}
    assert [name for name, form in FORMS.items() if form.envelope] == ["power", "power-floor"]


def test_known_is_the_part_taken_from_a_base():
    params = {**HOFFMANN, "gamma": 0.08}
    variables = {"N": np.array([1e8, 1e9]), "D": np.array([1e9, 1e9])}
    np.testing.assert_allclose(
        terms("cpt").known(params, variables), 1.69 + 406.4 / variables["N"] ** 0.34
    )
    assert (terms("chinchilla").known({}, variables) == 0).all()
    assert terms("power").known({"E": 1.5}, {"C": np.array(1e18)}) == 0
