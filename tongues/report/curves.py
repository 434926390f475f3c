"""The evaluations of a run as the rows of a figure."""

from tongues.laws.observed import RunCurves
from tongues.pages.axes import Row
from tongues.pages.series import series_name

__all__ = ["RUN_TIPS", "evaluations"]

RUN_TIPS = ("run", "shape=size", "tokens:.3s", "compute:.2e=FLOPs", "loss:.3f")


def evaluations(run: RunCurves, lang: str | None = None) -> list[Row]:
    """A row per evaluation after the start, on the target or another language."""
    lang = lang or run.lang
    curve = run.curves[lang]
    shared: Row = {"series": series_name(run.strategy, run.replay), "target": run.target}
    shared |= {"run": run.name, "shape": run.shape, "seed": run.seed, "lang": lang}
    points = zip(curve.tokens.tolist(), curve.compute.tolist(), curve.loss.tolist(), strict=True)
    return [
        shared | {"tokens": tokens, "compute": compute, "loss": loss}
        for tokens, compute, loss in points
        if tokens > 0
    ]
