from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import golden
from tongues.errors import UserError
from tongues.hardware import GPUS, find_gpu
from tongues.plan.amounts import read_count, read_number, read_shares
from tongues.plan.bases import BaseCheckpoint, read_base
from tongues.plan.question import Question, ask


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
        ("0", "not above 0, or is too large"),
        ("1e999", "write a count such as"),
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
    assert read_base("llama=8B@15T") == BaseCheckpoint("llama", 8e9, 15e12)
    assert read_base("runs/a=b=1M@20M").name == "runs/a=b"
    assert read_base("llama=8B@15T").ratio == 1875


@pytest.mark.parametrize(
    ("read", "texts", "said"),
    [
        (partial(read_number, most=1), "0 -1 inf nan x 1.5", "--mfu.* above 0 and at most 1"),
        (read_shares, "100% 5 -5% a 0,,1%", "--replay"),
        (
            lambda text, _: read_base(text),
            "llama =8B@15T llama=@1T llama=8B@0 llama=x@1T",
            "--base",
        ),
    ],
)
def test_what_is_no_share_and_no_base_is_refused(read: Any, texts: str, said: str) -> None:
    for text in texts.split():
        with pytest.raises(UserError, match=said):
            read(text, said.partition(".")[0])


def test_hours_of_gpus_are_compute() -> None:
    question = ask(hours="72", gpu="h200", gpus="8", mfu="0.4")
    assert question.flops == pytest.approx(8 * 989e12 * 0.4 * 72 * 3600, rel=1e-12)
    assert question.to_json()["cost"] == pytest.approx(72 * 8 * GPUS["h200"].price)


def test_money_is_hours() -> None:
    question = ask(cost="5000", gpu="h100", gpus="8", price="2.5", mfu="50%")
    hours = 5000 / (8 * 2.5)
    assert question.flops == pytest.approx(8 * 989e12 * 0.5 * hours * 3600, rel=1e-12)
    assert question.to_json()["hours"] == pytest.approx(hours)
    assert not question.warnings
    assert find_gpu("H100") is GPUS["h100"]


def test_what_is_assumed_is_told() -> None:
    assert [w.code for w in ask(flops="1e21", gpu="a100").warnings] == [
        "assumed_mfu",
        "assumed_price",
    ]
    assert not ask(flops="1e21").warnings


def test_size_and_tokens_settle_the_compute() -> None:
    assert ask(params="1.4B", tokens="30B").flops == pytest.approx(6 * 1.4e9 * 30e9)
    assert ask(target_loss="2.4", params="1.4B").flops is None


WRONG: list[dict[str, Any]] = [
    {},
    {"params": "1B"},
    {"flops": "1e21", "target_loss": "2"},
    {"flops": "1e21", "cost": "5", "gpu": "h100"},
    {"flops": "1e21", "params": "1B", "tokens": "1B"},
    {"target_loss": "2", "params": "1B", "tokens": "1B"},
    {"hours": "72"},
    {"cost": "5000"},
    {"flops": "1e21", "price": "2"},
    {"flops": "1e21", "gpu": "h1000"},
    {"flops": "1e21", "gpu": "h100", "gpus": "1.5"},
    {"flops": "1e21", "gpu": "h100", "gpus": "0"},
    {"flops": "1e21", "gpu": "h100", "mfu": "40"},
    {"flops": "1e21", "gpu": "h100", "price": "-2"},
    {"flops": "5"},
    {"flops": "-1e21"},
    {"hours": "-3", "gpu": "h100"},
    {"hours": "long", "gpu": "h100"},
    {"target_loss": "nan"},
    {"flops": "1e21", "available_tokens": "0"},
    {"flops": "1e21", "base_loss": "0"},
    {"flops": "1e21", "replay": "200%"},
    {"flops": "1e21", "bases": ["a=1B@1B", "a=2B@1B"]},
]


def test_a_wrong_question_is_refused_by_the_name_of_its_option() -> None:
    said: list[str] = []
    for asked in WRONG:
        with pytest.raises(UserError) as refusal:
            ask(**asked)
        said.append(" ".join(f"{name}={value}" for name, value in asked.items()))
        said.append(f"  {refusal.value}")
    golden("plan/wrong questions", "\n".join(said))


def test_a_question_is_of_compute_or_of_a_loss() -> None:
    with pytest.raises(ValueError, match="either"):
        Question()


def test_a_handful_of_text_is_refused_for_what_it_is() -> None:
    with pytest.raises(UserError, match="too_little_text"):
        ask(flops="1e20", available_tokens="1")
    assert ask(flops="1e20", available_tokens="10k").available == 1e4
