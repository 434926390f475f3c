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


def sliding(text: list[int], most: int, stride: int) -> Iterator[Seen]:
    """As Hugging Face's page on perplexity has it; the last token read predicts nothing."""
    before = 0
    for begin in range(0, len(text), stride):
        end = min(begin + most, len(text))
        target = min(end - before, end - begin - 1)  # the first token of a window has no label
        if target:
            yield text[begin : end - 1], text[end - target : end]
        before = end
        if end == len(text):
            break


def ours(policy: Policy, text: list[int]) -> list[Seen]:
    return [
        (text[one.begin : one.stop - 1], text[one.start : one.stop])
        for one in windows(policy, len(text))
    ]


@given(COUNTS, st.integers(1, 30), st.integers(1, 30), st.booleans())
def test_every_token_but_the_first_is_scored_once(
    count: int, window: int, stride: int, back: bool
) -> None:
    policy = Policy(window, min(stride, window), back)
    found = list(windows(policy, count))
    scored = [place for one in found for place in range(one.start, one.stop)]
    assert scored == list(range(1, count))
    for one in found:
        assert one.stop - 1 - one.begin <= window
        assert one.begin < one.start


@given(st.integers(1, 200), st.integers(1, 30), st.integers(1, 30))
def test_windows_that_reach_back_are_the_rolling_ones(count: int, most: int, stride: int) -> None:
    stride, text = min(stride, most), list(range(count))
    expected = list(rolling(text, most, most - stride + 1))
    assert ours(Policy(most, stride, back=True), text) == expected


@given(st.integers(1, 200), st.integers(2, 30), st.integers(1, 30))
def test_windows_that_slide_are_those_of_hugging_face(count: int, most: int, stride: int) -> None:
    """With overlap: without it, theirs leave out the first token of every window."""
    stride, text = min(stride, most - 1), list(range(count))
    found = ours(Policy(most - 1, stride), text)
    assert [scored for _, scored in found] == [scored for _, scored in sliding(text, most, stride)]
    assert found == list(sliding(text, most, stride))


def test_a_policy_is_resolved_by_what_the_model_sees() -> None:
    assert resolved(Policy(), 128) == Policy(128, 128)
    assert resolved(Policy(stride=32), 128) == Policy(128, 32)
    assert resolved(Policy(), None) == Policy()
    assert list(windows(Policy(), 5)) == [Window(0, 1, 5)]
    for policy, what in [
        (Policy(129), "longer than the context of the model "),
        (Policy(64, 65), "stride of 65"),
        (Policy(64, 0), "stride of 0"),
    ]:
        with pytest.raises(UserError, match=what):
            resolved(policy, 128)
    with pytest.raises(UserError, match="without a window"):
        resolved(Policy(stride=4), None)
