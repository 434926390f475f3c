import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.laws import PRESETS, Law, allocate, preset
from tongues.plan.search import first_reached, lowest, reached_in_draws
from tongues.plan.ways import Way

SPLIT = [name for name in PRESETS if allocate(preset(name))]


def way_of(
    law: Law,
    params: float | None = None,
    tokens: float | None = None,
    unique: float = math.inf,
    R_D: float = math.inf,
) -> Way:
    return Way("one", "scratch", "law", law, params=params, tokens=tokens, unique=unique, R_D=R_D)


def chinchilla(**params: float) -> Law:
    return Law("chinchilla", {"E": 1.7, "A": 400, "B": 700, "alpha": 0.36, "beta": 0.3} | params)


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("flops", [1e18, 1e21, 1e24])
def test_the_closed_form_is_the_numeric_minimum(name: str, flops: float) -> None:
    law = preset(name)
    if law.form == "data-constrained":
        law = chinchilla(**{key: law.params[key] for key in ("E", "A", "B", "alpha", "beta")})

    def loss(x: np.ndarray) -> np.ndarray:
        return law.loss(np.exp(x), flops / 6 / np.exp(x))

    best = allocate(law)
    assert best is not None
    found = np.exp(lowest(loss, np.array([math.log(1e3)]), np.array([math.log(1e15)])))[0]
    assert found == pytest.approx(best.sizes(flops)[0], rel=1e-6)
    assert float(way_of(law).sizes(np.array(flops))[0]) == pytest.approx(found, rel=1e-6)


def test_a_minimum_at_the_end_is_none() -> None:
    ends = np.array([0.0]), np.array([1.0])
    assert np.isnan(lowest(lambda x: x, *ends)[0])
    assert np.isnan(lowest(lambda x: -x, *ends)[0])


def test_the_printed_allocation_of_the_published_law() -> None:
    flops = np.array([1e18, 1e20, 1e22])
    N, D = way_of(preset("zheng2024-scratch")).sizes(flops)
    assert pytest.approx(0.324 * flops**0.429, rel=0.05) == N
    assert pytest.approx(0.514 * flops**0.571, rel=0.05) == D
    assert pytest.approx(flops) == 6 * N * D
    N, _ = way_of(preset("zheng2024-cpt")).sizes(flops)
    assert pytest.approx(4.79 * flops**0.385, rel=0.05) == N


@settings(max_examples=40, deadline=None)
@given(
    exponent=st.floats(16, 25),
    alpha=st.floats(0.2, 0.7),
    beta=st.floats(0.2, 0.7),
    replay=st.sampled_from([0.0, 0.05, 0.5]),
    params=st.none() | st.floats(1e6, 1e11),
    unique=st.sampled_from([math.inf, 1e9, 1e11]),
)
def test_the_compute_of_a_loss_gives_that_loss(
    exponent: float,
    alpha: float,
    beta: float,
    replay: float,
    params: float | None,
    unique: float,
) -> None:
    law = chinchilla(alpha=alpha, beta=beta)
    way = Way("one", "cpt", "law", law, replay=replay, params=params, unique=unique, R_D=15.0)
    loss = float(way.loss(np.array(10**exponent)))
    flops = way.compute(loss)
    assert flops <= 10**exponent * (1 + 1e-9)  # where text is used up, less does as well
    assert float(way.loss(np.array(flops))) == pytest.approx(loss, rel=1e-9)


def test_a_loss_below_the_floor_takes_endless_compute() -> None:
    assert way_of(chinchilla()).compute(1.6) == math.inf
    assert way_of(chinchilla(), unique=1e6, R_D=15.0).compute(2.0) == math.inf


def test_replay_leaves_the_rest_to_the_target() -> None:
    plain, mixed = (Way("a", "cpt", "law", chinchilla(), replay=r) for r in (0.0, 0.2))
    flops = np.array(1e21)
    assert mixed.loss(flops) == pytest.approx(plain.loss(0.8 * flops))
    N, D = mixed.sizes(flops)
    assert pytest.approx(plain.sizes(0.8 * flops)[0]) == N
    assert pytest.approx(1e21) == 6 * N * D


def test_settled_size_and_tokens() -> None:
    flops = np.array(6e21)
    N, D = way_of(chinchilla(), params=1e9).sizes(flops)
    assert (pytest.approx(1e9), pytest.approx(1e12)) == (N, D)
    N, D = way_of(chinchilla(), tokens=1e12).sizes(flops)
    assert (pytest.approx(1e9), pytest.approx(1e12)) == (N, D)
    N, D = way_of(chinchilla(), params=1e9, tokens=1e10).sizes(flops)
    assert (pytest.approx(1e9), pytest.approx(1e10)) == (N, D)


def test_repeats_are_worth_less_and_less() -> None:
    way = way_of(chinchilla(), unique=1e9, R_D=15.39)
    N = np.full(4, 1e8)
    losses = way.loss_of(N, np.array([1e9, 4e9, 1e11, 1e14]))
    plain = chinchilla().loss(N, np.array([1e9, 4e9, 1e11, 1e14]))
    assert losses[0] == plain[0]  # one epoch
    assert losses[1] == pytest.approx(plain[1], rel=0.01)  # four are nearly as good
    ends = chinchilla().loss(1e8, 1e9 * (1 + 15.39))  # all repeats together, however many
    assert losses[3] == pytest.approx(float(ends), rel=1e-6)
    assert (np.diff(losses) < 0).all()


def test_the_constrained_optimum_is_the_lowest_of_a_fine_grid() -> None:
    law = Law(
        "data-constrained",
        chinchilla().params | {"R_D": 15.39, "R_N": 5.31},
    )
    way = way_of(law, unique=2e9)
    N = float(way.sizes(np.array(1e21))[0])
    grid = np.geomspace(N / 10, N * 10, 20001)
    losses = law.loss(grid, 1e21 / 6 / grid, U=2e9)
    assert pytest.approx(grid[np.argmin(losses)], rel=1e-3) == N
    assert way.loss(np.array(1e21)) <= losses.min() * (1 + 1e-12)


def test_a_law_without_a_best_size_has_none() -> None:
    law = Law("cpt", {"E": 1.5, "A": 400, "B": 80, "alpha": 0.36, "beta": 0.2, "gamma": 0.3})
    assert np.isnan(way_of(law).sizes(np.array(1e21))[0])
    assert np.isnan(way_of(law).loss(np.array(1e21)))
    assert way_of(law).compute(2.0) == math.inf
    assert np.isfinite(way_of(law, params=1e9).loss(np.array(1e21)))


def test_a_law_of_compute_knows_no_sizes() -> None:
    way = way_of(preset("zheng2024-scratch-compute"))
    assert np.isnan(way.sizes(np.array(1e20))[0])
    assert float(way.loss(np.array(1e20))) == pytest.approx(33.69907 * 1e20**-0.0579)
    assert way.compute(2.5) == pytest.approx((33.69907 / 2.5) ** (1 / 0.0579))


def test_draws_reach_a_loss_where_each_of_them_does() -> None:
    B = np.array([500.0, 700.0, 900.0])
    draws = {name: np.full(3, value) for name, value in chinchilla().params.items()} | {"B": B}
    law = Law("chinchilla", chinchilla().params, draws=draws)
    way = way_of(law, params=1e9)
    found = way.compute_draws(2.2, near=way.compute(2.2))
    exact = [way_of(chinchilla(B=float(b)), params=1e9).compute(2.2) for b in B]
    assert found == pytest.approx(exact, rel=2e-3)


def test_first_reached_and_draws_say_never() -> None:
    assert first_reached(lambda x: 1 - x, 2.0, 0.0, 1.0) == 0.0
    assert first_reached(lambda x: 1 - x, -1.0, 0.0, 1.0) == math.inf
    assert first_reached(lambda x: 1 - x, 0.3, 0.0, 1.0) == pytest.approx(0.7)
    grid = np.array([0.0, 1.0, 2.0])
    curves = np.array([[3.0, 2.0, 1.0], [3.0, 3.0, 3.0], [1.0, 0.5, 0.2]])
    found = reached_in_draws(curves, grid, np.full(3, 1.5))
    assert found.tolist() == [1.5, math.inf, 0.0]
