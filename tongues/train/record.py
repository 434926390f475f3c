"""A run's record as it stands before the first step."""

import platform
from pathlib import Path

import torch
import transformers

from tongues import __version__
from tongues.runs import Record
from tongues.tokens import Mixture, Tokens
from tongues.train.fingerprints import parent_fingerprint, run_fingerprint
from tongues.train.plan import Derived, RunPlan

__all__ = ["make_record"]


def make_record(
    plan: RunPlan, derived: Derived, tokens: Tokens, mixture: Mixture, parent: Path | None
) -> Record:
    """`run.json` of a run that has not begun."""
    origin = parent_fingerprint(parent)
    return Record(
        run=plan.name,
        fingerprint=run_fingerprint(plan, tokens, origin),
        status="running",
        strategy=plan.strategy,
        target=plan.target,
        source=plan.source,
        replay=plan.replay,
        parent=plan.parent,
        parent_fingerprint=origin,
        shape=derived.anatomy.name,
        family=derived.anatomy.family,
        params=derived.parameters,
        seed=plan.settings.seed,
        steps=derived.steps,
        tokens=derived.tokens,
        flops=derived.flops,
        batch=derived.batch,
        rate=derived.rate,
        shares=plan.shares,
        foreign={lang: tokens.foreign[lang] for lang in plan.shares},
        epochs=mixture.epochs(derived.tokens // plan.settings.context),
        surgery=None,
        engine=None,
        settings=plan.identity(),
        tokens_fingerprint=tokens.fingerprint,
        versions={
            "tongues": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
        seconds=None,
    )
