import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.made import Columns
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import Law, preset
from tongues.laws.rows import records

SCRATCH = preset("zheng2024-scratch-compute")


def runs_above(power, spread, seed=0) -> Columns:
    """Twelve runs, each of which touches the power law once, in its middle."""
    middle = np.repeat(np.geomspace(1e17, 1e22, 12), 7)
    C = middle * np.tile(np.geomspace(0.1, 10, 7), 12)
    error = np.random.default_rng(seed).standard_normal(len(C))
    loss = power.loss(C=C) * np.exp(0.05 * np.log10(C / middle) ** 2 + spread * error)
    return {"C": C, "loss": loss, "runs": np.repeat(np.arange(12), 7)}


def envelope(C, loss):
    """The points no cheaper point beats, in order of compute."""
    order = np.lexsort((loss, C))
    return order[records(loss[order])]


@given(
    st.lists(
        st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda pair: (*pair,)), min_size=1
    )
)
def test_the_envelope_falls_and_leaves_nothing_below_it(points):
    C, loss = np.array(points, float).T
    kept = envelope(C, loss)
    assert (np.diff(C[kept]) > 0).all() and (np.diff(loss[kept]) < 0).all()
    for compute, value in points:
        assert (loss[kept][C[kept] <= compute] <= value).any()


@settings(deadline=None, max_examples=20)
@given(st.floats(0.05, 1.0), st.just(0.0) | st.floats(0.3, 3), st.floats(0.2, 3))
def test_noise_free_power_laws_are_recovered(gamma, E, share):
    C, form = np.geomspace(1e17, 1e22, 12), "power-floor" if E else "power"
    truth = {"E": E, "A": share * 3e19**gamma, "gamma": gamma}
    law = laws.fit(form, Law(form, truth).loss(C=C), C=C, draws=0)
    assert law.params == pytest.approx(truth, rel=1e-5)
    assert law.n_rows == 12


def test_what_lies_above_the_envelope_does_not_matter():
    rows = runs_above(SCRATCH, spread=0.001)
    fitted = laws.fit("power", **rows, draws=0)
    kept = envelope(rows["C"], rows["loss"])
    assert fitted.n_rows == len(kept) < len(rows["C"])
    alone = laws.fit("power", rows["loss"][kept], C=rows["C"][kept], draws=0)
    assert alone.params == pytest.approx(fitted.params, rel=1e-9)
    C, loss = np.append(rows["C"], 1e20), np.append(rows["loss"], 9.0)
    more = laws.fit("power", loss, C=C, draws=0)
    assert more.params == pytest.approx(fitted.params, rel=1e-12)


@pytest.mark.parametrize("form", ["power", "power-floor"])
def test_a_known_power_law_is_found_below_its_runs(form):
    truth = SCRATCH
    if form == "power-floor":
        truth = Law(form, {"E": 1.5, "A": 100.0, "gamma": 0.1})
    fitted = laws.fit(form, **runs_above(truth, spread=0.001), draws=60)
    assert fitted.n_runs == 12
    C = [1e18, 1e21]
    low, high = fitted.loss_interval(C=C)
    assert (low < fitted.loss(C=C)).all()
    assert (fitted.loss(C=C) < high).all()
    np.testing.assert_allclose(fitted.loss(C=C), truth.loss(C=C), rtol=0.01)
    assert fitted.interval["gamma"][0] < truth.params["gamma"] * 1.1
    assert fitted.interval["gamma"][1] > truth.params["gamma"] * 0.9
    assert ("E" in fitted.interval) == (form == "power-floor")


def test_a_given_floor_has_no_interval_and_must_lie_below_the_runs():
    rows = runs_above(SCRATCH, spread=0.001)
    fitted = laws.fit("power", **rows, fix={"E": 0.5}, draws=30)
    assert fitted.params["E"] == 0.5
    assert fitted.interval.keys() == {"A", "gamma"}
    with pytest.raises(UserError, match="rows have a loss at or below it") as caught:
        laws.fit("power", **rows, fix={"E": float(rows["loss"].min())})
    assert caught.value.code == "below_floor"


def test_an_envelope_of_one_point_is_refused():
    with pytest.raises(UserError, match="only 1 points are on the envelope"):
        laws.fit("power", [2.0, 2.0, 2.5], C=[1.0, 2.0, 3.0])
