import json

import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, CPT, Columns, needs_runs, noise, published, rows_of
from tongues import laws
from tongues.errors import UserError
from tongues.laws import Law
from tongues.laws.predict.sampler import sample

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


def test_draws_do_not_depend_on_the_signs_of_eigenvectors(monkeypatch):
    law, eigh = fitted(), np.linalg.eigh  # the signs differ between processors
    usual = law.predictor(300)(1e11, 1e12)

    def turned(matrix):
        values, axes = eigh(matrix)
        return values, axes * np.where(np.arange(len(values)) % 2, -1.0, 1.0)

    monkeypatch.setattr(np.linalg, "eigh", turned)
    again = law.predictor(300)(1e11, 1e12)
    np.testing.assert_allclose(usual.draws, again.draws, rtol=1e-9)


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


def test_walkers_reach_the_long_tails_of_a_posterior():
    shape, axes = 0.5, 6  # logarithms of Gamma(1/2): mean -1.9635, deviation pi / sqrt(2)
    mode = np.full(axes, np.log(shape))
    drawn = sample(
        lambda x: (shape * x - np.exp(x)).sum(-1),
        mode,
        8.0 / shape * np.eye(axes),
        400,
        np.random.default_rng(0),
    )
    np.testing.assert_allclose(drawn.mean(), -1.9635, atol=0.2)
    np.testing.assert_allclose(drawn.std(), np.pi / np.sqrt(2), rtol=0.08)


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
