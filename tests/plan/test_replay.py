"""The prior for forgetting by share of replay, and what it advises."""

import csv
import math
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.plan.published import published_projects
from tongues.plan.replay import (
    fit_prior,
    forgetting,
    known_rises,
    probability_within,
    relax,
    share_within,
    stretch,
    usual_share,
)

tokens_of = st.floats(3, 13).map(lambda power: 10**power)
params_of = st.floats(5, 12).map(lambda power: 10**power)
limits_of = st.floats(0.001, 1.0)
SHARES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)


def test_the_table_is_runs_with_their_sources() -> None:
    rises = known_rises()
    assert len(rises) >= 80 and len({rise.study for rise in rises}) >= 10
    text = (files("tongues.plan") / "forgetting.csv").read_text(encoding="utf-8")
    assert all(row["source"] and None not in row for row in csv.DictReader(text.splitlines()))
    for rise in rises:
        assert rise.params > 1e4 and rise.tokens > 1e3
        assert 0 <= rise.replay < 1 and -0.1 < rise.rise < 2
    ibrahim = {r.replay: r.rise for r in rises if r.study == "Ibrahim 2024" and r.tokens == 200e9}
    assert ibrahim[0] == pytest.approx(3.56 / 2.17 - 1, abs=1e-3)
    assert ibrahim[0.25] == pytest.approx(2.33 / 2.17 - 1, abs=1e-3)


def test_a_study_left_out_is_inside_the_interval() -> None:
    rises = known_rises()
    for study in ("Ibrahim 2024", "SmolLM2 case"):
        prior = fit_prior(tuple(rise for rise in rises if rise.study != study))
        for rise in (rise for rise in rises if rise.study == study):
            at = prior.stretched(rise.replay, rise.tokens, rise.params)
            assert abs(stretch(rise.rise) - at.mean) < 1.96 * at.stdev


@given(limits_of, limits_of, tokens_of, params_of)
def test_a_tighter_limit_never_takes_a_smaller_share(
    one: float, other: float, tokens: float, params: float
) -> None:
    tight, loose = (share_within(limit, tokens, params) for limit in sorted((one, other)))
    assert tight.share >= loose.share and tight.possible <= loose.possible
    assert tight.likely == probability_within(min(one, other), tight.share, tokens, params)
    assert loose.possible == (loose.likely >= 0.8)


@given(limits_of, tokens_of, params_of)
def test_more_replay_forgets_less(limit: float, tokens: float, params: float) -> None:
    rises = [forgetting(share, tokens, params) for share in SHARES]
    assert [rise.value for rise in rises] == sorted((r.value for r in rises), reverse=True)
    kept = [probability_within(limit, share, tokens, params) for share in SHARES]
    assert kept == sorted(kept)
    for rise in rises:
        assert rise.low is not None and rise.high is not None and rise.low < rise.value < rise.high


@given(st.floats(-0.5, 50))
def test_the_scale_goes_back(rise: float) -> None:
    assert math.isclose(relax(stretch(rise)), rise, rel_tol=1e-9, abs_tol=1e-12)


def test_three_limits_have_three_answers() -> None:
    tight, usual, loose = (share_within(limit, 5e9, 1.24e9) for limit in (0.01, 0.02, 0.1))
    assert tight.share > usual.share > loose.share > 0
    assert usual.possible and loose.possible and not tight.possible


def test_the_usual_share_is_that_of_published_projects() -> None:
    replayed = [p.replay for p in published_projects() if p.replay]
    assert min(replayed) < usual_share() < max(replayed) and usual_share() == 0.25
