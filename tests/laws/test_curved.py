import numpy as np
import pytest

from tests.laws.made import CHINCHILLA
from tongues.laws import Law, allocate, preset


def test_text_that_is_not_repeated_costs_what_chinchilla_says():
    plain = Law("chinchilla", CHINCHILLA)
    law = Law("data-constrained", {**CHINCHILLA, "R_D": 15.0, "R_N": 5.0})
    best = allocate(plain)
    assert best is not None
    N, D = best.sizes(1e21)
    for size in (0.01 * N, 0.5 * N, 0.999 * N):  # no larger than its unique tokens warrant
        for unique in (D, 10 * D):
            assert law.loss(size, D, U=unique) == pytest.approx(float(plain.loss(size, D)))
    assert law.loss(10 * N, D, U=D) > plain.loss(10 * N, D)


def test_repeats_are_worth_less_and_less():
    """Written out from Muennighoff et al. 2023, equations 5 and 6, with the numbers of its code."""
    law = preset("muennighoff2023")
    p, U, N = law.params, 1e9, 1e7

    def worth(epochs):
        return U + U * p["R_D"] * (1 - np.exp(-(epochs - 1) / p["R_D"]))

    for epochs in (1, 4, 40):
        expected = p["E"] + p["A"] / N ** p["alpha"] + p["B"] / worth(epochs) ** p["beta"]
        assert law.loss(N, epochs * U, U=U) == pytest.approx(expected, rel=1e-12)
    assert worth(4) / (4 * U) == pytest.approx(0.93, abs=0.01)
    many = p["E"] + p["A"] / N ** p["alpha"] + p["B"] / (U * (1 + p["R_D"])) ** p["beta"]
    assert law.loss(N, 1e6 * U, U=U) == pytest.approx(many, rel=1e-12)


def test_parameters_beyond_what_the_unique_text_warrants_are_worth_less_too():
    law = preset("muennighoff2023")
    p, U = law.params, 1e9
    G = (p["alpha"] * p["A"] / (p["beta"] * p["B"])) ** (1 / (p["alpha"] + p["beta"]))
    warranted = G * (U * G) ** (p["beta"] / p["alpha"])
    for times in (2.0, 30.0):
        worth = warranted * (1 + p["R_N"] * (1 - np.exp(-(times - 1) / p["R_N"])))
        expected = p["E"] + p["A"] / worth ** p["alpha"] + p["B"] / U ** p["beta"]
        assert law.loss(times * warranted, U, U=U) == pytest.approx(expected, rel=1e-12)
