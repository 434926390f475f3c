"""Records of runs for tests: a whole one, of which a test changes what it is about."""

from dataclasses import replace
from typing import Any

from tongues.runs.record import Base, Parameters, Run

BASE = Base(model="study/base", languages=("qaa",), fingerprint="p")

_SCRATCH = Run(
    run="study/run",
    fingerprint="f",
    status="finished",
    strategy="scratch",
    base=None,
    targets=("qab",),
    replay={},
    shape="1M",
    family="llama",
    params=Parameters(total=1_500_000, embedding=500_000, non_embedding=1_000_000),
    seed=1,
    steps=10,
    tokens=10_000,
    flops=9e10,
    batch=1000,
    learning_rate=3e-3,
    shares={"qab": 1.0},
    epochs={"qab": 1.0},
    foreign={"qab": None},
    vocabulary_extension=None,
    engine=None,
    settings={},
    tokens_fingerprint="t",
    versions={"tongues": "0.1.0", "torch": "2.13.0"},
    seconds=60.0,
)


def make_run(**changes: Any) -> Run:
    """A finished run from scratch; changes: fields that differ."""
    return replace(_SCRATCH, **changes)
