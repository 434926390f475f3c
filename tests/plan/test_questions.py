"""Fifteen questions that teams ask and ten abuses, through the library as they are typed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tongues
from tests.plan.test_plan import CPT, SCRATCH, fitted
from tongues.errors import UserError
from tongues.laws import Law, fit
from tongues.plan import Plan

OWN = [fitted("chinchilla", SCRATCH), fitted("cpt", CPT)]
DAYS = {"gpu": "h100", "gpus": 8, "hours": 72}
APERTUS = {"params": "8B", "tokens": "80B", "bases": ["swiss-ai/Apertus-8B-2509"]}


def taken(plan: Plan) -> Any:
    return plan.recommendation.option


QUESTIONS: list[tuple[str, Any, dict[str, Any], Callable[[Plan], bool]]] = [
    (
        "little text",
        OWN,
        DAYS | {"bases": ["llama=1.24B@9T"], "available_tokens": "0.9B"},
        lambda p: max(o.epochs or 0 for o in p.options) <= 16.01 and (taken(p).hours or 99) < 10,
    ),
    (
        "published laws, a base",
        [],
        DAYS | {"bases": ["llama=1.24B@9T"]},
        lambda p: taken(p).base == "llama" or not p.recommendation.decided,
    ),
    (
        "a national project",
        [],
        APERTUS | {"gpu": "gh200", "gpus": 64},
        lambda p: p.recommendation.decided and taken(p).base == "swiss-ai/Apertus-8B-2509",
    ),
    (
        "a law from scratch alone, a base",
        "hoffmann2022-full",
        APERTUS,
        lambda p: p.recommendation.by == "published" and bool(taken(p).base),
    ),
    (
        "two laws of one strategy",
        ["zheng2024-scratch", "zheng2024-scratch-compute"],
        {"flops": 1e19},
        lambda p: len(p.options) == 1 and taken(p).interval[0] < 2.45,
    ),
    (
        "laws that contradict",
        ["zheng2024-scratch", "zheng2024-cpt"],
        {"flops": 1e20},
        lambda p: not p.recommendation.decided,
    ),
    (
        "hours of GPUs",
        "hoffmann2022-full",
        DAYS,
        lambda p: (
            abs((p.question.flops or 0) / 8.2e20 - 1) < 0.01 and abs(taken(p).cost - 1440) < 1
        ),
    ),
    (
        "money",
        "hoffmann2022-full",
        {"cost": 5000, "gpu": "h100", "gpus": 8},
        lambda p: abs(taken(p).hours - 250) < 0.1,
    ),
    (
        "a loss to reach",
        "hoffmann2022-full",
        {"target_loss": 2.4},
        lambda p: abs(taken(p).loss - 2.4) < 1e-6,
    ),
    (
        "text in bytes",
        [],
        DAYS
        | {
            "bases": ["llama-3.2-1b"],
            "available_text": "3GB",
            "language": "sw",
            "max_forgetting": 0.01,
        },
        lambda p: taken(p).epochs <= 5.01 and taken(p).way.replay == 0.25 and len(p.caveats) <= 5,
    ),
    (
        "a larger base for the same text",
        OWN,
        {"flops": 3e20, "available_tokens": "4.2B", "bases": ["s=0.5B@10B", "l=2B@40B"]},
        lambda p: taken(p).base == "l",
    ),
    (
        "energy",
        "hoffmann2022-full",
        DAYS,
        lambda p: abs(taken(p).carbon - taken(p).energy * 0.445) < 1e-6,
    ),
    (
        "an untouched base that is better",
        [],
        {"flops": 1e19, "bases": ["huge=70B@15T"], "base_loss": 2.0},
        lambda p: not p.recommendation.decided and not taken(p).base,
    ),
    (
        "own laws, both ways",
        OWN,
        {"flops": 1e20, "bases": ["a=1B@20B"]},
        lambda p: p.recommendation.by == "laws" and (p.recommendation.share or 0) > 0.9,
    ),
]


@pytest.mark.parametrize(
    ("what", "laws", "asked", "right"), QUESTIONS, ids=[what for what, *_ in QUESTIONS]
)
def test_a_question_is_answered(
    what: str, laws: Any, asked: dict[str, Any], right: Callable[[Plan], bool]
) -> None:
    plan = tongues.plan(laws, **asked)
    assert right(plan), plan.summary()
    assert len(plan.sentences()) + len(plan.caveats) + len(plan.rows()) < 24


def noise() -> Law:
    N = np.repeat([3e7, 1e8, 3e8, 1e9], 5)
    D = N * np.tile([5, 10, 20, 40, 80], 4)
    return fit("chinchilla", np.random.default_rng(0).uniform(2, 4, 20), N=N, D=D, draws=20)


def perplexities() -> Law:
    N, D = (g.ravel() for g in np.meshgrid(np.geomspace(3e7, 1e9, 5), [1e9, 4e9, 2e10]))
    return fit("chinchilla", np.exp(OWN[0].loss(N, D)), N=N, D=D, draws=20)


ABUSES: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (lambda: "hoffmann2022", {"target_loss": 1.2}, "loss_out_of_reach"),
    (lambda: "hoffmann2022", {"params": "-1B", "tokens": "1B"}, "is not a count"),
    (lambda: "hoffmann2022", {"flops": 1e20, "hours": 3, "gpu": "h100"}, "two_budgets"),
    (lambda: "hoffmann2022", {"flops": 1e20, "gpu": "h1000"}, "did you mean `h100`"),
    (lambda: "hoffmann2022", {"flops": 1e20, "gpu": "h100", "mfu": 3}, "--mfu"),
    (lambda: "hoffmann2022", {"flops": 1e20, "gpu": "h100", "gpus": 0}, "--gpus"),
    (lambda: "hoffmann2022", {"flops": 1e20, "available_tokens": "3GB"}, "is not a count"),
    (lambda: "hoffmann2022", {"flops": 1e12}, "worse_than_guessing"),
    (noise, {"flops": 1e20}, "not_pinned_down"),
    (list, {"params": "70B", "tokens": "1B", "gpu": "rtx4090"}, "out_of_memory"),
]


@pytest.mark.parametrize(("law", "asked", "code"), ABUSES, ids=[code for *_, code in ABUSES])
def test_an_abuse_is_refused_in_words(
    law: Callable[[], Any], asked: dict[str, Any], code: str
) -> None:
    with pytest.raises(UserError) as refused:
        tongues.plan(law(), **asked)
    assert code in str(refused.value)
    assert refused.value.hint or refused.value.where


def test_perplexities_given_as_losses_are_not_planned_by() -> None:
    with pytest.raises(UserError):
        tongues.plan(perplexities(), flops=1e16)
