import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tongues.laws import PRESETS, Law, allocate, preset
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.laws import Known
from tongues.plan.search import first_reached, minimise, reached_in_draws
from tongues.plan.ways import Repeats, Way, filled_by

SPLIT = [name for name in PRESETS if allocate(preset(name))]


def of(unique: float) -> Repeats | None:
    return None if math.isinf(unique) else Repeats(unique, R_D=15.39, R_N=5.31)


def known(*laws: Law) -> tuple[Known, ...]:
    return tuple(Known(f"law {i}", law, "scratch") for i, law in enumerate(laws))


def way_of(
    law: Law,
    params: float | None = None,
    tokens: float | None = None,
    unique: float = math.inf,
) -> Way:
    return Way("one", "scratch", known(law), params=params, tokens=tokens, repeats=of(unique))


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
    found = np.exp(minimise(loss, np.array([math.log(1e3)]), np.array([math.log(1e15)])))[0]
    assert found == pytest.approx(best.sizes(flops)[0], rel=1e-6)
    assert float(way_of(law).sizes(np.array(flops))[0]) == pytest.approx(found, rel=1e-6)


def test_a_minimum_at_the_end_is_none() -> None:
    ends = np.array([0.0]), np.array([1.0])
    assert np.isnan(minimise(lambda x: x, *ends)[0])
    assert np.isnan(minimise(lambda x: -x, *ends)[0])


@settings(max_examples=40, deadline=None)
@example(exponent=25.0, alpha=0.5, beta=0.25, replay=0.0, params=None, unique=1e9)  # beside an end
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
    way = Way("one", "cpt", known(law), replay=replay, params=params, repeats=of(unique))
    loss = float(way.loss(np.array(10**exponent)))
    assume(math.isfinite(loss))  # a best size lies within those considered
    flops = way.compute(loss)
    assert flops <= 10**exponent * (1 + 1e-9)  # where text is used up, less does as well
    assert float(way.loss(np.array(flops))) == pytest.approx(loss, rel=1e-9)


def test_a_loss_below_the_floor_takes_endless_compute() -> None:
    assert way_of(chinchilla()).compute(1.6) == math.inf
    assert way_of(chinchilla(), unique=1e6).compute(2.0) == math.inf


def test_replay_leaves_the_rest_to_the_target() -> None:
    plain, mixed = (Way("a", "cpt", known(chinchilla()), replay=r) for r in (0.0, 0.2))
    flops = np.array(1e21)
    assert mixed.loss(flops) == pytest.approx(plain.loss(0.8 * flops))
    N, D = mixed.sizes(flops)
    assert pytest.approx(plain.sizes(0.8 * flops)[0]) == N
    assert pytest.approx(1e21) == 6 * N * D


def test_repeats_are_worth_less_and_less() -> None:
    way = way_of(chinchilla(), unique=1e9)
    N = np.full(4, 1e7)  # no more than one epoch fills
    losses = way.loss_of(N, np.array([1e9, 4e9, 1e11, 1e14]))
    plain = chinchilla().loss(N, np.array([1e9, 4e9, 1e11, 1e14]))
    assert losses[0] == plain[0]  # one epoch
    assert losses[1] == pytest.approx(plain[1], rel=0.01)  # four are nearly as good
    ends = chinchilla().loss(1e7, 1e9 * (1 + 15.39))  # all repeats together, however many
    assert losses[3] == pytest.approx(float(ends), rel=1e-6)
    assert (np.diff(losses) < 0).all()


def test_the_constrained_optimum_is_that_of_the_published_form() -> None:
    way = way_of(chinchilla(), unique=2e9)
    law = Law("data-constrained", chinchilla().params | {"R_D": 15.39, "R_N": 5.31})
    N = float(way.sizes(np.array(1e21))[0])
    grid = np.geomspace(N / 10, N * 10, 20001)
    losses = law.loss(grid, 1e21 / 6 / grid, U=2e9)
    assert pytest.approx(grid[np.argmin(losses)], rel=1e-3) == N
    assert float(way.loss(np.array(1e21))) == pytest.approx(losses.min(), rel=1e-9)


def test_the_size_that_text_fills_is_the_optimum_of_that_many_tokens() -> None:
    for name in ("hoffmann2022", "zheng2024-scratch", "zheng2024-cpt"):
        law = preset(name)
        best = allocate(law)
        assert best is not None
        _, D = best.sizes(1e20)
        assert filled_by(law, D) == pytest.approx(best.sizes(1e20)[0], rel=1e-6)


def test_equal_laws_of_another_form_value_repeats_alike() -> None:
    same = Law("extended", chinchilla().params | {"gamma": 0.0})
    flops = np.geomspace(1e18, 1e22, 5)
    for unique in (1e8, 1e10):
        one, other = way_of(chinchilla(), unique=unique), way_of(same, unique=unique)
        assert one.loss(flops) == pytest.approx(other.loss(flops), rel=1e-9)
        assert one.sizes(flops)[0] == pytest.approx(other.sizes(flops)[0], rel=1e-6)


@pytest.mark.parametrize("base", [None, BaseCheckpoint("big", 8e9, 160e9)])
def test_text_that_is_not_read_again_changes_nothing_for_a_base(
    base: BaseCheckpoint | None,
) -> None:
    params = base.params if base else 8e9
    plenty = Way("a", "cpt", known(chinchilla()), base=base, params=params)
    limited = replace(plenty, repeats=of(1e9))
    flops = np.array(6 * 8e9 * 0.9e9)
    assert float(limited.loss(flops)) == pytest.approx(float(plenty.loss(flops)), rel=1e-12)
    assert float(limited.loss(100 * flops)) > float(plenty.loss(100 * flops))


def test_sizes_do_not_run_away_where_text_is_short() -> None:
    law = replace(chinchilla(), range={"N": (1e8, 2e9)})
    way = Way("a", "cpt", known(law), repeats=of(1e6))
    assert float(way.sizes(np.array(1e24))[0]) == pytest.approx(2e11)


RUNAWAY = Law(  # fitted on 5 to 80 tokens per parameter; its best size at 1e20 FLOPs is 13T
    "cpt",
    {"E": 1.4, "A": 30.0, "B": 90.0, "alpha": 0.2, "beta": 0.2, "gamma": 0.115},
    range={"N": (1e7, 2e8), "D": (5e7, 1.6e10), "D/N": (5.0, 80.0)},
)


@pytest.mark.parametrize("unique", [math.inf, 1e12, 1e9])
def test_a_best_size_stays_near_the_tokens_per_parameter_of_the_runs(unique: float) -> None:
    way = Way("a", "cpt", known(RUNAWAY), replay=0.2, repeats=of(unique))
    N, D = way.sizes(np.array([1e18, 1e20]))
    assert pytest.approx(0.5, rel=1e-3) == 0.8 * D / N
    assert pytest.approx([1e18, 1e20]) == 6 * N * D
    other = replace(RUNAWAY, params=RUNAWAY.params | {"A": 1e-3, "gamma": 0.0})
    N, D = Way("a", "cpt", known(other), repeats=of(unique)).sizes(np.array([1e16]))
    assert pytest.approx(800, rel=1e-3) == D / N


def test_draws_of_repeated_text_are_those_of_what_it_is_worth() -> None:
    point = chinchilla().params
    draws = {name: np.full(2, value) for name, value in point.items()}
    law = Law("chinchilla", point, draws=draws | {"B": np.array([500.0, 700.0])})
    way = Way("a", "cpt", known(law), params=1e8, repeats=of(1e9))  # the base fills its size
    flops = np.array(6 * 1e8 * 4e9)
    worth = 1e9 * (1 + 15.39 * (1 - math.exp(-3 / 15.39)))
    assert way.loss_draws(flops) == pytest.approx(law.predict(1e8, worth).draws[:, 0])


def test_several_laws_are_one_forecast_and_their_spread() -> None:
    first, second = chinchilla(), chinchilla(B=900)
    way = Way("a", "scratch", known(first, second), params=1e9)
    flops = np.geomspace(1e19, 1e21, 3)
    D = flops / 6e9
    product = first.loss(1e9, D) * second.loss(1e9, D)
    assert way.loss(flops) == pytest.approx(np.sqrt(product))
    draws = way.loss_draws(np.array(1e20))
    alone = [way_of(law, params=1e9).loss_draws(np.array(1e20)) for law in (first, second)]
    assert len(draws) == sum(map(len, alone))
    assert draws.std() > max(one.std() for one in alone)


def test_a_printed_law_is_not_exact() -> None:
    way = way_of(preset("hoffmann2022-full"))
    low, high = np.percentile(way.loss_draws(np.array(1e21)), (2.5, 97.5))
    point = float(way.loss(np.array(1e21)))
    assert 0.03 < high / point - 1 < 0.15
    assert 0.03 < 1 - low / point < 0.15


def test_text_ends_what_may_be_read() -> None:
    rule = Repeats(1e9, 15.39, 5.31, most=4.0)
    base = Way("a", "cpt", known(chinchilla()), params=1e9, replay=0.2, repeats=rule)
    assert base.most_flops() == pytest.approx(6 * 1e9 * 4e9 / 0.8)
    free = Way("a", "scratch", known(chinchilla()), repeats=rule)
    N, D = free.sizes(np.array(1e22))
    assert (pytest.approx(1e22 / 6 / 4e9), pytest.approx(4e9)) == (N, D)
    assert free.most_flops() == math.inf


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
    reached = np.isfinite(found)
    assert reached.mean() > 0.5 and len(np.unique(found)) > 100
    for i in np.flatnonzero(reached)[:20]:
        loss = law.predict(1e9, found[i] / 6e9).expected[i, 0]
        assert loss == pytest.approx(2.2, rel=2e-3)


def test_first_reached_and_draws_say_never() -> None:
    assert first_reached(lambda x: 1 - x, 2.0, 0.0, 1.0) == 0.0
    assert first_reached(lambda x: 1 - x, -1.0, 0.0, 1.0) == math.inf
    assert first_reached(lambda x: 1 - x, 0.3, 0.0, 1.0) == pytest.approx(0.7)
    grid = np.array([0.0, 1.0, 2.0])
    curves = np.array([[3.0, 2.0, 1.0], [3.0, 3.0, 3.0], [1.0, 0.5, 0.2]])
    found = reached_in_draws(curves, grid, np.full(3, 1.5))
    assert found.tolist() == [1.5, math.inf, 0.0]
