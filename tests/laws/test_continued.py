import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, grid, noise
from tongues import laws
from tongues.laws import Law

START = {**CHINCHILLA, "B": 300.0, "beta": 0.28, "gamma": 0.05}
BASE = Law("chinchilla", CHINCHILLA)


def test_at_no_tokens_the_loss_is_the_base_s_own():
    law = Law("cpt-start", START)
    assert law.loss(1e9, 1e-6, S=4.2) == pytest.approx(4.2, rel=1e-6)
    losses = law.loss(1e9, np.geomspace(1e3, 1e13, 40), S=4.2)
    assert (np.diff(losses) < 0).all()
    assert law.loss(1e9, 1e30, S=4.2) == pytest.approx(1.6 + 400.0 / 1e9**0.35, rel=1e-3)


def test_of_a_hopeless_base_it_is_the_cpt_law():
    law, plain = Law("cpt-start", START), Law("cpt", START)
    assert law.loss(1e9, 1e10, S=60.0) == pytest.approx(float(plain.loss(1e9, 1e10)), rel=1e-6)


def test_its_parameters_are_found_from_bases_that_start_lower_and_higher():
    N, D = grid()
    S = np.tile([3.0, 4.5], len(N) // 2)
    loss = Law("cpt-start", START).loss(N, D, S=S) * noise(len(N), 2e-4)
    law = laws.fit("cpt-start", loss, N=N, D=D, S=S, base=BASE, draws=0)
    assert law.params["beta"] == pytest.approx(0.28, abs=0.01)
    assert law.params["gamma"] == pytest.approx(0.05, abs=0.01)
    predicted = law.predict(2e10, 1e12, S=4.0)
    assert predicted.point == pytest.approx(
        float(Law("cpt-start", START).loss(2e10, 1e12, S=4.0)), 0.01
    )


def test_a_language_s_loss_follows_its_own_share():
    N, h = (
        axis.ravel() for axis in np.meshgrid(np.geomspace(7e7, 4e8, 4), [0.06, 0.12, 0.25, 0.5])
    )
    truth = Law("family", {"E": 2.0, "A": 40.0, "alpha": 0.25, "gamma": 0.05})
    assert truth.loss(1e8, h=0.25) == pytest.approx((2.0 + 40.0 / 1e8**0.25) * 0.25**-0.05)
    law = laws.fit("family", truth.loss(N, h=h) * noise(16, 2e-4), N=N, h=h, draws=0)
    assert law.params["gamma"] == pytest.approx(0.05, abs=0.003)
