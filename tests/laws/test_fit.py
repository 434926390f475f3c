import math

import numpy as np
import pytest

from tests.laws.made import (
    SMALL,
    SMALL_CPT,
    Columns,
    codes,
    grid,
    needs_runs,
    noise,
    objective,
    read,
    small_runs,
)
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import Law, allocate

BASE = Law("chinchilla", SMALL)


def test_a_known_scratch_law_comes_back():
    rows = small_runs(SMALL)
    law = laws.fit("chinchilla", **rows, draws=20)
    assert law.params == pytest.approx(SMALL, rel=1e-8)
    assert (law.form, law.n_rows, law.n_runs) == ("chinchilla", 32, 4)
    lowest, highest = rows["loss"].min(), rows["loss"].max()
    own = {"N": (1e5, 3e6), "D": (1e6, 4e7), "loss": (lowest, highest)}
    joint = {"C": (6e11, pytest.approx(7.2e14)), "D/N": (pytest.approx(1 / 3), 400.0)}
    assert law.range == own | joint
    assert codes(law) == {"few_runs"}


def test_a_known_cpt_law_comes_back_on_its_base():
    law = laws.fit("cpt", **small_runs(SMALL_CPT), base=BASE, draws=20)
    assert law.params == pytest.approx(SMALL_CPT, rel=1e-8)
    assert "base_without_draws" in codes(law)


def test_the_order_of_rows_and_the_names_of_runs_do_not_matter():
    rows = small_runs(SMALL, 0.01)
    plain = laws.fit("chinchilla", **rows, draws=0)
    order = np.random.default_rng(0).permutation(len(rows["N"]))
    mixed: Columns = {name: np.asarray(values)[order] for name, values in rows.items()}
    mixed["runs"] = ["run " + name for name in mixed["runs"]]
    assert laws.fit("chinchilla", **mixed, draws=0).params == pytest.approx(plain.params, rel=1e-9)


def test_objective_and_mean_are_those_of_the_law_it_gives():
    rows = small_runs(SMALL, 0.01)
    law = laws.fit("chinchilla", **rows, draws=0)
    off = np.abs(np.log(law.loss(rows["N"], rows["D"]) / rows["loss"]))
    huber = np.where(off < 1e-3, off**2 / 2, 1e-3 * (off - 5e-4))
    assert objective(law) == pytest.approx(huber.sum(), rel=1e-9)
    assert law.mean_huber == pytest.approx(huber.mean(), rel=1e-9)


def test_a_cpt_interval_carries_the_uncertainty_of_its_base():
    unsure = laws.fit("chinchilla", **small_runs(SMALL, 0.003), draws=60)
    continued = small_runs(SMALL_CPT, 0.003, seed=1)
    narrow = laws.fit("cpt", **continued, base=BASE, draws=60)
    wide = laws.fit("cpt", **continued, base=unsure, draws=60)
    for name in ("B", "beta", "gamma"):
        assert np.ptp(wide.interval[name]) > np.ptp(narrow.interval[name])
    np.testing.assert_array_equal(wide.draws["alpha"], unsure.draws["alpha"])
    assert wide.interval["E"] == unsure.interval["E"]


def test_a_base_with_fewer_draws_gives_each_in_turn():
    base = laws.fit("chinchilla", **small_runs(SMALL, 0.003), draws=7)
    law = laws.fit("cpt", **small_runs(SMALL_CPT, 0.003, seed=1), base=base, draws=20)
    np.testing.assert_array_equal(law.draws["E"], np.resize(base.draws["E"], 20))


def test_the_same_rows_give_the_same_law():
    first, again = (laws.fit("chinchilla", **small_runs(SMALL, 0.01), draws=20) for _ in range(2))
    assert first.to_json() == again.to_json()


@needs_runs
def test_repeated_epochs_are_valued_on_the_runs_that_repeat_nothing():
    table = read("muennighoff_c4_datablations.csv")
    N, D, U, loss = (
        np.array([float(row[name]) for row in table]) for name in ("N", "D", "unique_D", "loss")
    )
    once = D <= U
    base = laws.fit("chinchilla", loss[once], N=N[once], D=D[once], draws=0)
    assert "not_converged" not in codes(base)
    law = laws.fit("data-constrained", loss, N=N, D=D, U=U, base=base, draws=0)
    assert "not_converged" not in codes(law)
    assert {name: law.params[name] for name in SMALL} == base.params
    assert 5 < law.params["R_D"] < 100  # there 15.4, on fewer and other runs
    kept = (U / D > 0.02) & (loss < 6)  # the rest diverged
    off = np.log(law.loss(N, D, U=U) / loss)[kept]
    without = np.log(base.loss(N, D) / loss)[kept]
    assert np.abs(off).mean() < np.abs(without).mean()


@needs_runs
@pytest.mark.parametrize("form", ["chinchilla", "extended", "power", "power-floor"])
def test_every_law_converges_on_published_runs(form):
    table = sorted(read("chinchilla_epoch_245.csv"), key=lambda row: float(row["loss"]))[:240]
    columns = {name: np.array([float(row[name]) for row in table]) for name in "NDC"}
    loss = np.array([float(row["loss"]) for row in table])
    given: Columns = {name: columns[name] for name in laws.FORMS.find(form).variables}
    law = laws.fit(form, loss, **given, draws=0)
    assert "not_converged" not in codes(law)
    best = {"chinchilla": 1.018274e-3, "extended": 9.376510e-4}
    if form in best:
        assert objective(law) == pytest.approx(best[form], rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_noisy_runs_of_few_sizes_give_cautions_and_finite_numbers(seed):
    rows = small_runs(SMALL, 0.1, sizes=(1e5, 2e5, 4e5), seed=seed)
    law = laws.fit("chinchilla", **rows, draws=20)
    assert {"few_sizes", "few_runs"} <= codes(law)
    assert all(np.isfinite(values).all() for values in law.draws.values())
    assert all(math.isfinite(value) for value in law.params.values())
    assert "not_converged" not in codes(law)


@pytest.mark.parametrize("shape", ["constant", "rising", "random"])
def test_losses_no_law_describes_are_cautioned_not_crashed_on(shape):
    rows = small_runs(SMALL)
    random = np.random.default_rng(0).uniform(1, 9, 32)
    loss = {"constant": np.full(32, 3.0), "rising": 1 + rows["D"] ** 0.1, "random": random}[shape]
    law = laws.fit("chinchilla", **rows | {"loss": loss}, draws=30)
    assert codes(law) & {"at_bound", "zero_E", "ill_conditioned"}


@pytest.mark.parametrize("form", ["cpt", "data-constrained"])
def test_what_stands_on_a_base_is_not_fitted_without(form):
    rows = small_runs(SMALL)
    with pytest.raises(UserError, match=f"the {form} law needs a chinchilla law") as caught:
        laws.fit(form, **rows, U=rows["D"])
    assert caught.value.code == "missing_base"


def test_questions_that_make_no_sense_are_refused():
    rows = small_runs(SMALL)
    with pytest.raises(UserError, match="is a chinchilla law, not cpt"):
        laws.fit("cpt", **rows, base=Law("cpt", SMALL_CPT))
    with pytest.raises(UserError, match="is not needed"):
        laws.fit("chinchilla", **rows, base=BASE)
    with pytest.raises(UserError, match=r"E cannot be 1\.9") as caught:
        rows["loss"] = np.linspace(1.8, 5, 32)
        laws.fit("chinchilla", **rows, fix={"E": 1.9})
    assert caught.value.code == "below_floor"


def test_a_term_fixed_away_leaves_a_law_of_the_rest():
    N, D = grid()
    loss = (1.6 + 2000 / D**0.37) * noise(len(N), 0.001)
    law = laws.fit("chinchilla", loss, N=N, D=D, fix={"A": 0, "alpha": 0.3}, draws=10)
    assert law.params["A"] == 0
    assert law.params["beta"] == pytest.approx(0.37, rel=0.02)
    assert allocate(law) is None
    assert "no_interior_optimum" in codes(law)


def test_a_misspelt_option_is_not_swallowed():
    with pytest.raises((UserError, TypeError), match="dleta"):
        laws.fit("chinchilla", **small_runs(SMALL), dleta=1e-2)
