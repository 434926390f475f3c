import numpy as np
import pytest

import tongues
from tests.printed import DOCS
from tongues import laws


def test_a_line_is_least_squares_where_nothing_is_off():
    D = np.geomspace(2e3, 3e6, 24)
    law = laws.fit("line", 5.0 * D**-0.08, D=D, draws=0)
    assert law.params == pytest.approx({"A": 5.0, "beta": 0.08}, rel=1e-6)
    assert law.predict(D=3e7).point[0] == pytest.approx(5.0 * 3e7**-0.08, rel=0.005)


def test_four_short_runs_predict_one_of_four_times_their_length():
    inside = 0
    for seed in range(8):
        chance = np.random.default_rng([seed, 5])
        D = np.array([4e3, 8e3, 16e3, 32e3, 131e3])
        floor, beta = chance.uniform(1, 3), chance.uniform(0.15, 0.4)
        loss = floor + (6.5 - floor) * (1 + D / 2e4) ** -beta  # bends from a line
        loss *= np.exp(0.004 * chance.standard_normal(5))
        law = laws.fit("line", loss[:4], D=D[:4], draws=0)
        (estimate,) = law.predict(D=D[4]).estimates
        assert estimate.low is not None and estimate.high is not None
        assert estimate.high - estimate.low < 0.3 * estimate.value
        inside += estimate.low <= loss[4] <= estimate.high
    assert inside >= 7


@pytest.mark.parametrize(
    ("short", "end"),
    [([2.295, 2.118, 2.025, 1.967], 1.674), ([2.358, 2.251, 2.212, 2.188], 2.035)],
    ids=["Vietnamese", "Chinese"],
)
@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_runs_of_a_real_base_are_predicted(short, end, unit) -> None:
    """Of `benchmarks/real_case/case.txt`, in any unit of tokens."""
    D = unit * np.array([8192.0, 16384, 24576, 32768])
    law = laws.fit("line", short, D=D, draws=0)
    (found,) = law.predict(D=131072 * unit).estimates
    assert found.value == pytest.approx(end, abs=0.05)
    assert found.low is not None and found.low < end


def test_what_is_fixed_goes_to_the_law_whose_parameter_it_is():
    table = DOCS / "examples/runs.csv"
    fixed = tongues.fit(table, law="cpt", fix=["E=1.5", "gamma=0.1"], draws=0)
    scratch, continued = fixed.laws
    assert scratch.params["E"] == continued.params["E"] == 1.5
    assert continued.params["gamma"] == 0.1
