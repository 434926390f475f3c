import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, Columns, needs_runs, noise, published, rows_of
from tongues import laws
from tongues.laws import Law
from tongues.laws.forms import FORMS
from tongues.laws.predict import hold_out_compute, leading, weigh_forms
from tongues.laws.rows import read_rows

BOUND = Law("skaling", {**CHINCHILLA, "kappa": 0.35})


def rows_from(law, count=60, spread=0.001, seed=0):
    random = np.random.default_rng(seed)
    N = np.exp(random.uniform(np.log(2e7), np.log(1e10), count))
    D = np.exp(random.uniform(np.log(3e8), np.log(3e11), count))
    loss = law.loss(N, D) * noise(count, spread, seed)
    return read_rows(FORMS.find("chinchilla"), {"N": N, "D": D}, loss, None, 5)


def test_the_runs_of_most_compute_are_held_out():
    rows = rows_from(BOUND)
    held = hold_out_compute(rows)
    assert held is not None
    compute = rows.variables["N"] * rows.variables["D"]
    assert compute[held].min() > compute[~held].max()
    assert 1 <= held.sum() <= 0.2 * len(held)


def test_weights_sum_to_one_and_go_to_the_form_that_extrapolates():
    weights = weigh_forms(rows_from(BOUND))
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["skaling"] > weights.get("chinchilla", 0.0)
    assert list(weights.values()) == sorted(weights.values(), reverse=True)


def test_of_too_few_runs_the_simple_forms_count_alike():
    weights = weigh_forms(rows_from(BOUND, count=8))
    assert weights == {"chinchilla": 0.5, "extended": 0.5}


def test_the_simplest_of_nearly_equals_leads():
    assert leading({"skaling": 0.5, "chinchilla": 0.3, "extended": 0.2}) == "chinchilla"
    assert leading({"extended": 0.6, "chinchilla": 0.25, "skaling": 0.15}) == "extended"
    assert leading({"farseer": 1.0}) == "chinchilla"


def test_a_stack_predicts_by_all_of_its_forms():
    rows = rows_of(CHINCHILLA, 0.003)
    law = laws.fit_stack(draws=0, **rows)
    assert law.form == leading(law.stack)
    predictor = law.predictor(draws=400)
    assert {form.name for form, _ in predictor.parts} <= set(law.stack)
    assert predictor(3e10, 3e12).draws.shape == (400, 1)
    alone = laws.fit("chinchilla", draws=0, **rows).predict(1e9, 1e11)
    assert predictor(1e9, 1e11).point == pytest.approx(alone.point, rel=0.01)


def test_one_form_is_forced_by_its_name():
    assert laws.fit("chinchilla", draws=0, **rows_of(CHINCHILLA)).stack == {}


@needs_runs
@pytest.mark.parametrize("name", ["epoch240", "muennighoff"])
def test_published_runs_are_predicted_better_than_by_chinchilla(name):
    N, D, loss = published(name)
    far = 6 * (N * D).max() <= 60 * N * D
    small: Columns = {"N": N[~far], "D": D[~far]}
    law = laws.fit_stack(loss[~far], draws=0, **small)
    point = laws.fit("chinchilla", loss[~far], draws=0, **small).loss(N[far], D[far])
    predicted = law.predict(N[far], D[far])
    assert np.median(np.abs(predicted.point / loss[far] - 1)) < np.median(
        np.abs(point / loss[far] - 1)
    )
    assert np.mean((predicted.low < loss[far]) & (loss[far] < predicted.high)) > 0.9
