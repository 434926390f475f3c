"""How experts share a budget."""

import pytest
from pydantic import TypeAdapter

from tongues.errors import UserError
from tongues.experts.budgets import share_budget
from tongues.quantities import Budget
from tongues.recipe import ExpertBudget
from tongues.recipe.experts import Experts

BUDGET = TypeAdapter(Budget)
TEXTS = [60e3, 40e3]


def shares_by(rule: object) -> list[float]:
    read = Experts.model_validate({"partitions": [{"by": "dense"}], "budget": rule}).budget
    return share_budget(read, BUDGET.validate_python("100k tokens"), TEXTS)


def test_even_shares_are_named_by_nothing() -> None:
    assert shares_by("even") == []
    assert shares_by("by text") == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1}) == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1.1}) == pytest.approx([0.56, 0.44])
    assert shares_by({"by": "text", "max_epochs": 1.1}) == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("by size", "not a rule; write `even` or `by text`"),
        ("by law", "a budget by law is gone"),
        ({"by": "even", "max_epoch": 2}, "unknown key `max_epoch`"),
    ],
)
def test_wrong_rules_of_a_budget(rule: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shares_by(rule)


def test_a_limit_on_epochs_needs_a_budget_in_tokens() -> None:
    sizes = BUDGET.validate_python("20 tokens per parameter")
    assert share_budget(ExpertBudget(by="text"), sizes, TEXTS) == pytest.approx([0.6, 0.4])
    with pytest.raises(UserError, match="another number of tokens for each expert"):
        share_budget(ExpertBudget(max_epochs=4), sizes, TEXTS)
