"""Every kind of budget becomes the same tokens that a hand calculation gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.core.errors import UserError
from tongues.core.hardware import GPUS, Cluster
from tongues.plan import Budget
from tongues.plan.budget import Kind, read_budget

H100 = Cluster(GPUS["h100"], 8, 0.4, 2.5)
FLOPS = 8 * 989e12 * 0.4 * 3600  # of an hour


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("40B tokens", 40e9),
        ("20 tokens per parameter", 160e9),
        ("1e21 FLOPs", 1e21 / 48e9),
        ("24 hours", 24 * FLOPS / 48e9),
        ("24hours", 24 * FLOPS / 48e9),
        ("7 days", 168 * FLOPS / 48e9),
        ("5000 US$", 250 * FLOPS / 48e9),
        ("$5,000 USD", 250 * FLOPS / 48e9),
    ],
)
def test_a_budget_buys_tokens(written: str, tokens: float) -> None:
    assert read_budget(written, "--budget", H100).tokens(8e9, 48e9, H100) == pytest.approx(tokens)


@given(st.floats(1e-3, 1e6), st.floats(1e6, 1e12), st.sampled_from(["hours", "cost", "flops"]))
def test_what_a_run_takes_is_what_was_given(amount: float, params: float, kind: Kind) -> None:
    tokens = Budget(amount, kind).tokens(params, 6.0 * params, H100)
    flops = 6.0 * params * tokens
    hours = H100.hours(flops)
    taken = {"hours": hours, "cost": H100.cost(hours), "flops": flops}
    assert taken[kind] == pytest.approx(amount)


@pytest.mark.parametrize("written", ["", "7", "40B", "-1 tokens", "9e400 tokens", "soon"])
def test_what_is_no_budget_is_refused(written: str) -> None:
    with pytest.raises(UserError) as caught:
        read_budget(written, "--budget")
    assert caught.value.where == "--budget"
