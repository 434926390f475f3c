import json

import numpy as np
import pytest

from tests.golden import inputs
from tests.laws.made import CHINCHILLA, CPT, grid, noise, rows_of
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import Law


@pytest.fixture(scope="module")
def fitted():
    return laws.fit("chinchilla", **rows_of(CHINCHILLA, sizes=5, lengths=6), draws=60)


def test_json_holds_everything_at_full_precision(fitted):
    data = fitted.to_json()
    assert {
        *("law", "n_rows", "n_runs", "params", "mean_huber"),
        *("interval", "allocation", "holdout", "warnings", "range"),
    } <= data.keys()
    assert data["holdout"] and data["allocation"]
    back = Law.from_json(json.loads(json.dumps(data, allow_nan=False)))
    assert back.to_json() == data
    assert back.params == fitted.params
    assert back.holdout == fitted.holdout
    assert data["allocation"].keys() == {"a", "b", "N_coef", "D_coef", "interval"}


def test_every_form_goes_through_json():
    N, D = grid(5, 6)
    base = laws.fit("chinchilla", **rows_of(CHINCHILLA, sizes=5, lengths=6), draws=10)
    loss = Law("extended", CPT).loss(N, D) * noise(30, 0.01)
    C, U = 6 * N * D, D / 2
    axes = np.meshgrid(np.geomspace(1e7, 1e11, 6), [0, 0.02, 0.1, 0.5], [2.2, 2.9])
    tokens, share, start = (axis.ravel() for axis in axes)
    params = {"F": 1e8, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e10, "beta": 0.095}
    source = Law("forgetting", params).loss(D=tokens, r=share, S=start) * noise(48, 0.01)
    found = [
        laws.fit("cpt", loss, N=N, D=D, base=base, draws=5),
        laws.fit("extended", loss, N=N, D=D, draws=5, fix={"E": 1.5}),
        laws.fit("line", loss, D=D, draws=2),
        laws.fit("data-constrained", loss, N=N, D=D, U=U, base=base, draws=3),
        laws.fit("forgetting", source, D=tokens, r=share, S=start, draws=0),
        laws.fit("power", loss, C=C, draws=5),
    ]
    found += [Law(form.name, dict.fromkeys(form.names, 0.5)) for form in laws.FORMS]
    found += map(laws.preset, laws.PRESETS)
    for law in found:
        data = law.to_json()
        assert Law.from_json(json.loads(json.dumps(data, allow_nan=False))).to_json() == data


def test_what_is_fixed_is_told():
    law = laws.fit("extended", **rows_of(CPT), fix={"E": 1.5}, draws=20)
    data = law.to_json()
    assert data["fixed"] == {"E": 1.5}
    assert law.interval.keys() == {"A", "B", "alpha", "beta", "gamma"}


def test_losses_broadcast_and_variables_go_by_name():
    law = Law("chinchilla", CHINCHILLA)
    N, D = np.array([1e8, 1e9]), np.array([[1e9], [1e10], [1e11]])
    assert law.loss(N, D).shape == (3, 2)
    np.testing.assert_array_equal(law.loss(N=N, D=D), law.loss(N, D))
    power = Law("power", {"E": 0.0, "A": 30.0, "gamma": 0.05})
    assert power.loss(C=1e20) == pytest.approx(3.0)
    assert np.shape(law.loss(1e8, 1e9)) == ()
    with pytest.raises(UserError, match="the power law needs C"):
        power.loss(1e8, 1e9)
    with pytest.raises(UserError, match="the chinchilla law needs D"):
        law.loss(1e8)
    with pytest.raises(UserError, match="the forgetting law needs D and r"):
        Law(
            "forgetting", {"F": 1e8, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e10, "beta": 0.095}
        ).loss(S=2.0)


def test_each_draw_has_its_own_loss(fitted):
    N, D = np.array([1e8, 1e9]), np.array([[1e10], [1e11], [1e12]])
    each = (
        Law("chinchilla", {name: float(v[i]) for name, v in fitted.draws.items()})
        for i in range(60)
    )
    losses = np.stack([one.loss(N, D) for one in each])
    low, high = fitted.loss_interval(N, D)
    np.testing.assert_allclose(low, np.percentile(losses, 2.5, axis=0))
    np.testing.assert_allclose(high, np.percentile(losses, 97.5, axis=0))
    N, D = np.array([1e8, 1e13]), np.array([1e10, 1e15])  # the second is beyond the runs
    low, high = fitted.loss_interval(N, D)
    assert low.shape == (2,)
    assert (low <= fitted.loss(N, D)).all()
    assert (fitted.loss(N, D) <= high).all()
    assert high[1] - low[1] > high[0] - low[0]
    assert np.shape(fitted.loss_interval(1e8, 1e10)[0]) == ()


def test_what_is_no_law_is_refused():
    with pytest.raises(UserError, match="E A B alpha beta gamma"):
        Law("cpt", CHINCHILLA)
    with pytest.raises(UserError, match="no draws") as caught:
        Law("chinchilla", CHINCHILLA).loss_interval(1e9, 1e10)
    assert caught.value.code == "no_intervals"


@pytest.mark.parametrize(
    ("change", "where"), inputs("rows")["test_a_file_that_is_not_whole_says_where"]
)
def test_a_file_that_is_not_whole_says_where(fitted, change, where):
    with pytest.raises(UserError, match=f"its chinchilla law is not whole .{where}"):
        Law.from_json(fitted.to_json() | change)
    missing = {name: value for name, value in fitted.to_json().items() if name != "range"}
    with pytest.raises(UserError, match="range: is missing"):
        Law.from_json(missing)
