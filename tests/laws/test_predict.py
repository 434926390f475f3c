import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.made import CHINCHILLA, CPT, Columns, needs_runs, noise, published, rows_of
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import FORMS, Law, predict
from tongues.laws.rows import Rows

TRUTH = Law("chinchilla", CHINCHILLA)


def fitted(spread=0.01, seed=0):
    return laws.fit("chinchilla", draws=0, **rows_of(CHINCHILLA, spread, seed))


def half_width(prediction):
    return (prediction.high - prediction.low) / 2 / prediction.point


def test_intervals_hold_new_runs_as_often_as_they_promise():
    N, D = np.geomspace(2e8, 3e10, 6), np.geomspace(1e9, 2e12, 6)
    inside = []
    for seed in range(12):
        prediction = fitted(seed=seed).predict(N, D)
        runs = TRUTH.loss(N, D) * noise(len(N), 0.01, 100 + seed)
        inside += ((prediction.low < runs) & (runs < prediction.high)).tolist()
    assert np.mean(inside) > 0.9


def test_an_interval_widens_with_distance_and_with_noise():
    near, far = fitted().predict(1e9, 1e11), fitted().predict(1e12, 1e14)
    assert half_width(far) > 1.5 * half_width(near)
    assert half_width(fitted(spread=0.04).predict(1e9, 1e11)) > 2.5 * half_width(near)
    assert half_width(near) == pytest.approx(1.96 * 0.01, rel=0.4)


def test_a_run_scatters_about_what_is_expected():
    prediction = fitted(spread=0.02).predict(1e9, 1e11)
    assert prediction.expected.std() < 0.5 * prediction.draws.std()
    assert np.median(prediction.expected) == pytest.approx(float(TRUTH.loss(1e9, 1e11)), rel=0.01)


def test_draws_are_whole_laws_the_same_wherever_they_are_asked():
    predictor = fitted().predictor(draws=200)
    both = predictor(np.array([1e10, 4e10]), np.array([1e12, 4e12]))
    np.testing.assert_allclose(both.expected[:, [1]], predictor(4e10, 4e12).expected)
    one, other = both.expected.T
    assert np.corrcoef(one, other)[0, 1] > 0.8
    assert both.draws.shape == (200, 2)
    assert [estimate.high for estimate in both.estimates] == both.high.tolist()


def test_runs_that_bend_from_their_law_widen_the_interval_and_are_followed():
    rows = rows_of(CHINCHILLA, 0.002)
    decades = np.log10(rows["N"] * rows["D"] / 1e17)
    bent = rows | {"loss": rows["loss"] * np.exp(-0.02 * np.maximum(decades, 0.0) ** 2)}
    straight, followed = (
        laws.fit("chinchilla", draws=0, **one).predict(2e10, 3e12) for one in (rows, bent)
    )
    assert half_width(followed) > 1.5 * half_width(straight)


def test_a_stray_run_does_not_move_the_rest():
    rows = rows_of(CHINCHILLA, 0.005)
    loss = rows["loss"].copy()
    loss[20] *= 1.5
    clean, stray = (
        laws.fit("chinchilla", draws=0, **rows | {"loss": one}).predict(3e10, 3e12)
        for one in (rows["loss"], loss)
    )
    assert stray.point == pytest.approx(clean.point, rel=0.01)
    assert half_width(stray) < 1.5 * half_width(clean)


def test_checkpoints_of_one_run_count_for_one():
    rows = rows_of(CHINCHILLA, 0.01)
    several: Columns = {name: np.repeat(values, 10) for name, values in rows.items()}
    runs = np.repeat(np.arange(len(rows["loss"])), 10)
    once = laws.fit("chinchilla", draws=0, **rows).predict(3e10, 3e12)
    often = laws.fit("chinchilla", draws=0, runs=runs, **several)
    assert half_width(often.predict(3e10, 3e12)) == pytest.approx(half_width(once), rel=0.25)


def test_a_base_that_is_unsure_widens_what_stands_on_it():
    own = rows_of(CPT, 0.005, seed=1)
    few = rows_of(CHINCHILLA, 0.05, sizes=4, lengths=4)
    many = rows_of(CHINCHILLA, 0.005, sizes=8)
    widths = []
    for base_rows in (few, many):
        base = laws.fit("chinchilla", draws=200, **base_rows)
        cpt = laws.fit("cpt", base=base, draws=50, **own)
        widths.append(half_width(cpt.predict(1e12, 1e12)).item())
    assert widths[0] > widths[1]


def test_it_is_kept_in_the_file_of_a_law():
    law = fitted()
    again = Law.from_json(json.loads(json.dumps(law.to_json())))
    np.testing.assert_array_equal(again.predict(3e10, 3e12).draws, law.predict(3e10, 3e12).draws)


def test_a_law_from_print_has_the_usual_error_beyond_its_range():
    law = laws.preset("hoffmann2022-full")
    within, beyond = law.predict(1e9, 2e10), law.predict(1e12, 2e13)
    assert within.point == pytest.approx(float(law.loss(1e9, 2e10)), rel=0.01)
    assert 0.002 < half_width(within) < 0.05
    assert half_width(beyond) > 3 * half_width(within)


def test_what_it_needs_is_named():
    with pytest.raises(UserError, match="needs D"):
        fitted().predict(1e9)


def numeric(rows: Rows, tokens: float, grid: np.ndarray) -> tuple[float, float]:
    """Mean and deviation of log loss there, without scatter, by summing over A and beta."""
    log_d, y = np.log(rows.variables["D"]), np.log(rows.loss)
    prior = laws.FORMS.find("line").spread
    walk = predict.Walks(float(np.log10(6 * rows.variables["D"].min())), size=2.0)
    phi = walk.features(rows.variables)
    there = walk.features({"D": np.array([tokens])})[0]
    a, b = (x.ravel() for x in np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-4, 4, 161)))
    beta = np.exp(prior["beta"][0] + prior["beta"][1] * b)
    level = prior["A"][0] + prior["A"][1] * a + y.mean()
    law = level[:, None] - beta[:, None] * (log_d - log_d.mean())
    end = level - beta * (np.log(tokens) - log_d.mean())
    weights, means, variances = [], [], []
    for drift, scatter in grid:
        kernel = drift**2 * phi @ phi.T + scatter**2 * np.eye(len(y))
        cross, off = drift**2 * phi @ there, np.linalg.solve(kernel, (y - law).T)
        log = -0.5 * (((y - law).T * off).sum(0) + np.linalg.slogdet(kernel)[1] + a**2 + b**2)
        for size, (middle, wide) in ((drift, predict.DRIFT), (scatter, predict.SCATTER)):
            log -= 0.5 * ((np.log(size) - middle) / wide) ** 2
        weights.append(log)
        means.append(end + cross @ off)
        left = drift**2 * there @ there - cross @ np.linalg.solve(kernel, cross)
        variances.append(np.full(len(a), left))
    weight = np.exp(np.concatenate(weights) - np.max(weights))
    weight, mean = weight / weight.sum(), np.concatenate(means)
    middle = float(weight @ mean)
    return middle, float(weight @ (np.concatenate(variances) + (mean - middle) ** 2)) ** 0.5


@pytest.mark.parametrize("count", [1, 4])
def test_draws_are_of_the_posterior_that_sums_give(count, monkeypatch):
    grid = predict.GRID[[14, 15, 20, 21]][:count]
    monkeypatch.setattr(predict, "GRID", grid)
    D = np.geomspace(1e6, 3e7, 9)
    law = laws.fit("line", 5.0 * D**-0.07 * noise(9, 0.004), D=D, draws=0)
    assert law.rows
    for tokens in (3e6, 3e8):
        logs = np.log(law.predictor(20_000)(D=tokens).expected[:, 0])
        middle, wide = numeric(law.rows, tokens, grid)
        assert logs.mean() == pytest.approx(middle, abs=0.05 * wide)
        assert logs.std() == pytest.approx(wide, rel=0.05)


@settings(max_examples=15, deadline=None)
@given(st.floats(-2, 2), st.floats(-6, 6), st.floats(-6, 6), st.integers(0, 100))
def test_units_and_order_do_not_matter(loss, sizes, tokens, seed):
    rows = rows_of(CHINCHILLA, 0.005, seed)
    order = np.random.default_rng(seed).permutation(len(rows["loss"]))
    factors = {"loss": np.exp(loss), "N": np.exp(sizes), "D": np.exp(tokens)}
    plain = laws.fit("chinchilla", draws=0, **rows)
    other = laws.fit("chinchilla", draws=0, **{n: (v * factors[n])[order] for n, v in rows.items()})
    one, two = plain.predict(1e10, 1e12), other.predict(1e10 * factors["N"], 1e12 * factors["D"])
    logs, others = np.log(one.expected), np.log(two.expected) - loss
    assert others.mean() == pytest.approx(logs.mean(), abs=0.1 * logs.std())
    assert others.std() == pytest.approx(logs.std(), rel=0.1)


def test_a_parameter_held_at_a_value_stays_there():
    rows = rows_of(CHINCHILLA, 0.005)
    free, held = (laws.fit("chinchilla", draws=0, fix=fix, **rows) for fix in ({}, {"E": 1.0}))
    names = held.predictor().chart.names
    assert "E" not in names and held.predictor().chart.known["E"] == 1.0
    assert "E" in free.predictor().chart.names


@pytest.mark.parametrize("form", FORMS.names())
def test_every_form_of_print_is_predicted(form):
    params = dict.fromkeys(FORMS.find(form).names, 0.3) | {"F": 1.0, "D_0": 1e6}
    law = Law(form, {name: params[name] for name in FORMS.find(form).names})
    at = {"N": 1e8, "D": 1e9, "C": 1e18, "U": 1e8, "r": 0.1, "S": 3.0, "h": 0.5, "k": 4.0}
    of = law.predict(**{name: at[name] for name in law.equation.variables})
    assert of.low < of.point < of.high


@needs_runs
@pytest.mark.parametrize("name", ["epoch240", "gadre_c4", "muennighoff"])
def test_the_last_decade_of_published_runs_is_inside(name):
    N, D, loss = published(name)
    C = 6 * N * D
    small = C.max() > 10 * C
    law = laws.fit("chinchilla", loss[small], N=N[small], D=D[small], draws=0)
    prediction = law.predict(N[~small], D[~small])
    inside = (prediction.low < loss[~small]) & (loss[~small] < prediction.high)
    assert inside.mean() > 0.9
    assert np.median(half_width(prediction)) < 0.12
