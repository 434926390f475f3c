"""Some runs of a study, chosen by a condition, with the bases they need."""

from collections.abc import Sequence

from tongues.runs import JOINED
from tongues.tables import Table, select
from tongues.train import Derived, RunPlan

__all__ = ["choose"]


def choose(
    pairs: Sequence[tuple[RunPlan, Derived]], condition: str
) -> list[tuple[RunPlan, Derived]]:
    """The runs of which `condition` is true, and their bases, in the order given.

    Its columns: run, strategy, target, base_languages, replay, shape, seed, params, tokens, flops.
    """
    columns = {
        "run": [plan.name.rpartition("/")[2] for plan, _ in pairs],
        "strategy": [plan.strategy for plan, _ in pairs],
        "target": [JOINED.join(plan.roles.targets) for plan, _ in pairs],
        "base_languages": [JOINED.join(plan.roles.base_languages) for plan, _ in pairs],
        "replay": [plan.roles.replay_share for plan, _ in pairs],
        "shape": [derived.anatomy.name for _, derived in pairs],
        "seed": [plan.settings.seed for plan, _ in pairs],
        "params": [derived.parameters["total"] for _, derived in pairs],
        "tokens": [derived.tokens for _, derived in pairs],
        "flops": [derived.flops for _, derived in pairs],
    }
    names = [plan.name for plan, _ in pairs]
    wanted = set(select(Table(columns, names), condition).places)
    wanted |= {plan.base for plan, _ in pairs if plan.name in wanted and plan.base}
    return [pair for pair in pairs if pair[0].name in wanted]
