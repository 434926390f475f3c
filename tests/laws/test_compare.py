import json

import numpy as np
import pytest

from tests.golden import golden
from tests.laws.made import CHINCHILLA, CPT, grid, noise
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import FORMS, Law, compare
from tongues.laws.rows import hold_out_compute, read_rows

JOINT = {**CPT, "gamma": 0.1, "B": 600.0}
BASE = Law("chinchilla", CHINCHILLA)


def rows_of(params, spread=0.004, seed=0, runs=None):
    """Made rows of a law; N and D in a grid."""
    N, D = grid(7, 7)
    loss = Law("extended", {"gamma": 0.0} | params).loss(N, D) * noise(len(N), spread, seed)
    return read_rows(FORMS.find("chinchilla"), {"N": N, "D": D}, loss, runs, 5)


def compared(by_strategy, base=None, draws=0):
    columns = {
        name: {**rows.variables, "loss": rows.loss, "runs": [rows.runs[i] for i in rows.run]}
        for name, rows in by_strategy.items()
    }
    return compare(columns, base, draws=draws)


@pytest.fixture(scope="module")
def found():
    both = {"scratch": rows_of(CHINCHILLA), "cpt": rows_of(JOINT, seed=1)}
    return compared(both, BASE, draws=30)


def entry(found, strategy, law):
    (one,) = [e for e in found.entries if (e.strategy, e.law) == (strategy, law)]
    return one


def test_every_law_is_fitted_to_every_strategy(found):
    pairs = [(entry.strategy, entry.law) for entry in found.entries]
    of_scratch = {"chinchilla", "extended"}  # `cpt` needs a base of other runs
    assert set(pairs) == {("scratch", name) for name in of_scratch} | {
        ("cpt", name) for name in of_scratch | {"cpt"}
    }
    assert {(e.n_rows, e.n_runs) for e in found.entries} == {(49, 49)}


def test_a_joint_term_wins_where_there_is_one(found):
    joint = [entry(found, "cpt", name) for name in ("cpt", "extended")]
    plain = entry(found, "cpt", "chinchilla")
    assert plain.error > max(e.error for e in joint)
    for one in joint:
        value, low, high = one.gamma
        assert 0 < low < value < high
        assert value == pytest.approx(0.1, abs=0.005)
    golden("fit/laws compared", "\n".join(found.sentences))


def test_chinchilla_is_not_beaten_where_it_is_true(found):
    _, low, high = entry(found, "scratch", "extended").gamma
    assert low < 0 < high


def test_errors_are_those_of_fits_without_the_largest_runs(found):
    rows = rows_of(CHINCHILLA)
    compute = rows.variables["N"] * rows.variables["D"]
    N, D, loss = rows.variables["N"], rows.variables["D"], rows.loss
    one = entry(found, "scratch", "chinchilla")
    whole = laws.fit("chinchilla", loss, N=N, D=D, draws=0)
    assert one.mean_huber == pytest.approx(whole.mean_huber, rel=1e-9)
    held = hold_out_compute(rows, 3)
    assert held is not None and compute[held].min() > compute[~held].max()
    law = laws.fit("chinchilla", loss[~held], N=N[~held], D=D[~held], draws=0)
    off = np.abs(law.loss(N[held], D[held]) / loss[held] - 1)
    assert one.error == pytest.approx(off.mean(), rel=1e-6)


def test_gamma_of_fewer_runs_than_unknowns_is_not_known():
    rows = rows_of(JOINT, runs=np.arange(49) % 5)
    found = compared({"cpt": rows}, draws=20)
    assert entry(found, "cpt", "extended").doubt == "5 runs for 6 unknowns"
    assert entry(found, "cpt", "extended").error is None
    golden("fit/laws compared on too few runs", "\n".join(found.sentences))


def test_it_goes_into_json(found):
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["sentences"] == list(found.sentences)
    assert len(data["compare"]) == 5
    assert data["compare"][0]["law"] == "chinchilla"
    assert data["compare"][0]["gamma"] is None


def test_nothing_to_compare_is_refused_and_too_little_is_told():
    one, two = (rows_of(CHINCHILLA, runs=np.arange(49) % count) for count in (1, 2))
    for rows in ({}, {"scratch": one}, {"scratch": two}):  # no run may be left out
        with pytest.raises(UserError, match="no law can be compared"):
            compared(rows)
    with pytest.raises(UserError, match="2 rows are too few"):
        compared({"scratch": rows_of(CHINCHILLA).take(np.array([0, 8]))})
    found = compared({"scratch": rows_of(CHINCHILLA), "cpt": two})
    assert "cpt: too few runs to compare laws on" in found.sentences
