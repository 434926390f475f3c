import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, grid, noise
from tongues import laws
from tongues.laws import Law, allocate, frontier, params_for, tokens_for

BOUND = {**CHINCHILLA, "kappa": 0.45}


def test_at_kappa_one_it_is_chinchilla():
    N, D = grid()
    plain = Law("chinchilla", CHINCHILLA).loss(N, D)
    np.testing.assert_allclose(Law("skaling", CHINCHILLA | {"kappa": 1.0}).loss(N, D), plain)


def test_its_best_size_is_the_lowest_of_many_and_its_frontier_that_loss():
    law = Law("skaling", BOUND)
    best = allocate(law)
    assert best is not None
    N, D = best.sizes(1e22)
    others = N * np.geomspace(0.1, 10.0, 401)
    losses = law.loss(others, 1e22 / (6 * others))
    assert others[losses.argmin()] == pytest.approx(N, rel=0.02)
    assert frontier(law).loss(C=1e22) == pytest.approx(float(law.loss(N, D)), rel=1e-12)


def test_it_is_inverted_for_tokens_and_for_parameters():
    law = Law("skaling", BOUND)
    loss = float(law.loss(2e9, 7e10))
    assert tokens_for(law, 2e9, loss) == pytest.approx(7e10)
    assert params_for(law, 7e10, loss) == pytest.approx(2e9)


def test_its_outer_power_is_found():
    N, D = grid()
    loss = Law("skaling", BOUND).loss(N, D) * noise(len(N), 3e-4)
    law = laws.fit("skaling", loss, N=N, D=D, draws=0)
    assert law.params["kappa"] == pytest.approx(0.45, abs=0.03)
    assert law.params["E"] == pytest.approx(CHINCHILLA["E"], rel=0.03)


def test_farseer_is_its_published_equation():
    """The constants of Li et al. 2025 (arXiv:2506.10972), carried over to this parametrisation."""
    s, q, S, B, b, Q = -0.062465473, 0.13, 0.128488068, 230.73437, -0.1729, -1.544209554
    A, a, E = -1.665630816, 0.0459, 3.133347198805445
    N, D = grid()
    beta = np.exp(A * N**a + E)
    expected = np.exp(s * N**q + S) + np.exp(B * N**b + Q) * D**-beta
    n = 1e9
    params = {
        "E": np.exp(s * n**q + S),
        "g_E": -s * n**q * q,
        "q": q,
        "B": np.exp(B * n**b + Q),
        "g_B": -B * n**b * b,
        "b": -b,
        "beta": np.exp(A * n**a + E),
        "g_beta": -A * n**a * a,
        "a": a,
    }
    np.testing.assert_allclose(Law("farseer", params).loss(N, D), expected, rtol=1e-9)
