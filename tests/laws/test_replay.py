"""The replay adviser: a law of forgetting turned round, with how sure the share is."""

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import Law
from tongues.laws.inverse import find_replay

FAR = {"F": 300.0, "A": 0.37, "kappa": 0.17, "W": 0.2, "B": 3e5, "beta": 0.1}


def law(spread: float = 0.0) -> Law:
    random = np.random.default_rng(1)
    draws = {name: value * np.exp(spread * random.normal(size=400)) for name, value in FAR.items()}
    return Law("forgetting", FAR, draws=draws if spread else {})


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.1])
def test_the_share_ends_at_the_rise_that_was_allowed(tolerance: float) -> None:
    advice = find_replay(law(), tolerance, D=3e6, S=3.0)
    assert advice.interval is None
    ends = float(law().loss(D=3e6, r=advice.share, S=3.0))
    assert ends / 3.0 - 1 == pytest.approx(tolerance, abs=1e-9)


def test_more_tokens_and_a_higher_rise_need_less() -> None:
    by_tokens = [find_replay(law(), 0.01, D, 3.0).share for D in (1e6, 3e6, 1e7)]
    by_rise = [find_replay(law(), rise, 3e6, 3.0).share for rise in (0.0, 0.02, 0.2)]
    assert by_tokens == sorted(by_tokens, reverse=True)
    assert by_rise == sorted(by_rise, reverse=True)


def test_the_interval_is_that_of_the_draws_and_open_where_some_never_get_there() -> None:
    sure, unsure = find_replay(law(0.02), 0.01, 3e6, 3.0), find_replay(law(0.5), 0.01, 3e6, 3.0)
    assert sure.interval is not None
    low, high = sure.interval
    assert 0.5 * sure.share < low < sure.share < high < 2 * sure.share
    assert unsure.interval is not None
    assert np.isinf(unsure.interval[1])


def test_what_no_share_keeps_is_refused_with_the_reason() -> None:
    with pytest.raises(UserError, match=r"even source text alone ends at 3\.184") as caught:
        find_replay(law(), 0.0, D=1e4, S=3.0)
    assert caught.value.code == "cannot_keep"
    barely = float(law().loss(D=1e5, r=0.97, S=3.0)) / 3.0 - 1
    with pytest.raises(UserError, match=r"97\.0% of all tokens"):
        find_replay(law(), barely, D=1e5, S=3.0)
