from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import tongues
from tongues.cli.laws import plan
from tongues.errors import UserError
from tongues.hardware import GPUS, find_gpu
from tongues.plan import Plan
from tongues.plan.prices import read_prices
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
    answers = plan_each(MAKE, {"flops": "1e21", "gpu": "all", "gpus": "8"})
    assert [budget["gpu"] for budget, _ in answers] == list(GPUS)
    done = CliRunner().invoke(plan, ["--flops", "1e21", "--gpu", "all", "--law", "hoffmann2022"])
    assert done.exit_code == 0 and "h100" in done.stdout and "kg CO₂" in done.stdout
    one = CliRunner().invoke(plan, ["--flops", "1e20,1e21", "--write", "x.yaml"])
    assert isinstance(one.exception, UserError)


def test_prices_are_those_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(
        "gpu,price,date,tflops,gigabytes,watts\nh100,1.99,2026-11,,,\nx1,4,2026-10,500,96,600\n"
    )
    gpus = read_prices(path)
    assert gpus["h100"].price == 1.99 and gpus["h100"].priced == "2026-11"
    assert gpus["h100"].peak == GPUS["h100"].peak and gpus["a100"] == GPUS["a100"]
    new = find_gpu("X1", gpus)
    assert (new.peak, new.memory, new.watts) == (500e12, 96e9, 600)
    made = MAKE(hours=10, gpu="x1", prices=path)
    assert made.question.flops == pytest.approx(500e12 * 0.4 * 36_000)
    assert made.recommendation.option.cost == pytest.approx(40)
    assert any("2026-10" in str(caution) for caution in made.warnings)
    for text in ("gpu,price\nnew,3\n", "gpu,price\nh100,free\n", "name,cost\nh100,3\n"):
        path.write_text(text)
        with pytest.raises(UserError, match="no price of"):
            read_prices(path)
    path.write_text('gpu,price\nh100,"1,99"\n')
    with pytest.raises(UserError, match=r"decimals have a point"):
        read_prices(path)
    path.write_text("gpu;price\nh100;1,99\n")
    assert read_prices(path)["h100"].price == 1.99
    path.write_text("\ufeffgpu;price;date\r\nh100;1.99;2026-11\r\n", encoding="utf-8")  # Excel's
    assert read_prices(path)["h100"].price == 1.99
    with pytest.raises(UserError, match="no such file"):
        read_prices(tmp_path / "none.csv")
