from dataclasses import replace

import numpy as np
import pytest

from tests.golden import golden
from tests.laws.made import CHINCHILLA, SMALL, grid, noise, rows_of, small_runs
from tongues import laws
from tongues.core.errors import Caution
from tongues.laws import Law
from tongues.laws.answer import sentences

SIZES = np.geomspace(1e7, 1e10, 10)


def checkpoints(spread=0.002, planted=None, off=1.0):
    """Ten runs of one size each; the planted one's losses are off by a factor."""
    N, D = np.repeat(SIZES, 8), np.tile(np.geomspace(1e8, 1e12, 8), 10)
    runs = np.repeat([f"run-{i}" for i in range(10)], 8)
    loss = Law("chinchilla", CHINCHILLA).loss(N, D) * noise(80, spread)
    return {"N": N, "D": D, "loss": loss * np.where(runs == planted, off, 1.0), "runs": runs}


def test_what_is_said_of_a_law_and_of_a_loose_one():
    law = laws.fit("chinchilla", **checkpoints(0.002, "run-0", 1.2), draws=100)
    golden("fit/a run that went wrong", "\n".join(sentences(law)))
    loose = replace(law, warnings=(Caution("at_bound", "alpha stopped at the edge"),))
    golden("fit/a run that went wrong, a loose law", "\n".join(sentences(loose)))


def test_by_a_robust_fit_it_is_named_as_outlying_and_moves_little():
    law = laws.fit("chinchilla", **checkpoints(planted="run-5", off=0.9), draws=60)
    (caution,) = [caution for caution in law.warnings if caution.code == "outlying_runs"]
    golden("cautions/a run that went wrong", caution.sentence)


def by_hand(form, rows, cut, **options):
    """Fit what lies below the cut, and the relative errors above and below it."""
    small = rows["N"] < cut
    below = {name: values[small] for name, values in rows.items()}
    law = laws.fit(form, **below, draws=0, **options)
    off = law.loss(rows["N"], rows["D"]) / rows["loss"] - 1
    return off[~small], off[small]


def test_the_runs_of_most_compute_are_held_out_whole():
    rows = checkpoints(spread=0.01)
    held = laws.fit("chinchilla", **rows, draws=0).holdout
    assert held is not None
    above, within = by_hand("chinchilla", rows, SIZES[8])  # a fifth of ten runs
    assert held.n_runs == 2
    assert held.above == pytest.approx(6 * (rows["N"] * rows["D"])[rows["N"] == SIZES[7]].max())
    assert held.bias == pytest.approx(above.mean(), rel=1e-9)
    assert held.error == pytest.approx(np.abs(above).mean(), rel=1e-9)
    assert held.error_within == pytest.approx(np.abs(within).mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("form", "options"),
    [("cpt", {"base": Law("chinchilla", CHINCHILLA)}), ("chinchilla", {"fix": {"E": 1.5}})],
)
def test_the_same_with_a_base_and_with_what_is_fixed(form, options):
    rows = checkpoints(spread=0.01)
    held = laws.fit(form, **rows, **options, draws=0).holdout
    assert held is not None
    above, _ = by_hand(form, rows, SIZES[8], **options)
    assert held.error == pytest.approx(np.abs(above).mean(), rel=1e-9)


def test_a_power_law_is_tested_on_the_most_compute():
    C = np.geomspace(1e17, 1e22, 10)
    loss = 33.7 * C**-0.058 * noise(10, 0.001)
    held = laws.fit("power", loss, C=C, draws=0).holdout
    assert held is not None
    small = laws.fit("power", loss[:8], C=C[:8], draws=0)
    off = small.loss(C=C[8:]) / loss[8:] - 1
    assert held.n_runs == 2
    assert held.bias == pytest.approx(off.mean(), rel=1e-9)
    assert held.error_within < 0.005


def test_with_few_sizes_or_rows_nothing_is_held_out():
    rows = small_runs(SMALL, 0.01, sizes=(1e5, 1e6, 3e6))
    assert laws.fit("chinchilla", **rows, draws=0).holdout is None
    rows = rows_of(CHINCHILLA, sizes=4, lengths=2)
    assert laws.fit("chinchilla", **rows, draws=0).holdout is None


def test_a_law_of_neither_size_nor_compute_holds_nothing_out():
    axes = np.meshgrid(np.geomspace(1e7, 1e11, 5), [0, 0.05, 0.5], [2.2, 2.9])
    D, r, S = (axis.ravel() for axis in axes)
    params = {"F": 1e8, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e10, "beta": 0.095}
    loss = Law("forgetting", params).loss(D=D, r=r, S=S)
    assert laws.fit("forgetting", loss, D=D, r=r, S=S, draws=0).holdout is None


def test_repeats_are_held_out_by_size():
    N, D = grid(6, 6)
    base = Law("chinchilla", CHINCHILLA)
    U = D / np.tile([1, 4], 18)
    truth = Law("data-constrained", {**CHINCHILLA, "R_D": 15.0, "R_N": 5.0})
    law = laws.fit("data-constrained", truth.loss(N, D, U=U), N=N, D=D, U=U, base=base, draws=0)
    assert law.holdout is not None
    assert law.holdout.error < 1e-6
