"""How the experts of a partition share a budget: equally or by their text, and with what limit."""

from collections.abc import Sequence

import numpy as np

from tongues.core.errors import UserError
from tongues.core.quantities import Budget
from tongues.laws.mixtures import capped_shares
from tongues.recipe import ExpertBudget


def share_budget(rule: ExpertBudget, budget: Budget, texts: Sequence[float]) -> list[float]:
    """The share of each expert; none where all are equal.

    texts: training tokens of each.
    """
    if (rule.by == "even" and rule.max_epochs == "off") or len(texts) == 1:
        return []
    sizes = np.array(texts)
    if rule.max_epochs == "off":
        return list(sizes / sizes.sum())
    if budget.unit != "tokens":
        what = f"a budget in {budget.unit} has another number of tokens for each expert"
        hint = "give `train.budget` in tokens, or `experts.budget: by text` without a limit"
        raise UserError(what, where="train.budget", hint=hint)
    weights = sizes if rule.by == "text" else np.ones(len(sizes))
    return list(capped_shares(weights, sizes * rule.max_epochs, budget.amount))
