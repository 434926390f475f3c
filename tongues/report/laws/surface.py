"""The loss by laws over size and compute: lines of equal loss, and the best sizes."""

from collections.abc import Sequence

import numpy as np

from tongues.core.pages import Figure
from tongues.core.pages.axes import SCIENTIFIC, Row, colour, logs
from tongues.core.pages.plots import alt, band, beyond, dots, line, panel, words
from tongues.laws import Law, allocate
from tongues.report.laws.series import (
    BAND,
    BEYOND,
    UNKNOWN,
    LawSeries,
    by_target,
    compute_known,
    of_kind,
    points,
)
from tongues.report.words import SAID

_POINTS = 80  # of a curve; chosen: no corner is seen
_LEVELS = 5  # of loss; chosen: their numbers do not overlap
_RUN_TIPS = ("run", "size:.3s=parameters", "compute:.2e=FLOPs", "loss:.3f")
Ends = tuple[float, float]


def loss_surface(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Lines of equal loss over compute and size, with each law's compute-optimal size.

    names: every series, in the order of their colours.
    """
    forms = ((each, each.law.equation) for each in fitted)
    fitted = [each for each, form in forms if form.split and set(form.variables) == {"N", "D"}]
    if not fitted:
        return None
    corners = np.concatenate([each.corners for each in fitted])
    if len(corners):  # around the runs and a step beyond
        (least, smallest), (most, largest) = corners.min(0).tolist(), corners.max(0).tolist()
        compute, size = (least, most * BEYOND), (smallest / 2, largest * 4)
    else:
        best = [found for each in fitted if (found := allocate(each.law))]
        sizes = [one.sizes(C)[0] for one in best for C in UNKNOWN] or [1e8, 1e12]
        compute, size = UNKNOWN, (min(sizes) / 4, max(sizes) * 4)
    rows, panels = list[Row](), list[alt.LayerChart]()
    for own in by_target(fitted).values():
        drawn = _surface_rows(own, compute, size)
        best = [(each.series, allocate(each.law)) for each in own]
        powers = [f"C^{found.a:.2f} ({s})" if found else f"none ({s})" for s, found in best]
        title = own[0].title(f"Best size: {', '.join(powers)}")
        known = compute_known(own)
        panels.append(_surface_panel(title, drawn, (compute, size), names, known and known[1]))
        rows += drawn
    kinds = {row["kind"] for row in rows}
    several = len({each.series for each in fitted}) > 1
    caption = (
        SAID["contours"],
        SAID["contours_of"].format(fitted[0].series) if several else "",
        SAID["frontier"] if "frontier" in kinds else "",
        BAND if "band" in kinds else "",
        SAID["ends"] if "run" in kinds else "",
        SAID["shaded" if len(corners) else "unknown_runs"],
    )
    title = "The same loss from many sizes, the least compute at one"
    return Figure.of("equal-loss", title, caption, panels, rows)


def _surface_rows(fitted: Sequence[LawSeries], compute: Ends, size: Ends) -> list[Row]:
    target: Row = {"target": fitted[0].law.target}
    rows: list[Row] = []
    levels = _levels(fitted[0].law, compute, size)
    C = np.geomspace(*compute, _POINTS)
    for each in fitted:
        shared = target | {"series": each.series}
        for level in levels:
            contour = shared | {"kind": "contour", "loss": level}
            rows += points(contour, **_contour(each.law, level, compute, size))
        if best := allocate(each.law):
            frontier = np.array([best.sizes(flops)[0] for flops in C])
            rows += points(shared | {"kind": "frontier"}, compute=C, size=frontier)
        if best and best.draws:
            low, high = np.array([best.sizes_interval(flops)[0] for flops in C]).T
            rows += points(shared | {"kind": "band"}, compute=C, size=low, size_high=high)
        if each.rows is not None:  # the last row of each run
            order = np.argsort(each.rows.variables["D"], kind="stable")
            last = dict(zip(each.rows.run[order].tolist(), order.tolist(), strict=True))
            names, ends = [each.rows.runs[run] for run in last], list(last.values())
            columns = dict(zip(("compute", "size"), each.corners[ends].T, strict=True))
            columns = {"run": np.array(names, object), **columns, "loss": each.rows.loss[ends]}
            rows += points(shared | {"kind": "run"}, **columns)
    return rows


def _levels(law: Law, compute: Ends, size: Ends) -> list[float]:
    """Losses at even steps of compute along the best sizes, rounded to be read."""
    C, best = np.geomspace(*compute, _LEVELS + 2)[1:-1], allocate(law)
    N = np.clip(best.N_coef * C**best.a, *size) if best else np.sqrt(np.prod(size))
    losses = law.loss(N, C / (6.0 * N)).tolist()
    every = [list(dict.fromkeys(round(loss, digits) for loss in losses)) for digits in (2, 3, 4)]
    return next((levels for levels in every if len(levels) == _LEVELS), every[-1])


def _contour(law: Law, loss: float, compute: Ends, size: Ends) -> dict[str, np.ndarray]:
    """Where the law predicts that loss; none where no tokens would do."""
    N = np.geomspace(*size, _POINTS)
    split = law.equation.split
    assert split  # of all laws that are drawn
    beyond = 1.0 + np.geomspace(1e-4, 1.0, _POINTS)
    near = split.smallest(law.params, loss) * beyond  # where it turns level
    N = np.sort(np.concatenate([N, near[(near > N[0]) & (near < N[-1])]]))
    C = 6.0 * N * split.tokens(law.params, N, loss)
    inside = (compute[0] / BEYOND < C) & (compute[1] * BEYOND > C)  # the panel cuts the rest
    return {"compute": C[inside], "size": N[inside]}


def _surface_panel(
    title: str,
    rows: Sequence[Row],
    ends: tuple[Ends, Ends],
    names: Sequence[str],
    most: float | None,
) -> alt.LayerChart:
    """ends: of compute and size. most: compute of the runs, beyond which the panel is shaded."""
    compute, size = ends
    unit = "Training compute 6·N·D (FLOPs)"
    x = logs("compute", unit, compute, SCIENTIFIC, margin=0.0, grid=False)
    y = logs("size", "Parameters", size, margin=0.0, grid=False)
    tint = colour(names, (row for row in rows if "series" in row))
    # each level is written once, where the first law has its largest size in the frame
    contours = of_kind(rows, "contour")
    digits = max(2, *(len(str(row["loss"]).partition(".")[2]) for row in contours))
    tops = {
        row["loss"]: row | {"text": f"{row['loss']:.{digits}f}"}
        for row in contours
        if row["series"] == contours[0]["series"]
        if compute[0] <= row["compute"] <= 0.8 * compute[1]
    }
    thin, named = Row(width=1.1, opacity=0.75, clip=True), list(tops.values())
    return panel(
        title,
        *beyond(x, most),
        band(of_kind(rows, "band"), x, y, "size_high", tint),
        line(contours, x, y, tint, "loss", order="size", **thin),
        line(of_kind(rows, "frontier"), x, y, tint, width=3, clip=True),
        dots(of_kind(rows, "run"), x, y, tint, size=30, opacity=0.85, tooltip=_RUN_TIPS),
        *words(named[::2], x, y, dy=8),  # by turns, so that none lies on another
        *words(named[1::2], x, y, dy=22),
        height=340,
    )
