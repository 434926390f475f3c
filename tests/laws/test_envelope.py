import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import Power, envelope, fit_power, implied_saving, implied_saving_interval

SCRATCH = Power({"E": 0.0, "A": 33.69907, "g": 0.0579})
CPT = Power({"E": 0.0, "A": 31.9594, "g": 0.0575})


def runs_above(power, noise, seed=0):
    """Twelve runs, each of which touches the power law once, in its middle."""
    middle = np.repeat(np.geomspace(1e17, 1e22, 12), 7)
    C = middle * np.tile(np.geomspace(0.1, 10, 7), 12)
    error = np.random.default_rng(seed).standard_normal(len(C))
    loss = power.loss(C) * np.exp(0.05 * np.log10(C / middle) ** 2 + noise * error)
    return C, loss, np.repeat(np.arange(12), 7)


def test_the_envelope_is_what_no_cheaper_point_beats():
    C, loss = [3, 1, 2, 5, 4, 5], [2.0, 4.0, 4.5, 1.8, 2.0, 1.7]
    assert envelope(C, loss).tolist() == [1, 0, 5]


def test_the_published_loss_compute_laws_save_47_to_42_percent():
    saved = implied_saving(SCRATCH, CPT, [1e18, 1e23])
    assert saved == pytest.approx([0.469, 0.425], abs=5e-4)
    np.testing.assert_allclose(CPT.loss((1 - saved) * [1e18, 1e23]), SCRATCH.loss([1e18, 1e23]))


def test_a_saving_can_be_negative_or_out_of_reach():
    assert implied_saving(CPT, SCRATCH, 1e20) < 0
    assert implied_saving(SCRATCH, Power({"E": 3.0, "A": 30.0, "g": 0.05}), 1e20) == -np.inf


def test_compute_inverts_loss():
    power = Power({"E": 1.5, "A": 100.0, "g": 0.1})
    C = np.geomspace(1e15, 1e24, 5)
    np.testing.assert_allclose(power.compute(power.loss(C)), C, rtol=1e-9)


@pytest.mark.parametrize("E", [0.0, None])
def test_a_known_power_law_is_found_below_its_runs(E):
    truth = SCRATCH if E == 0 else Power({"E": 1.5, "A": 100.0, "g": 0.1})
    C, loss, runs = runs_above(truth, noise=0.001)
    fitted = fit_power(C, loss, runs, E=E, draws=200)
    assert fitted.n_runs == 12
    assert fitted.n_rows < len(C)
    low, high = fitted.loss_interval([1e18, 1e21])
    assert (low < fitted.loss([1e18, 1e21])).all()
    assert (fitted.loss([1e18, 1e21]) < high).all()
    np.testing.assert_allclose(fitted.loss([1e18, 1e21]), truth.loss([1e18, 1e21]), rtol=0.01)
    assert fitted.interval["g"][0] < truth.params["g"] * 1.1
    assert fitted.interval["g"][1] > truth.params["g"] * 0.9


def test_a_given_floor_has_no_interval_and_must_lie_below_the_runs():
    C, loss, runs = runs_above(SCRATCH, noise=0.001)
    fitted = fit_power(C, loss, runs, E=0.5, draws=30)
    assert fitted.params["E"] == 0.5
    assert fitted.interval.keys() == {"A", "g"}
    with pytest.raises(UserError, match="between 0 and the lowest loss"):
        fit_power(C, loss, runs, E=loss.min())


def test_an_envelope_of_one_point_is_refused():
    with pytest.raises(UserError, match="only 1 points lie on the envelope"):
        fit_power([1.0, 2.0, 3.0], [2.0, 2.0, 2.5])


def test_a_saving_between_two_fits_has_an_interval():
    scratch, cpt = (
        fit_power(*runs_above(power, noise=0.002, seed=seed), draws=100)
        for seed, power in enumerate((SCRATCH, CPT))
    )
    low, high = implied_saving_interval(scratch, cpt, [1e19, 1e21])
    assert (low < implied_saving(scratch, cpt, [1e19, 1e21])).all()
    assert (implied_saving(scratch, cpt, [1e19, 1e21]) < high).all()
    with pytest.raises(UserError, match="no draws"):
        implied_saving_interval(SCRATCH, CPT, 1e20)
