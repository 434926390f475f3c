import json

import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, CPT, grid, noise
from tongues import laws
from tongues.errors import UserError
from tongues.laws import FORMS, Law, compare
from tongues.laws.compare import compare_rows
from tongues.laws.fit import FitRequest
from tongues.laws.rows import read_rows

JOINT = {**CPT, "gamma": 0.1, "B": 600.0}
BASE = Law("chinchilla", CHINCHILLA)
REQUEST = FitRequest(draws=60)


def rows_of(params, spread=0.004, seed=0, runs=None):
    """Made rows of a law; N and D in a grid."""
    N, D = grid(7, 7)
    loss = Law("extended", {"gamma": 0.0} | params).loss(N, D) * noise(len(N), spread, seed)
    return read_rows(FORMS.find("chinchilla"), {"N": N, "D": D}, loss, runs, 5)


@pytest.fixture(scope="module")
def found():
    return compare_rows(
        {"scratch": rows_of(CHINCHILLA), "cpt": rows_of(JOINT, seed=1)}, REQUEST, BASE
    )


def entry(found, strategy, law):
    (one,) = [e for e in found.entries if (e.strategy, e.law) == (strategy, law)]
    return one


def test_every_law_is_fitted_to_every_strategy(found):
    pairs = [(entry.strategy, entry.law) for entry in found.entries]
    of_scratch = ["chinchilla", "extended", "kaplan"]  # the joint law needs a base of other runs
    of_cpt = ["chinchilla", "extended", "cpt", "kaplan"]
    assert pairs == [("scratch", n) for n in of_scratch] + [("cpt", n) for n in of_cpt]
    assert {(e.n_rows, e.n_runs) for e in found.entries} == {(49, 49)}


def test_a_joint_term_wins_where_there_is_one(found):
    best = [e.law for e in found.entries if e.strategy == "cpt" and e.best]
    assert best in (["cpt"], ["extended"])
    for name in ("chinchilla", "kaplan"):
        value, low, high = entry(found, "cpt", name).beyond
        assert 0 < low < value < high
    for name in ("cpt", "extended"):
        value, low, high = entry(found, "cpt", name).gamma
        assert 0 < low < value < high
        assert value == pytest.approx(0.1, abs=0.005)
        assert f"cpt, {name}: gamma {value:.3f}" in "\n".join(found.sentences)
    assert any("differs from 0" in line for line in found.sentences if line.startswith("cpt, cpt"))


def test_chinchilla_is_not_beaten_where_it_is_true(found):
    plain = entry(found, "scratch", "chinchilla")
    assert plain.best or plain.beyond[1] <= 0
    _, low, high = entry(found, "scratch", "extended").gamma
    assert low < 0 < high
    (line,) = [line for line in found.sentences if line.startswith("scratch, extended")]
    assert line.endswith("no significant difference from 0")
    (said,) = [line for line in found.sentences if line.startswith("scratch: ")]
    beaten = said.partition("better than")[2].partition(";")[0]
    assert "kaplan" in beaten and "chinchilla" not in beaten


def test_errors_are_those_of_the_fits(found):
    N, D = grid(7, 7)
    rows = rows_of(CHINCHILLA)
    law = laws.fit("chinchilla", rows.loss, N=N, D=D, draws=0)
    one = entry(found, "scratch", "chinchilla")
    assert one.mean_huber == pytest.approx(law.mean_huber, rel=1e-9)
    for e in found.entries:
        if e.law != "kaplan":
            assert e.mean_huber < e.validated < 1.5 * e.mean_huber


def test_each_run_is_predicted_by_a_fit_that_has_not_seen_it():
    rows = rows_of(CHINCHILLA, runs=np.arange(49) % 5)  # five runs: each is a fold of its own
    found = compare_rows({"scratch": rows}, FitRequest(draws=5))
    total = 0.0
    for run in range(5):
        out = rows.run == run
        N, D = rows.variables["N"], rows.variables["D"]
        law = laws.fit("chinchilla", rows.loss[~out], N=N[~out], D=D[~out], draws=0)
        off = np.abs(np.log(law.loss(N, D) / rows.loss))[out]
        total += np.where(off < 1e-3, off**2 / 2, 1e-3 * (off - 5e-4)).sum()
    assert entry(found, "scratch", "chinchilla").validated == pytest.approx(total / 49, rel=1e-6)


def test_gamma_of_fewer_runs_than_unknowns_is_not_told():
    rows = rows_of(JOINT, runs=np.arange(49) % 5)
    found = compare_rows({"cpt": rows}, FitRequest(draws=20), forms=("extended",))
    assert entry(found, "cpt", "extended").doubt == "5 runs for 6 unknowns"
    assert found.sentences[-1].endswith("inconclusive: 5 runs for 6 unknowns")


def test_the_best_is_compared_with_itself_at_nothing(found):
    for strategy in ("scratch", "cpt"):
        own = [e for e in found.entries if e.strategy == strategy]
        (best,) = [e for e in own if e.best]
        assert best.beyond == (0.0, 0.0, 0.0)
        assert best.validated == min(e.validated for e in own)
        for e in own:
            assert e.beyond[0] == pytest.approx(e.validated - best.validated, abs=1e-15)


def test_without_a_base_the_joint_law_is_left_out():
    found = compare_rows({"cpt": rows_of(JOINT)}, FitRequest(draws=5))
    assert [e.law for e in found.entries] == ["chinchilla", "extended", "kaplan"]


def test_it_goes_into_json(found):
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["sentences"] == list(found.sentences)
    assert len(data["compare"]) == 7
    assert data["compare"][0]["law"] == "chinchilla"
    assert data["compare"][0]["gamma"] is None


def test_nothing_to_compare_is_refused_and_too_little_is_told():
    with pytest.raises(UserError, match="no law can be compared"):
        compare_rows({}, REQUEST)
    few = rows_of(CHINCHILLA).take(np.array([0, 8]))
    with pytest.raises(UserError, match="no law can be compared"):
        compare_rows({"scratch": few}, REQUEST)
    found = compare_rows({"scratch": rows_of(CHINCHILLA), "cpt": few}, FitRequest(draws=5))
    assert "cpt: too few runs to compare laws on" in found.sentences


@pytest.mark.parametrize("count", [1, 2])
def test_a_single_run_cannot_be_left_out_of_its_own_fit(count):
    one = rows_of(CHINCHILLA, runs=np.arange(49) % count)
    with pytest.raises(UserError, match="no law can be compared"):
        compare_rows({"scratch": one}, FitRequest(draws=0))


def test_columns_give_what_checked_rows_give():
    rows = rows_of(CHINCHILLA)
    columns = {**rows.variables, "loss": rows.loss, "runs": [rows.runs[i] for i in rows.run]}
    found = compare({"scratch": columns}, draws=5)
    assert found.to_json() == compare_rows({"scratch": rows}, FitRequest(draws=5)).to_json()
