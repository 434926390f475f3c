"""A run's record as it stands before the first step."""

import platform
from pathlib import Path

import torch
import transformers

from tongues import __version__
from tongues.files import file_hash, fingerprint
from tongues.runs import Record, read_record
from tongues.tokens import Mixture, Tokens
from tongues.train.plan import Derived, RunPlan

__all__ = ["make_record", "run_fingerprint"]


def run_fingerprint(plan: RunPlan, tokens: Tokens, parent: Path | None) -> str:
    """Changes when the settings, the tokens or the parent do: all that decides the result."""
    return fingerprint([plan.identity(), tokens.fingerprint, _parent_fingerprint(parent)])


def make_record(
    plan: RunPlan, derived: Derived, tokens: Tokens, mixture: Mixture, parent: Path | None
) -> Record:
    """`run.json` of a run that has not begun."""
    return Record(
        run=plan.name,
        fingerprint=run_fingerprint(plan, tokens, parent),
        status="running",
        strategy=plan.strategy,
        target=plan.target,
        source=plan.source,
        replay=plan.replay,
        parent=plan.parent,
        parent_fingerprint=_parent_fingerprint(parent),
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


def _parent_fingerprint(parent: Path | None) -> str | None:
    """Of the run that is the parent, or of a folder's weights."""
    if parent is None:
        return None
    if (parent / "run.json").is_file():
        return read_record(parent)["fingerprint"]
    return fingerprint([file_hash(file) for file in sorted(parent.glob("*.safetensors"))])
