import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.errors import UserError
from tongues.models import SHAPES, find_shape, of_shape
from tongues.train.rules import (
    batch_by_size,
    check_batch,
    context_by_size,
    nearest_shape,
    rate_at_size,
    shared_batch,
    vocabulary_by_size,
)


def size_of(name: str) -> int:
    return of_shape(SHAPES[name], 0).parameters["non_embedding"]


@pytest.mark.parametrize(
    ("parameters", "tokens"),
    [
        (49_000_000, 1e6),
        (1_000_000_000, 1e6),
        (1_400_000_000, 2e6),
        (2_500_000_000, 2e6),
        (5_500_000_000, 4e6),
    ],
)
def test_the_batch_of_published_sizes_is_the_published_one(parameters: int, tokens: float) -> None:
    assert batch_by_size(parameters, 2048) == pytest.approx(tokens, abs=1024)


@given(st.integers(1, 10**11), st.integers(1, 10**11), st.integers(1, 8192))
def test_a_batch_is_whole_contexts_and_grows_with_the_model(a: int, b: int, context: int) -> None:
    small, large = (batch_by_size(parameters, context) for parameters in sorted((a, b)))
    assert 0 < small <= large
    assert small % context == large % context == 0


def test_rates_on_a_power_law_are_carried_along_it() -> None:
    found = {name: 0.5 * size_of(name) ** -0.3 for name in ("0.1M", "0.4M", "1.4M")}
    assert rate_at_size(found, 10**9) == pytest.approx(0.5 * 10 ** (9 * -0.3))
    assert rate_at_size(dict(list(found.items())[:2]), 10**6) == pytest.approx(0.5 * 10**-1.8)


def test_one_rate_falls_by_the_stated_power_and_is_itself_at_its_size() -> None:
    size = size_of("0.4M")
    assert rate_at_size({"0.4M": 5e-3}, size) == pytest.approx(5e-3)
    assert rate_at_size({"0.4M": 5e-3}, 100 * size) == pytest.approx(5e-3 * 100**-0.4)


def test_a_shape_that_is_none_is_named() -> None:
    with pytest.raises(UserError, match=r"no shape is called `0\.3M`") as caught:
        rate_at_size({"0.3M": 5e-3}, 10**6)
    assert caught.value.where == "train.learning_rate"


def test_where_no_rate_was_searched_for_it_falls_from_the_one_measured() -> None:
    assert rate_at_size(None, size_of("0.2M")) == pytest.approx(5.5e-3)
    assert rate_at_size(None, 10**9) == pytest.approx(1.75e-4, rel=0.01)  # the study: 2e-4
    assert rate_at_size(None, 1000) == 7e-3  # the best rate of the smallest shape that was tried


def test_context_and_vocabulary_are_the_published_ones_from_40_million_parameters_on() -> None:
    assert (context_by_size(40e6, 100_000), vocabulary_by_size(40e6)) == (2048, 36_152)
    assert (context_by_size(6e6, 100_000), vocabulary_by_size(6e6)) == (512, 8192)
    assert (context_by_size(1e5, 100_000), vocabulary_by_size(1e5)) == (128, 512)
    assert context_by_size(40e6, 2000) == 1024  # held-out text must fill one


@given(st.integers(1, 10**7), st.integers(1, 2048), st.integers(1, 64))
def test_a_batch_that_processes_share_is_whole_contexts_of_each(
    batch: int, context: int, processes: int
) -> None:
    shared = shared_batch(batch, context, processes)
    assert shared % (context * processes) == 0
    assert shared <= max(batch, context * processes)
    check_batch(shared, context, processes)


def test_a_batch_that_cannot_be_shared_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="10 samples cannot be shared by 4") as caught:
        check_batch(1280, 128, 4)
    assert "1024 tokens" in caught.value.hint


def test_the_nearest_shape_is_nearest_by_ratio() -> None:
    shape, count = nearest_shape(1e6, 1024)
    assert count == of_shape(shape, 1024).parameters["total"]
    other = of_shape(find_shape("0.4M"), 1024).parameters["total"]
    assert abs(math.log(count / 1e6)) <= abs(math.log(other / 1e6))
