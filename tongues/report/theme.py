"""What the runs of a strategy are called, and the order of their colours."""

from collections.abc import Iterable

__all__ = ["LOSS", "domain", "series"]

LOSS = "Loss (nats per token)"


def series(strategy: str, replay: float) -> str:
    """What the runs of a strategy are called in figures and words."""
    if strategy != "cpt":
        return strategy
    return f"CPT + {replay * 100:.3g} % replay" if replay else "CPT"


def domain(ratios: Iterable[float]) -> list[str]:
    """Every series in the order of the palette, so that a colour means one thing everywhere."""
    with_replay = sorted(set(ratios) - {0.0})
    return ["scratch", "CPT", *(series("cpt", ratio) for ratio in with_replay)]
