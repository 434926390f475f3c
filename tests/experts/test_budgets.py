"""How experts share a budget; the laws against published figures of their second-order gain."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from tests.records import make_run
from tongues.errors import UserError
from tongues.experts.budgets import (
    LossDecline,
    best_split,
    fit_decline,
    gain_over_even,
    share_budget,
)
from tongues.quantities import Budget
from tongues.recipe import ExpertBudget
from tongues.recipe.experts import Experts
from tongues.runs import write_run

TOKENS = TypeAdapter(Budget).validate_python("100k tokens")
TEXTS = [("seed", {"qaa": 60e3}), ("seed", {"qab": 20e3, "qac": 20e3})]
FREE = np.array([np.inf, np.inf])


def decline(factor: float, power: float = 0.33, before: float = 1.0) -> LossDecline:
    best = np.array([1.0, factor, power])
    return LossDecline(best, best[None], before)


def shares_by(rule: object, workspace: Path | None = None) -> list[float]:
    read = Experts.model_validate({"partitions": [{"by": "dense"}], "budget": rule}).budget
    return share_budget(read, TOKENS, TEXTS, workspace)[0]


def test_even_shares_are_named_by_nothing() -> None:
    assert shares_by("even") == []
    assert shares_by("by text") == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1}) == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1.1}) == pytest.approx([0.56, 0.44])


def test_the_split_has_equal_marginal_gains() -> None:
    declines, weights = [decline(1.0), decline(2.0, 0.5, 30.0)], np.array([0.4, 0.6])
    shares = best_split(declines, weights, FREE, 1000.0)

    def loss(first: float) -> float:
        spent = np.array([first, 1 - first]) * 1000
        return sum(
            float(w * one.best[1] * (d + one.before) ** -one.best[2])
            for w, one, d in zip(weights, declines, spent, strict=True)
        )

    grid = np.linspace(0.001, 0.999, 2001)
    assert shares[0] == pytest.approx(grid[np.argmin([loss(x) for x in grid])], abs=1e-3)
    capped = best_split(declines, weights, np.array([100.0, np.inf]), 1000.0)
    assert capped == pytest.approx([0.1, 0.9])


def test_unequal_weights_are_worth_what_the_second_order_says() -> None:
    # exp(sigma^2 / (2 (1 + b))) times the tokens: 1.10 at a spread of 0.5 of log w, b = 1/3
    logs = np.random.default_rng(1).standard_normal(400)
    weights = np.exp(0.5 * (logs - logs.mean()) / logs.std())
    weights /= weights.sum()
    declines, free = [decline(1.0, before=1e-9)] * 400, np.full(400, np.inf)
    shares = best_split(declines, weights, free, 1e6)
    nats, gain = gain_over_even(declines, weights, shares, free, 1e6)
    even = float(weights @ (1.0 + (1e6 / 400 + 1e-9) ** -0.33 * np.ones(400)))
    best = float(weights @ (1.0 + (1e6 * shares + 1e-9) ** -0.33))
    assert nats.value == pytest.approx(even - best)
    assert gain.value == pytest.approx(math.exp(0.25 / (2 * 1.33)), rel=0.02)
    equal = np.full(400, 1 / 400)
    _, same = gain_over_even(declines, equal, best_split(declines, equal, free, 1e6), free, 1e6)
    assert same.value == pytest.approx(1.0, abs=1e-6)


def test_the_law_of_a_loss_is_found_again() -> None:
    tokens = np.geomspace(1e4, 1e6, 12)
    noise = 0.002 * np.random.default_rng(1).standard_normal(12)
    fitted = fit_decline(tokens, 2.0 + 30.0 * tokens**-0.4 + noise)
    at = 3e6
    floor, factor, power = fitted.best
    assert floor + factor * at**-power == pytest.approx(2.0 + 30.0 * at**-0.4, abs=0.01)
    ends = fitted.draws[:, 0] + fitted.draws[:, 1] * at ** -fitted.draws[:, 2]
    low, high = np.quantile(ends, [0.025, 0.975])
    assert low < 2.0 + 30.0 * at**-0.4 < high


def test_a_loss_that_rises_leaves_the_others_uncertain() -> None:
    tokens = np.geomspace(1e4, 1e6, 8)
    noise = 0.02 * np.random.default_rng(1).standard_normal(8)
    declines = [
        fit_decline(tokens, 3 + 20 * tokens**-0.3 + noise),
        fit_decline(tokens, np.linspace(3.0, 3.1, 8)),
    ]
    assert declines[1].best[1] == 0
    halves = np.full(2, 0.5)
    shares = best_split(declines, halves, FREE, 1e6)
    assert shares == pytest.approx([0.95, 0.05])
    nats, _ = gain_over_even(declines, halves, shares, FREE, 1e6)
    assert nats.low and nats.high and nats.low < 0.9 * nats.value and nats.high > 1.1 * nats.value


def base_run(
    workspace: Path, factors: dict[str, float], noise: float = 1e-4, seed: int = 1
) -> None:
    folder = workspace / "runs" / "seed"
    folder.mkdir(parents=True)
    write_run(folder, make_run(run="seed", shares=dict.fromkeys(factors, 1 / len(factors))))
    random = np.random.default_rng(seed)
    lines: list[str] = []
    for step, tokens in enumerate(np.geomspace(1e3, 2e4, 10), 1):
        for lang, factor in factors.items():
            loss = 2 + factor * tokens**-0.4 + noise * random.standard_normal()
            lines.append(
                json.dumps({"step": step, "lang": lang, "tokens_lang": tokens, "loss": loss})
            )
    (folder / "evals.jsonl").write_text("\n".join(lines) + "\n")


def test_by_law_the_weights_decide_and_without_them_it_is_even(tmp_path: Path) -> None:
    base_run(tmp_path, {"qaa": 20.0, "qab": 20.0, "qac": 20.0})
    rule = ExpertBudget(by="law", weights={"qaa": 5.0})
    shares, (note,) = share_budget(rule, TOKENS, TEXTS, tmp_path)
    # (D + T) as (w B)^(1 / 1.4), with T of 20k and 40k tokens; B of the second in tokens of two
    ratio = (5 / (2 * 2**0.4)) ** (1 / 1.4)
    assert shares[0] == pytest.approx((160e3 * ratio / (1 + ratio) - 20e3) / 100e3, abs=0.01)
    assert sum(shares) == pytest.approx(1)
    most = ExpertBudget(by="law", weights={"qaa": 500.0})
    assert share_budget(most, TOKENS, TEXTS, tmp_path)[0] == pytest.approx([0.95, 0.05])
    assert re.search(r"mean loss is expected 0\.\d+ \[.*an even split, which would need", note)
    texts = [("seed", {"qaa": 6e4}), ("seed", {"qab": 6e4})]
    even, (said,) = share_budget(ExpertBudget(by="law"), TOKENS, texts, tmp_path)
    assert even == pytest.approx([0.5, 0.5])
    assert "no sure gain" in said
    assert share_budget(rule, TOKENS, TEXTS, None)[0] == pytest.approx([0.5, 0.5])


def test_a_language_in_several_clusters_counts_in_each_by_its_text(tmp_path: Path) -> None:
    base_run(tmp_path, {"qaa": 20.0, "qab": 20.0})
    rule = ExpertBudget(by="law", weights={"qaa": 50.0})
    whole = [("seed", {"qaa": 6e4}), ("seed", {"qab": 6e4})]
    topics = [("seed", {"qaa": 59e3, "qab": 1e3}), ("seed", {"qaa": 1e3, "qab": 59e3})]
    alone, nearly = (share_budget(rule, TOKENS, of, tmp_path)[0] for of in (whole, topics))
    assert alone[0] > 0.8
    assert nearly == pytest.approx(alone, abs=0.15)


def test_noise_in_the_losses_of_like_clusters_is_no_sure_gain(tmp_path: Path) -> None:
    like: dict[str, float] = dict.fromkeys(("qaa", "qab", "qac", "qad"), 20.0)
    texts = [("seed", {lang: 6e4}) for lang in like]
    for seed in range(8):
        base_run(tmp_path / str(seed), like, noise=0.02, seed=seed)
        shares, (note,) = share_budget(ExpertBudget(by="law"), TOKENS, texts, tmp_path / str(seed))
        assert "no sure gain" in note
        assert shares == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("by size", "not a rule; write `even`"),
        ({"by": "text", "weights": {"qaa": 2}}, "for `by: law`"),
        ({"by": "law", "max_epoch": 2}, "unknown key `max_epoch`"),
    ],
)
def test_wrong_rules_of_a_budget(rule: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shares_by(rule)


def test_what_a_law_cannot_do_without(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no 4 evaluations on qaa"):
        shares_by("by law", tmp_path)
    base_run(tmp_path, {"qaa": 20.0, "qab": 20.0, "qac": 20.0})
    with pytest.raises(UserError, match="`qax` is a language of no expert"):
        shares_by({"by": "law", "weights": {"qax": 2}}, tmp_path)
    sizes = TypeAdapter(Budget).validate_python("20 tokens per parameter")
    with pytest.raises(UserError, match="another number of tokens for each expert"):
        share_budget(ExpertBudget(by="law"), sizes, TEXTS, tmp_path)
