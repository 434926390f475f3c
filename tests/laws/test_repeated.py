import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, needs_runs, read
from tongues import laws
from tongues.laws import Law, allocate, preset

FAR = {**CHINCHILLA, "M": 8.0, "G": 0.008, "a": 1.6, "b": 1.3, "c": 0.4, "k": 6.0}


def test_a_law_that_turns_upward_rises_with_epochs_and_size():
    law = Law("overfitted", FAR)
    epochs = np.array([1.0, 4.0, 100.0, 400.0])
    small, large = (law.loss(N, 1e9 * epochs, U=1e9) for N in (1e8, 4e9))
    assert large[1] < large[0]
    assert large[3] > large[2] > large[1]
    assert small[3] < large[3]
    once = Law("chinchilla", CHINCHILLA).loss(4e9, 1e11)
    assert law.loss(4e9, 1e11, U=1e11) == pytest.approx(float(once), rel=1e-2)


@needs_runs
def test_published_runs_of_repeated_text_are_predicted_from_other_sizes():
    rows = read("muennighoff_c4_datablations.csv")
    N, D, U, loss = (
        np.array([float(row[n]) for row in rows]) for n in ("N", "D", "unique_D", "loss")
    )
    out = np.round(np.log(N), 1) == 21.5  # 2.16B
    law = laws.fit("overfitted", loss[~out], N=N[~out], D=D[~out], U=U[~out], draws=0)
    far = out & (D / U > 15)
    off = np.abs(law.loss(N[far], D[far], U=U[far]) / loss[far] - 1)
    printed = preset("muennighoff2023").loss(N[far], D[far], U=U[far])
    assert off.mean() < 0.06
    assert np.abs(printed / loss[far] - 1).mean() > 0.3


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
