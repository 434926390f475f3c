"""What the runs of a study are called in figures and words, and their evaluations as rows."""

from collections.abc import Iterable, Sequence
from typing import Any

from tongues.laws.observed import RunCurves

__all__ = ["LOSS", "RUN_TIPS", "domain", "evaluations", "ranked", "series"]

LOSS = "Loss (nats per token)"
RUN_TIPS = ("run", "shape=size", "tokens:.3s", "compute:.2e=FLOPs", "loss:.3f")


def series(strategy: str, replay: float) -> str:
    """What the runs of a strategy are called in figures and words."""
    if strategy != "cpt":
        return strategy
    return f"CPT + {replay * 100:.3g} % replay" if replay else "CPT"


def domain(ratios: Iterable[float]) -> list[str]:
    """Every series in the order of the palette, so that a colour means one thing everywhere."""
    with_replay = sorted(set(ratios) - {0.0})
    return ["scratch", "CPT", *(series("cpt", ratio) for ratio in with_replay)]


def evaluations(run: RunCurves, lang: str | None = None) -> list[dict[str, Any]]:
    """A row per evaluation after the start, on the target or another language."""
    lang = lang or run.lang
    curve = run.curves[lang]
    shared = {"series": series(run.strategy, run.replay), "target": run.target, "run": run.name}
    shared |= {"shape": run.shape, "seed": run.seed, "lang": lang}
    return [
        shared | {"tokens": float(tokens), "compute": float(compute), "loss": float(loss)}
        for tokens, compute, loss in zip(curve.tokens, curve.compute, curve.loss, strict=True)
        if tokens > 0
    ]


def ranked(rows: Iterable[dict[str, Any]], sizes: Sequence[str]) -> list[dict[str, Any]]:
    """Rows with the place of their size among all, which colours stand for."""
    return [row | {"rank": sizes.index(row["shape"])} for row in rows]
