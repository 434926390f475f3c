"""Stages: the speed of SmolLM2-135M and of a 1B shape."""

from common import Bench, measure

OURS = "ours 1B"  # the figure that peers are compared with


def smollm2(bench: Bench) -> None:
    """SmolLM2-135M, all of it trained: compiled, and not."""
    for label, changes in (
        ("SmolLM2-135M compiled", ("train.compile=on",)),
        ("SmolLM2-135M not compiled", ("train.compile=off",)),
    ):
        with bench.attempt(label):
            measure(bench, label, bench.plan(*changes, base=bench.smollm2), bench.smollm2)


def ours_1b(bench: Bench) -> None:
    """The 1B shape from random weights: compiled, and not; with smaller micro-batches."""
    small = bench.sizes.context * 4
    variants: list[tuple[str, tuple[str, ...]]] = [
        ("compiled", ()),
        ("not compiled", ("train.compile=off",)),
        (f"compiled, micro-batch {small}", (f"train.micro_batch={small} tokens",)),
        ("compiled, recompute", ("train.recompute=true",)),
    ]
    for label, changes in variants[:2] if bench.rehearse else variants:
        with bench.attempt(label):
            name = OURS if label == "compiled" else None
            measure(bench, f"{bench.sizes.billion.name} {label}", bench.plan(*changes), name=name)
