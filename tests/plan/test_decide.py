"""The rule in words, case by case."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tongues.plan import BaseCheckpoint, Budget, Option, Question, Target
from tongues.plan.decide import decide
from tongues.plan.fits import ALL_WEIGHTS

CHANCE = np.random.default_rng(0).standard_normal(4000)
ASKED = Question(Budget(1e9, "tokens"), targets=(Target("uk"),))


def option(name: str, loss: float | None, flops: float = 1e20, **more: Any) -> Option:
    draws = {} if loss is None else {"uk": loss * np.exp(0.02 * CHANCE)}
    kind, experts = more.pop("kind", "continue"), more.pop("experts", 0)
    facts: dict[str, Any] = {"languages": ("en",)} | more
    base = BaseCheckpoint(name, 1e9, **facts)
    tokens = flops / (6.0 * base.params)
    return Option(
        name, kind, base, ALL_WEIGHTS, ASKED.targets, experts=experts, tokens=tokens, draws=draws
    )


def test_the_cheapest_of_the_best_is_taken() -> None:
    options = [option("dear", 0.500, 9e20), option("cheap", 0.502, 1e20), option("weak", 0.6, 1e19)]
    taken = decide(options, ASKED)
    assert (taken.code, taken.option.name) == ("continue", "cheap")


def test_of_bases_that_the_planner_chose_the_newest_of_the_best_is_taken() -> None:
    options = [option("old", 0.500, released="2024-09"), option("new", 0.505, released="2025-12")]
    worse = option("newest", 0.6, released="2026-05")
    assert decide([*options, worse], replace(ASKED, chosen=True)).option.name == "new"


def test_without_forecasts_the_first_named_is_taken() -> None:
    assert decide([option("a", None), option("b", None)], ASKED).option.name == "a"


def test_a_base_that_knows_the_language_is_measured_first() -> None:
    knows = option("knows", 0.5, languages=("en", "uk"))
    assert decide([knows], ASKED).code == "measure"
    assert decide([knows], replace(ASKED, losses={"knows": 0.7})).code == "continue"


def test_a_model_from_scratch_is_never_first_beside_a_base() -> None:
    scratch = option("scratch", None, kind="scratch")
    assert decide([scratch, option("base", 0.5)], ASKED).option.name == "base"
    assert decide([scratch], ASKED).code == "scratch"


@pytest.mark.parametrize(
    ("scratch", "continued", "code"),
    [(2.0, 2.5, "scratch"), (2.5, 2.0, "continue"), (2.0, 2.0, "either")],
)
def test_own_laws_of_both_ways_decide_where_they_are_sure(
    scratch: float, continued: float, code: str
) -> None:
    other = np.random.default_rng(1).standard_normal(4000)
    first = option("scratch", scratch, kind="scratch")
    second = replace(option("base", continued), draws={"uk": continued * np.exp(0.02 * other)})
    taken = decide([first, second], ASKED)
    assert taken.code == code and taken.rival is not None
    assert taken.decided == (code != "either")
    assert (taken.likely or 0) >= 0.5 - 0.05


def test_experts_are_taken_where_they_are_better() -> None:
    one = option("one model", 2.0, kind="experts", experts=1)
    four = option("4 experts", 1.8, kind="experts", experts=4)
    assert decide([one, four], ASKED).code == "experts"
    assert decide([one, replace(four, draws=one.draws)], ASKED).option.experts == 1
