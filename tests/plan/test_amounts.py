import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.errors import UserError
from tongues.plan.amounts import Base, read_base, read_count, read_number, read_shares


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.4B", 1.4e9),
        ("30M", 30e6),
        ("1e21", 1e21),
        ("5k", 5000),
        ("2T", 2e12),
        ("3G", 3e9),
        ("1_000", 1000),
        ("7", 7),
    ],
)
def test_counts_are_read_as_people_write_them(text: str, count: float) -> None:
    assert read_count(text, "--params") == count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.4b", "did you mean `1.4B`?"),
        ("1,400,000", "did you mean `1400000`?"),
        ("30 M", "did you mean `30M`?"),
        ("-5", "write it like"),
        ("many", "write it like"),
        ("", "write it like"),
        ("nan", "write it like"),
        ("0", "not more than nothing"),
        ("1e999", "more than can be"),
        ("30M tokens", "write it like"),
    ],
)
def test_what_is_no_count_is_refused_with_its_option(text: str, said: str) -> None:
    with pytest.raises(UserError) as refusal:
        read_count(text, "--params")
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("--params")


@given(st.text(max_size=12))
def test_any_text_is_a_count_above_0_or_refused(text: str) -> None:
    try:
        assert 0 < read_count(text, "--params") < float("inf")
    except UserError as refusal:
        assert refusal.where == "--params"


def test_numbers_shares_and_bases() -> None:
    assert read_number("2.4", "--target-loss") == 2.4
    assert read_number("40%", "--mfu", most=1) == 0.4
    assert read_shares("20%,0,0.05", "--replay") == (0.0, 0.05, 0.2)
    assert read_base("llama=8B@15T") == Base("llama", 8e9, 15e12)
    assert read_base("runs/a=b=1M@20M").name == "runs/a=b"
    assert read_base("llama=8B@15T").ratio == 1875


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "x", "1.5"])
def test_a_share_of_the_peak_lies_above_0_and_at_most_at_1(text: str) -> None:
    with pytest.raises(UserError, match="above 0 and at most 1"):
        read_number(text, "--mfu", most=1)


@pytest.mark.parametrize("text", ["100%", "5", "-5%", "a", "0,,1%", ""])
def test_replay_is_a_share_below_all(text: str) -> None:
    with pytest.raises(UserError, match="--replay"):
        read_shares(text, "--replay")


@pytest.mark.parametrize("text", ["llama", "=8B@15T", "llama=8B", "llama=8B@0", "llama=big@15T"])
def test_a_base_has_name_size_and_tokens(text: str) -> None:
    with pytest.raises(UserError, match="--base"):
        read_base(text)
