from functools import partial

import pytest
from click.testing import CliRunner

import tongues
from tongues.cli.laws import plan
from tongues.errors import UserError
from tongues.hardware import GPUS
from tongues.plan import Plan
from tongues.plan.several import budget_rows, plan_each

MAKE = partial(tongues.plan, "hoffmann2022-full")


def test_every_combination_is_a_plan_of_its_own() -> None:
    words = {"hours": "24,72", "gpu": "h100,a100", "gpus": 8, "cost": None}
    answers = plan_each(MAKE, words)
    assert len(answers) == 4
    rows = budget_rows(answers)
    assert [(row["--hours"], row["--gpu"]) for row in rows][:2] == [("24", "h100"), ("24", "a100")]
    for budget, answer in answers:
        assert isinstance(answer, Plan)
        alone = MAKE(**(words | budget)).recommendation.option
        assert answer.recommendation.option.loss == alone.loss
    assert plan_each(MAKE, {"hours": "24", "gpu": "h100"}) == []


def test_a_budget_without_a_plan_says_why() -> None:
    rows = budget_rows(plan_each(MAKE, {"flops": "1e13,1e21"}))
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
        plan_each(MAKE, {name: text, "gpu": "h100"})
    assert refused.value.hint == hint


def test_lists_of_plain_numbers_are_lists() -> None:
    for name, text in {"hours": "24,168", "cost": "500.0,750", "flops": "1e20,1.5e21"}.items():
        words = {name: text} | ({} if name == "flops" else {"gpu": "h100", "gpus": 8})
        assert [budget[name] for budget, _ in plan_each(MAKE, words)] == text.split(",")


def test_all_gpus_side_by_side() -> None:
    done = CliRunner().invoke(plan, ["--flops", "1e21", "--gpu", "all", "--law", "hoffmann2022"])
    assert done.exit_code == 0 and "kg CO₂" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(GPUS)
    one = CliRunner().invoke(plan, ["--flops", "1e20,1e21", "--write", "x.yaml"])
    assert isinstance(one.exception, UserError)
