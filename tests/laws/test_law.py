import json

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import Law, fit_scratch

CHINCHILLA = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}


@pytest.fixture(scope="module")
def fitted():
    N, D = (a.ravel() for a in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e8, 1e11, 6)))
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(30))
    return fit_scratch(N, D, Law("scratch", CHINCHILLA).loss(N, D) * noise, draws=60)


def test_json_holds_everything_at_full_precision(fitted):
    data = fitted.to_json()
    assert {
        *("law", "n_rows", "n_runs", "params", "objective", "mean_huber", "gradient_norm"),
        *("interval", "allocation", "warnings", "range", "delta"),
    } <= data.keys()
    back = Law.from_json(json.loads(json.dumps(data)))
    assert back.to_json() == data
    assert back.params == fitted.params
    assert data["mean_huber"] == pytest.approx(data["objective"] / 30)


def test_a_law_from_print_goes_through_json_without_the_figures_of_a_fit():
    data = json.loads(json.dumps(Law("scratch", CHINCHILLA).to_json(), allow_nan=False))
    assert data["objective"] is None
    assert Law.from_json(data).to_json() == data


def test_the_interval_of_the_loss_holds_the_loss_and_widens_beyond_the_runs(fitted):
    N, D = np.array([1e8, 1e13]), np.array([1e10, 1e15])
    low, high = fitted.loss_interval(N, D)
    assert low.shape == (2,)
    assert (low <= fitted.loss(N, D)).all()
    assert (fitted.loss(N, D) <= high).all()
    assert high[1] - low[1] > high[0] - low[0]
    assert np.shape(fitted.loss_interval(1e8, 1e10)[0]) == ()


def test_what_is_no_law_is_refused():
    with pytest.raises(UserError, match="no law `scrach`") as caught:
        Law("scrach", CHINCHILLA)
    assert caught.value.hint == "did you mean `scratch`?"
    with pytest.raises(UserError, match="E A B alpha beta gamma"):
        Law("cpt", CHINCHILLA)
    with pytest.raises(UserError, match="no draws"):
        Law("scratch", CHINCHILLA).loss_interval(1e9, 1e10)
