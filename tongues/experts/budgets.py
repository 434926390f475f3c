"""How the experts of a partition share a budget: equally, by their text, or by laws of their loss.

By law the loss of cluster i after D_i more tokens is E + B·(D_i + T_i)^-b, where T_i is what the
base has read of its languages; E, B and b come from the base's own evaluations. A language whose
text is in several clusters counts in each as much as its part there. The weighted mean is least
where w·b·B·(D + T)^-(1 + b) is the same for all clusters that get any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tongues.errors import UserError, nearest
from tongues.estimate import Estimate
from tongues.laws.mixtures import capped_shares
from tongues.quantities import Budget
from tongues.recipe import ExpertBudget
from tongues.roles import list_languages
from tongues.runs import Cells, run_rows

__all__ = ["LossDecline", "best_split", "fit_decline", "gain_over_even", "share_budget"]

_POWERS = np.linspace(0.05, 1.5, 30)  # b
_DRAWS = 200
_SETTLED = 0.05  # share of the base's tokens before which its losses do not follow the law
_FEWEST = 4  # evaluations of a base past that
_HALVINGS = 80
_WORTH = 1.005  # times the tokens, of which less is no gain
_LEAST = 0.1  # of an even share, for each expert
_FARTHEST = 64.0  # times the tokens, up to which an equal split is followed


@dataclass(frozen=True, slots=True, eq=False)
class LossDecline:
    """E, B and b of a cluster's loss: the most likely, and draws of them; and T, in tokens."""

    best: np.ndarray  # [3]
    draws: np.ndarray  # [draws, 3]
    before: float


def fit_decline(tokens: np.ndarray, losses: np.ndarray, *, seed: int = 1) -> LossDecline:
    """The law of a loss that was measured after some numbers of tokens, the last of them now.

    A loss that rises counts as one that stays.
    """
    count, scale = len(tokens), float(tokens[-1])
    misses, lines = [], []
    for power in _POWERS:
        design = np.stack([np.ones(count), (tokens / scale) ** -power], axis=1)
        line, *_ = np.linalg.lstsq(design, losses, rcond=None)
        misses.append(float(np.sum((design @ line - losses) ** 2)) + 1e-12)
        lines.append((line, np.linalg.inv(design.T @ design)))
    log_weight = -0.5 * (count - 2) * np.log(misses)
    weight = np.exp(log_weight - log_weight.max())
    random = np.random.default_rng(seed)
    draws = []
    for place in random.choice(len(_POWERS), _DRAWS, p=weight / weight.sum()):
        line, spread = lines[place]
        noise = misses[place] / max(count - 3, 1)
        drawn = random.multivariate_normal(line, spread * noise)
        power = _POWERS[place]
        draws.append([drawn[0], max(drawn[1], 0.0) * scale**power, power])
    best = int(weight.argmax())
    (floor, factor), power = lines[best][0], _POWERS[best]
    likely = np.array([floor, max(factor, 0.0) * scale**power, power])
    return LossDecline(likely, np.array(draws), scale)


def share_budget(
    rule: ExpertBudget,
    budget: Budget,
    experts: Sequence[tuple[str, Mapping[str, float]]],
    workspace: Path | None,
) -> tuple[list[float], tuple[str, ...]]:
    """The share of each expert, and sentences about it; none where all are equal.

    experts: the base of each, and its training tokens by language. workspace: of the bases.
    """
    if (rule.by == "even" and rule.max_epochs == "off") or len(experts) == 1:
        return [], ()
    texts = np.array([sum(amounts.values()) for _, amounts in experts])
    if rule.by == "text" and rule.max_epochs == "off":
        return list(texts / texts.sum()), ()
    if budget.unit != "tokens":
        what = f"a budget in {budget.unit} has another number of tokens for each expert"
        hint = "give `train.budget` in tokens, or `experts.budget: by text` without a limit"
        raise UserError(what, where="train.budget", hint=hint)
    caps = np.full(len(texts), np.inf) if rule.max_epochs == "off" else texts * rule.max_epochs
    equal = np.ones(len(texts))
    even = capped_shares(texts if rule.by == "text" else equal, caps, budget.amount)
    if rule.by != "law" or workspace is None:
        return list(even), ()
    known = {
        lang: sum(amounts.get(lang, 0.0) for _, amounts in experts)
        for _, own in experts
        for lang in own
    }
    if strange := next((lang for lang in rule.weights if lang not in known), None):
        what, hint = f"`{strange}` is a language of no expert", nearest(strange, known)
        raise UserError(what, where="experts.budget.weights", hint=hint)
    parts = [{lang: amounts[lang] / known[lang] for lang in amounts} for _, amounts in experts]
    weights = np.array([sum(rule.weights.get(lang, 1.0) * of[lang] for lang in of) for of in parts])
    if not weights.sum():
        raise UserError(
            "no language counts", where="experts.budget.weights", hint="give one above 0"
        )
    weights = weights / weights.sum()
    declines = [
        _decline(base, of, workspace, rule.weights, seed=number)
        for number, ((base, _), of) in enumerate(zip(experts, parts, strict=True), 1)
    ]
    best = best_split(declines, weights, caps, budget.amount)
    nats, gain = gain_over_even(declines, weights, best, caps, budget.amount)
    times = f"{gain.value:.3g} [{gain.low:.3g}, {gain.high:.3g}] times the tokens"
    if gain.low is None or gain.low < _WORTH:
        note = f"budget by law: no sure gain, an even split would need {times}: it is even"
        return list(even), (note,)
    lower = f"the mean loss is expected {nats.value:.3f} [{nats.low:.3f}, {nats.high:.3f}] lower"
    note = f"budget by law: {lower} than after an even split, which would need {times} for it"
    return list(best), (note,)


def _decline(
    base: str,
    parts: Mapping[str, float],
    workspace: Path,
    weights: Mapping[str, float],
    *,
    seed: int,
) -> LossDecline:
    """Of the weighted mean loss on a cluster's languages, by the evaluations of a run.

    parts: shares of the languages' text that are in the cluster; they count as much. seed: of the
    draws; another one for each cluster, since their errors are independent.
    """
    folder = workspace / "runs" / base
    by_step: dict[int, dict[str, Cells]] = {}
    for row in run_rows([folder]) if folder.is_dir() else ():
        if row["lang"] in parts and row["step"]:
            by_step.setdefault(row["step"], {})[row["lang"]] = row
    whole = [by_step[step] for step in sorted(by_step) if len(by_step[step]) == len(parts)]
    read = [sum(rows[lang]["tokens_lang"] * parts[lang] for lang in parts) for rows in whole]
    tokens, each = np.array(read), np.array([weights.get(x, 1.0) * parts[x] for x in parts])
    each = each / each.sum() if each.sum() else np.full(len(each), 1 / len(each))
    losses = np.array([each @ [rows[lang]["loss"] for lang in parts] for rows in whole])
    kept = tokens > _SETTLED * tokens.max(initial=0.0)
    if kept.sum() < _FEWEST:
        what = (
            f"`{base}` has no {_FEWEST} evaluations on {list_languages(list(parts))} as it learned"
        )
        hint = "train a base with more `num_evals`, or write `budget: by text`"
        raise UserError(what, where="experts.budget", hint=hint)
    return fit_decline(tokens[kept], losses[kept], seed=seed)


def best_split(
    declines: Sequence[LossDecline], weights: np.ndarray, caps: np.ndarray, tokens: float
) -> np.ndarray:
    """Shares of `tokens` with the least weighted mean loss, none above its cap in tokens.

    None gets less than a tenth of an even share: an expert that is not trained is the base.
    """
    _, factor, power = np.array([one.best for one in declines]).T
    before, caps = np.array([one.before for one in declines]), np.minimum(caps, tokens)
    if caps.sum() <= tokens:
        return caps / caps.sum()

    def amounts(log_price: float) -> np.ndarray:
        log_worth = np.log(np.maximum(weights * power * factor, 1e-300))
        wanted = np.exp((log_worth - log_price) / (1 + power)) - before
        return np.clip(wanted, np.minimum(_LEAST * tokens / len(caps), caps), caps)

    low, high = -200.0, 100.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if amounts(middle).sum() > tokens else (low, middle)
    least = amounts(high)
    return least / least.sum()


def gain_over_even(
    declines: Sequence[LossDecline],
    weights: np.ndarray,
    shares: np.ndarray,
    caps: np.ndarray,
    tokens: float,
) -> tuple[Estimate, Estimate]:
    """Of this split over an equal one: nats of the mean loss, and times the tokens for the same.

    Medians of the draws: the constants that the split was chosen for would promise too much.
    """
    before = np.array([one.before for one in declines])

    def loss(constants: np.ndarray, spent: np.ndarray) -> float:
        floor, factor, power = constants.T
        return float(weights @ (floor + factor * (spent + before) ** -power))

    def equal(total: float) -> np.ndarray:
        return np.minimum(capped_shares(np.ones(len(caps)), caps, total) * total, caps)

    def gain(constants: np.ndarray) -> tuple[float, float]:
        target = loss(constants, shares * tokens)
        low, high = np.log(1 / _FARTHEST), np.log(_FARTHEST)
        for _ in range(_HALVINGS // 2):
            middle = (low + high) / 2
            higher = loss(constants, equal(tokens * np.exp(middle))) > target
            low, high = (middle, high) if higher else (low, middle)
        return loss(constants, equal(tokens)) - target, float(np.exp(high))

    each = zip(*(one.draws for one in declines), strict=True)
    draws = np.array([gain(np.array(constants)) for constants in each])
    lows, middles, highs = np.quantile(draws, [0.025, 0.5, 0.975], axis=0)
    units, method = ("nats per token", "times the tokens"), "draws of the laws"
    nats, times = (
        Estimate(float(value), float(low), float(high), unit, method=method)
        for value, low, high, unit in zip(middles, lows, highs, units, strict=True)
    )
    return nats, times
