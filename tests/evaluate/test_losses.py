from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.errors import UserError
from tongues.evaluate.losses import Policy, Window, resolved, windows

COUNTS = st.integers(0, 200)
Seen = tuple[list[int], list[int]]  # what is read, what is predicted


def rolling(text: list[int], most: int, context: int) -> Iterator[Seen]:
    """As lm-eval 0.4.13 has it (`get_rolling_token_windows`), the first of `text` as its prefix."""
    prefix, tokens = text[0], text[1:]
    if not tokens:
        return
    step = most - context + 1
    done = min(most, len(tokens))
    yield [prefix, *tokens[: done - 1]], tokens[:done]
    while done < len(tokens):
        step = min(len(tokens) - done, step)
        end = done + step
        yield tokens[end - most - 1 : end - 1], tokens[end - step : end]
        done += step


def ours(policy: Policy, text: list[int]) -> list[Seen]:
    return [
        (text[one.begin : one.stop - 1], text[one.start : one.stop])
        for one in windows(policy, len(text))
    ]


@given(COUNTS, st.integers(1, 30), st.booleans())
def test_every_token_but_the_first_is_scored_once(count: int, window: int, back: bool) -> None:
    found = list(windows(Policy(window, back), count))
    scored = [place for one in found for place in range(one.start, one.stop)]
    assert scored == list(range(1, count))
    for one in found:
        assert one.stop - 1 - one.begin <= window
        assert one.begin < one.start


@given(st.integers(1, 200), st.integers(1, 30))
def test_windows_that_reach_back_are_the_rolling_ones(count: int, most: int) -> None:
    text = list(range(count))
    assert ours(Policy(most, back=True), text) == list(rolling(text, most, 1))


def test_a_policy_is_resolved_by_what_the_model_sees() -> None:
    assert resolved(Policy(), 128) == Policy(128)
    assert resolved(Policy(32, back=True), 128) == Policy(32, back=True)
    assert resolved(Policy(), None) == Policy()
    assert list(windows(Policy(), 5)) == [Window(0, 1, 5)]
    assert list(windows(Policy(2), 6)) == [Window(0, 1, 3), Window(2, 3, 5), Window(4, 5, 6)]
    with pytest.raises(UserError, match="longer than the context of the model "):
        resolved(Policy(129), 128)
