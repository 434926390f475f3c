"""A run's fingerprint: what decides its result, known before it runs."""

from pathlib import Path

from tongues.files import file_hash, fingerprint
from tongues.runs import read_record
from tongues.tokens import Tokens
from tongues.train.plan import RunPlan

__all__ = ["parent_fingerprint", "run_fingerprint"]


def run_fingerprint(plan: RunPlan, tokens: Tokens, parent: str | None) -> str:
    """Changes when the settings, the tokens or the parent's fingerprint do: all that decides."""
    return fingerprint([plan.identity(), tokens.fingerprint, parent])


def parent_fingerprint(parent: Path | None) -> str | None:
    """Of the run in a directory, or of the weights in a Hugging Face folder."""
    if parent is None:
        return None
    if (parent / "run.json").is_file():
        return read_record(parent)["fingerprint"]
    return fingerprint([file_hash(file) for file in sorted(parent.glob("*.safetensors"))])
