"""What the runs of a study are called in figures and words, and their evaluations as rows."""

from collections.abc import Iterable, Sequence

from tongues.laws.observed import RunCurves
from tongues.pages.axes import Row

__all__ = ["LOSS", "RUN_TIPS", "domain", "evaluations", "ranked", "series", "series_of"]

LOSS = "Loss (nats per token)"
RUN_TIPS = ("run", "shape=size", "tokens:.3s", "compute:.2e=FLOPs", "loss:.3f")


def series(strategy: str, replay: float = 0.0) -> str:
    """What the runs of a strategy are called in figures and words."""
    if strategy != "cpt":
        return strategy
    return f"CPT + {replay * 100:.3g} % replay" if replay else "CPT"


def domain(ratios: Iterable[float] = ()) -> list[str]:
    """Every series in the order of the palette, so that a colour means one thing everywhere."""
    return ["scratch", "CPT", *(series("cpt", ratio) for ratio in sorted(set(ratios) - {0.0}))]


def evaluations(run: RunCurves, lang: str | None = None) -> list[Row]:
    """A row per evaluation after the start, on the target or another language."""
    lang = lang or run.lang
    curve = run.curves[lang]
    shared: Row = {"series": series(run.strategy, run.replay), "target": run.target}
    shared |= {"run": run.name, "shape": run.shape, "seed": run.seed, "lang": lang}
    points = zip(curve.tokens.tolist(), curve.compute.tolist(), curve.loss.tolist(), strict=True)
    return [
        shared | {"tokens": tokens, "compute": compute, "loss": loss}
        for tokens, compute, loss in points
        if tokens > 0
    ]


def ranked(rows: Iterable[Row], sizes: Sequence[str]) -> list[Row]:
    """Rows with the place of their size among all, which colours stand for."""
    return [row | {"rank": sizes.index(row["shape"])} for row in rows]


def series_of(rows: Iterable[Row]) -> list[str]:
    """The series of rows, which a legend is to show."""
    return [row["series"] for row in rows]
