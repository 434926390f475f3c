import numpy as np
import pytest

import tongues
from tests.laws.made import noise
from tests.printed import DOCS
from tongues import laws
from tongues.laws import Law


def test_a_language_s_loss_follows_its_own_share():
    N, h = (
        axis.ravel() for axis in np.meshgrid(np.geomspace(7e7, 4e8, 4), [0.06, 0.12, 0.25, 0.5])
    )
    truth = Law("family", {"E": 2.0, "A": 40.0, "alpha": 0.25, "gamma": 0.05})
    assert truth.loss(1e8, h=0.25) == pytest.approx((2.0 + 40.0 / 1e8**0.25) * 0.25**-0.05)
    law = laws.fit("family", truth.loss(N, h=h) * noise(16, 2e-4), N=N, h=h, draws=0)
    assert law.params["gamma"] == pytest.approx(0.05, abs=0.003)


ONE = {"F": 1.9, "D_0": 2e4, "beta": 0.25}


def test_one_base_starts_at_its_own_loss_and_falls_to_its_floor():
    law = Law("one-base", ONE)
    assert float(law.loss(D=0.0, S=6.5)) == pytest.approx(6.5)
    assert float(law.loss(D=2e4, S=6.5)) == pytest.approx(1.9 + 4.6 * 2**-0.25)
    assert float(law.loss(D=1e30, S=6.5)) == pytest.approx(1.9, abs=0.01)


def test_one_base_is_recovered_from_many_runs():
    D = np.geomspace(2e3, 3e6, 24)
    loss = Law("one-base", ONE).loss(D=D, S=6.5) * noise(len(D), 1e-4)
    law = laws.fit("one-base", loss, D=D, S=np.full(24, 6.5), draws=0)
    assert law.params == pytest.approx(ONE, rel=0.1)
    assert float(law.loss(D=3e7, S=6.5)) == pytest.approx(
        float(Law("one-base", ONE).loss(D=3e7, S=6.5)), rel=0.01
    )


def test_four_short_runs_predict_one_of_four_times_their_length():
    inside = 0
    for seed in range(4):
        chance = np.random.default_rng([seed, 5])
        truth = Law(
            "one-base", {"F": chance.uniform(1, 3), "D_0": 2e4, "beta": chance.uniform(0.15, 0.5)}
        )
        D = np.array([4e3, 8e3, 16e3, 32e3])
        loss = truth.loss(D=D, S=6.5) * np.exp(0.004 * chance.standard_normal(4))
        law = laws.fit("one-base", loss, D=D, S=np.full(4, 6.5), draws=0)
        estimate = law.predictor(300)(D=131e3, S=6.5).estimates[0]
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.high - estimate.low < 1.8
        inside += estimate.low <= float(truth.loss(D=131e3, S=6.5)) <= estimate.high
    assert inside >= 3


@pytest.mark.parametrize(
    ("start", "short", "end"),
    [(2.429, [2.295, 2.118, 2.025, 1.967], 1.674), (2.456, [2.358, 2.251, 2.212, 2.188], 2.035)],
    ids=["Vietnamese", "Chinese"],
)
@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_runs_that_leave_the_law_open_are_not_predicted_by_its_fit(start, short, end, unit) -> None:
    """Of `benchmarks/real_case/case.txt`; the fit says 1.754, since its beta is at a bound."""
    D = unit * np.array([8192.0, 16384, 24576, 32768])
    law = laws.fit("one-base", np.array(short), D=D, S=np.full(4, start), draws=0)
    (found,) = law.predictor(500)(D=131072 * unit, S=start).estimates
    assert found.value == pytest.approx(end, abs=0.05)


def test_what_is_fixed_goes_to_the_law_whose_parameter_it_is():
    table = DOCS / "examples/runs.csv"
    fixed = tongues.fit(table, law="cpt", fix=["E=1.5", "gamma=0.1"], draws=0)
    scratch, continued = fixed.laws
    assert scratch.params["E"] == continued.params["E"] == 1.5
    assert continued.params["gamma"] == 0.1
