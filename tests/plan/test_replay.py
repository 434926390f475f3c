"""The prior for forgetting by share of replay, and what it advises."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.replay_prior import Rise, fit, known_rises
from tongues.plan.replay import (
    COVARIANCE,
    FITTED,
    USUAL,
    VARIANCE,
    forgetting,
    probability_within,
    relax,
    share_within,
    stretch,
)

SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
limits_of = st.floats(0.001, 1.0)


def test_the_constants_are_those_of_the_table() -> None:
    prior = fit(known_rises())
    assert prior.coefficients[:2] == pytest.approx(FITTED, abs=1e-4)
    (first, both), (_, second) = prior.covariance[:2, :2]
    assert (first, both, second) == pytest.approx(COVARIANCE, abs=1e-5)
    assert prior.variance == pytest.approx(VARIANCE, abs=1e-4)


def test_a_prediction_is_the_fits_for_a_large_base() -> None:
    for share in SHARES:
        at = fit(known_rises()).at(Rise("new", 8e9, 1e10, share, math.nan))
        assert probability_within(0.02, share) == pytest.approx(at.cdf(stretch(0.02)), abs=1e-3)
        assert forgetting(share).high == pytest.approx(relax(at.inv_cdf(0.975)), rel=1e-2)


@given(limits_of, limits_of)
def test_a_tighter_limit_never_takes_a_smaller_share(one: float, other: float) -> None:
    tight, loose = (share_within(limit, 2 / 3) for limit in sorted((one, other)))
    assert tight >= loose
    assert probability_within(max(one, other), loose) >= 2 / 3 or loose == 0.5


@given(limits_of)
def test_more_replay_forgets_less(limit: float) -> None:
    rises = [forgetting(share) for share in SHARES]
    assert [rise.value for rise in rises] == sorted((r.value for r in rises), reverse=True)
    kept = [probability_within(limit, share) for share in SHARES]
    assert kept == sorted(kept)
    for rise in rises:
        assert rise.low is not None and rise.high is not None and rise.low < rise.value < rise.high


@given(st.floats(-0.5, 50))
def test_the_scale_goes_back(rise: float) -> None:
    assert math.isclose(relax(stretch(rise)), rise, rel_tol=1e-9, abs_tol=1e-12)


def test_three_limits_have_three_answers() -> None:
    tight, usual, loose = (share_within(limit, 2 / 3) for limit in (0.01, 0.02, 0.1))
    assert 0.5 > tight > usual > loose > 0


def test_the_usual_share_is_the_median_of_published_projects() -> None:
    text = (Path(__file__).parents[2] / "benchmarks/projects.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if float(row["replay"] or 0)]
    by_study = {row["source"]: float(row["replay"]) for row in rows}
    shares = sorted(by_study.values())
    assert len(shares) == 11
    assert abs(shares[len(shares) // 2] - USUAL) < 0.03
