from functools import partial

import pytest
from click.testing import CliRunner

import tongues
from tests.golden import golden
from tongues.cli.laws import plan
from tongues.errors import UserError
from tongues.hardware import GPUS
from tongues.plan.several import budget_rows, plan_each


def budgets(**words: object) -> list[tuple[object, ...]]:
    """What a plan is made of, for every combination."""
    asked: list[tuple[object, ...]] = []
    plan_each(lambda **one: asked.append(tuple(one.values())), words)  # pyright: ignore[reportArgumentType]
    return asked


def test_every_combination_is_a_plan_of_its_own() -> None:
    every = budgets(hours="24,72", gpu="h100,a100", gpus=8)
    assert every == [(hours, gpu, 8) for hours in ("24", "72") for gpu in ("h100", "a100")]
    assert budgets(hours="24", gpu="h100") == []
    assert budgets(hours="24", gpu="all") == [("24", gpu) for gpu in GPUS]
    for name, text in {"hours": "24,168", "cost": "500.0,750", "flops": "1e20,1.5e21"}.items():
        assert budgets(**{name: text}) == [(one,) for one in text.split(",")]


def test_a_budget_without_a_plan_says_why() -> None:
    make = partial(tongues.plan, "hoffmann2022-full")
    rows = budget_rows(plan_each(make, {"flops": "1e13,1e21"}))
    assert rows[0]["advice"] == "none (worse_than_guessing)"
    assert rows[1]["advice"] == "scratch" and rows[1]["parameters"]


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("cost", "5,000", "write `5000`"),
        ("cost", "20,500", "write `20500`, or for a list `20.0,500`"),
        ("cost", "1,5k", "write `1.5k`"),
        ("flops", "1,5e21", "write `1.5e21`"),
        ("hours", "0,5", "write `0.5`"),
        ("hours", "1,000,000", "write `1000000`"),
        ("target_loss", "2,4", "write `2.4`, or for a list `2.0,4`"),
    ],
)
def test_a_comma_inside_a_number_is_no_list(name: str, text: str, hint: str) -> None:
    with pytest.raises(UserError, match="looks like one number") as refused:
        budgets(**{name: text})
    assert refused.value.hint == hint


def test_gpus_side_by_side() -> None:
    asked = ["--flops", "1e21", "--gpu", "h100,a100", "--law", "hoffmann2022"]
    golden("plan/two GPUs side by side", CliRunner().invoke(plan, asked).stdout)
    one = CliRunner().invoke(plan, ["--flops", "1e20,1e21", "--write", "x.yaml"])
    assert isinstance(one.exception, UserError)
