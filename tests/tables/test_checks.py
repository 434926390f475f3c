"""Losses in bits among losses in nats are told, and nothing else is taken for them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.tables.checks import in_bits, other_unit


def runs_of_law(seed: int, noise: float) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Four sizes at six budgets each under a Chinchilla law."""
    params = np.repeat(1e7 * 3.0 ** np.arange(4), 6)
    tokens = 20 * params * np.tile(np.arange(1, 7), 4)
    loss = 1.7 + 480 / params**0.35 + 2100 / tokens**0.37
    wobble = noise * np.random.default_rng(seed).standard_normal(len(loss))
    return {"N": params, "D": tokens}, loss * np.exp(wobble)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), spoiled=st.sets(st.integers(0, 23), min_size=3, max_size=12))
def test_losses_in_bits_among_nats_are_told(seed: int, spoiled: set[int]) -> None:
    variables, loss = runs_of_law(seed, noise=0.005)
    loss[list(spoiled)] /= np.log(2)
    assert in_bits(variables, loss).tolist() == sorted(spoiled)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    noise=st.floats(0, 0.3),
    step=st.sampled_from([0.0, 0.1, 0.2, 0.6, 1.0]),
)
def test_noise_and_other_steps_are_not_taken_for_bits(seed: int, noise: float, step: float) -> None:
    variables, loss = runs_of_law(seed, noise)
    assert not in_bits(variables, loss * np.exp(step * (np.arange(24) % 3 == 0))).size


@pytest.mark.parametrize(
    ("column", "height", "told"),
    [("loss", 3.0, False), ("val_bpb", 1.0, True), ("loss", 40.0, True)],
)
def test_a_unit_that_is_not_nats_is_told(column: str, height: float, told: bool) -> None:
    caution = other_unit(column, np.full(5, height))
    assert (caution is not None and caution.code == "not_nats") is told
