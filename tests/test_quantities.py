import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tongues.quantities import Budget, show_seconds


class Planned(BaseModel):
    budget: Budget


def budget(text: str) -> Budget:
    return Planned.model_validate({"budget": text}).budget


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("30k tokens", 30_000),
        ("1 token", 1),
        ("20 tokens per parameter", 20_000),
        ("0.5  tokens  per parameter", 500),
        ("1e9 FLOPs", 250_000),
        ("2 GFLOPs", 500_000),
        ("3 PFLOPs", 750_000_000_000),
        ("1 MFLOP", 250),
    ],
)
def test_a_budget_is_so_many_tokens(text: str, tokens: int) -> None:
    assert budget(text).seconds is None
    assert budget(text).tokens(1000, 4000.0) == tokens


@pytest.mark.parametrize(
    ("text", "seconds"), [("2 hours", 7200), ("90 minutes", 5400), ("1.5 days", 129_600)]
)
def test_a_time_is_tokens_once_the_speed_is_known(text: str, seconds: float) -> None:
    assert budget(text).seconds == seconds
    assert budget(text).tokens(1000, 4000.0, tokens_per_second=10.0) == 10 * seconds
    with pytest.raises(ValueError, match="only once the speed is measured"):
        budget(text).tokens(1000, 4000.0)


UNITS = ("tokens per parameter", "FLOPs", "seconds", "hours")


@given(st.floats(1e-3, 1e25), st.sampled_from(UNITS))
def test_a_budget_reads_back_as_it_was_shown(number: float, unit: str) -> None:
    first = budget(f"{number:.6g} {unit}")
    assert budget(str(first)) == first


@pytest.mark.parametrize(
    "text",
    ["2 PFLOP/s", "1e15", "3 kFLOPs", "2 hours of GPU", "0 hours", "-1 FLOPs", "1e308 ZFLOPs"],
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        budget(text)


def test_a_budget_without_a_unit_is_answered_with_its_tokens() -> None:
    with pytest.raises(ValidationError, match=r"such as `3\.1M tokens`"):
        budget("3.1M")


def test_a_stretch_of_time_is_shown_in_a_fitting_unit() -> None:
    shown = [show_seconds(number) for number in (0.4, 45, 99.4, 180, 5900, 9000, 345_600)]
    assert shown == ["0 s", "45 s", "99 s", "3 min", "98 min", "2.5 h", "4 days"]
