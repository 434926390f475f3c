import numpy as np
import pytest

from tongues.laws.forms import CPT, POWER, SCRATCH

CHINCHILLA = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}


def test_parameters_are_named_in_the_order_people_write_them():
    assert SCRATCH.names == ("E", "A", "B", "alpha", "beta")
    assert CPT.names == ("E", "A", "B", "alpha", "beta", "gamma")
    assert CPT.free == ("B", "beta", "gamma")
    assert CPT.variables == ("D", "N")


def test_scratch_loss_is_the_formula():
    loss = SCRATCH.loss(CHINCHILLA, {"N": np.array(70e9), "D": np.array(1.4e12)})
    assert loss == pytest.approx(1.69 + 406.4 / 70e9**0.34 + 410.7 / 1.4e12**0.28, rel=1e-14)


def test_cpt_loss_is_the_formula_and_gamma_zero_makes_it_scratch():
    params = {**CHINCHILLA, "gamma": 0.08}
    N, D = np.array([1e8, 1e9]), np.array([[2e9], [2e10]])
    loss = CPT.loss(params, {"N": N, "D": D})
    expected = 1.69 + 406.4 / N**0.34 + 410.7 / (D**0.28 * N**0.08)
    np.testing.assert_allclose(loss, expected, rtol=1e-14)
    plain = SCRATCH.loss(CHINCHILLA, {"N": N, "D": D})
    np.testing.assert_allclose(CPT.loss({**params, "gamma": 0.0}, {"N": N, "D": D}), plain)


def test_known_is_the_part_taken_from_a_base():
    params = {**CHINCHILLA, "gamma": 0.08}
    variables = {"N": np.array([1e8, 1e9]), "D": np.array([1e9, 1e9])}
    np.testing.assert_allclose(CPT.known(params, variables), 1.69 + 406.4 / variables["N"] ** 0.34)
    assert (SCRATCH.known({}, variables) == 0).all()
    assert POWER.known({"E": 1.5}, {"C": np.array(1e18)}) == 1.5
