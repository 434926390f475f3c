"""Questions that teams ask, through the library as they are typed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tongues
from tests.golden import golden
from tests.plan.test_plan import CPT, SCRATCH, fitted
from tongues.errors import UserError
from tongues.laws import fit
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
]


@pytest.mark.parametrize(
    ("what", "laws", "asked", "right"), QUESTIONS, ids=[what for what, *_ in QUESTIONS]
)
def test_a_question_is_answered(
    what: str, laws: Any, asked: dict[str, Any], right: Callable[[Plan], bool]
) -> None:
    plan = tongues.plan(laws, **asked)
    assert right(plan)
    assert len(plan.sentences()) + len(plan.caveats) + len(plan.rows()) < 24
    golden(f"plan/{what}", plan.summary())


def test_perplexities_given_as_losses_are_not_planned_by() -> None:
    N, D = (g.ravel() for g in np.meshgrid(np.geomspace(3e7, 1e9, 5), [1e9, 4e9, 2e10]))
    law = fit("chinchilla", np.exp(OWN[0].loss(N, D)), N=N, D=D, draws=20)
    with pytest.raises(UserError):
        tongues.plan(law, flops=1e16)
