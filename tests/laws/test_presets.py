import numpy as np
import pytest

from tongues.core.errors import UserError
from tongues.laws import PRESETS, allocate, preset


def saving(scratch, cpt, C):
    """The share of the compute of the first power law that the second saves at the same loss."""
    same = scratch.loss(C=np.asarray(C))
    return 1.0 - (same / cpt.params["A"]) ** (-1.0 / cpt.params["gamma"]) / C


def optimal_loss(name, compute):
    law = preset(name)
    best = allocate(law)
    assert best is not None
    return float(law.loss(*best.sizes(compute)))


def test_every_published_law_has_a_source_a_unit_and_nothing_made_up():
    assert set(PRESETS) == {
        *("hoffmann2022", "hoffmann2022-full", "besiroglu2024"),
        *("muennighoff2023", "zheng2024-scratch", "zheng2024-cpt"),
        *("zheng2024-scratch-compute", "zheng2024-cpt-compute"),
    }
    for name in PRESETS:
        law = preset(name)
        assert "arXiv" in law.source or "fitted here" in law.source
        assert "nats per token" in law.source
        assert law.strategy == ("cpt" if "-cpt" in name else "scratch")
        assert not law.draws and not law.interval and np.isnan(law.mean_huber)


def test_the_nearest_is_named():
    with pytest.raises(UserError, match="no preset `hofmann2022`") as caught:
        preset("hofmann2022")
    assert caught.value.hint == "did you mean `hoffmann2022`?"


def test_the_printed_allocations_are_reproduced():
    """Zheng et al. 2024: 0.324 C^0.429, 0.514 C^0.571; 4.79 C^0.385, 0.035 C^0.615."""
    scratch, cpt = allocate(preset("zheng2024-scratch")), allocate(preset("zheng2024-cpt"))
    assert scratch is not None and cpt is not None
    printed = [f"{x:.3f}" for x in (scratch.N_coef, scratch.a, scratch.D_coef, scratch.b)]
    assert printed == ["0.324", "0.429", "0.514", "0.571"]
    printed = [f"{cpt.N_coef:.2f}", *(f"{x:.3f}" for x in (cpt.a, cpt.D_coef, cpt.b))]
    assert printed == ["4.79", "0.385", "0.035", "0.615"]


def test_hoffmann_s_exponents_are_the_printed_ones():
    best, full = allocate(preset("hoffmann2022")), allocate(preset("hoffmann2022-full"))
    assert best is not None and full is not None
    assert [round(best.a, 2), round(best.b, 2)] == [0.45, 0.55]
    assert [round(full.a, 2), round(full.b, 2)] == [0.46, 0.54]  # as printed there


def test_the_loss_compute_pair_saves_47_to_43_percent():
    pair = preset("zheng2024-scratch-compute"), preset("zheng2024-cpt-compute")
    assert saving(*pair, [1e18, 1e23]) == pytest.approx([0.469, 0.425], abs=5e-4)


def test_the_cpt_law_contradicts_that_and_says_so():
    assert optimal_loss("zheng2024-cpt", 1e20) == pytest.approx(2.365, abs=5e-4)
    assert optimal_loss("zheng2024-scratch", 1e20) == pytest.approx(2.123, abs=5e-4)
    (caution,) = [w for w in preset("zheng2024-cpt").warnings if w.code == "contradicts_savings"]
    assert "2.365 against 2.123" in caution.sentence.replace("\n", " ")


def test_the_pure_powers_fall_below_the_floor_where_said():
    law = preset("zheng2024-scratch-compute")
    assert law.loss(C=1.1e23) > 1.55 > law.loss(C=1.4e23)
    assert "below_floor" in {caution.code for caution in law.warnings}


def test_two_printed_decimals_move_the_loss_by_one_to_three_percent():
    rounded, full = preset("hoffmann2022"), preset("hoffmann2022-full")
    N = np.geomspace(1e7, 3e10, 9)
    off = rounded.loss(N, 20 * N) / full.loss(N, 20 * N) - 1
    assert (np.abs(off) > 0.01).all() and (np.abs(off) < 0.03).all()
