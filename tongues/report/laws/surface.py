"""The loss that laws promise over size and compute: lines of equal loss, and the best sizes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tongues.laws import Law, allocate, params_for, tokens_for
from tongues.pages import Figure
from tongues.pages.axes import SCIENTIFIC, Row, colour, logs
from tongues.pages.plots import alt, area, band, dots, line, panel, words
from tongues.report.laws.series import BEYOND, UNKNOWN, LawSeries, by_target

__all__ = ["loss_surface"]

_LEVELS = 5
_POINTS = 80


class _Frame(NamedTuple):
    """What is drawn: lowest and highest compute and size."""

    compute: tuple[float, float]
    size: tuple[float, float]


def loss_surface(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Lines of equal loss over compute and size, with each law's compute-optimal size.

    names: every series, in the order of their colours.
    """
    fitted = [one for one in fitted if one.law.equation.inverse]
    if not fitted:
        return None
    frame = _frame(fitted)
    targets = by_target(fitted)
    drawn = {target: _rows(of_target, frame) for target, of_target in targets.items()}
    rows = [row for of_target in drawn.values() for row in of_target]
    panels = tuple(
        _panel(_title(of_target), drawn[target], frame, names)
        for target, of_target in targets.items()
    )
    several = len({one.series for one in fitted}) > 1
    caption = _caption({row["kind"] for row in rows}, fitted[0].series, several)
    title = "The same loss from many sizes, the least compute at one"
    return Figure("equal-loss", title, caption, panels, tuple(rows))


def _caption(kinds: set[str], first: str, several: bool) -> str:
    said = ["Along a thin line the law promises the same loss, in nats per token."]
    if several:
        said.append(f"The numbers are at the lines of {first}.")
    if "frontier" in kinds:
        band = ", the band its 95 % interval" if "band" in kinds else ""
        said.append(f"The thick line is the size that needs the least compute for each loss{band}.")
    if "run" in kinds:
        said.append("Dots are where runs ended.")
    if "within" in kinds:
        said.append("Shaded: beyond the runs, a projection.")
    else:
        said.append("Nobody says on what runs the law was fitted: all of it may be projection.")
    return " ".join(said)


def _title(fitted: Sequence[LawSeries]) -> str:
    """How fast the best size grows, by each law."""
    powers = []
    for one in fitted:
        best = allocate(one.law)
        powers.append(f"C^{best.a:.2f} ({one.series})" if best else f"none ({one.series})")
    return fitted[0].title(f"Best size: {', '.join(powers)}")


def _frame(fitted: Sequence[LawSeries]) -> _Frame:
    """Around the runs and a step beyond; around usual budgets where no law tells of runs."""
    corners = np.concatenate([_known(one) for one in fitted])
    if len(corners):
        (least, smallest), (most, largest) = corners.min(0), corners.max(0)
        return _Frame((least, most * BEYOND), (smallest / 2, largest * 4))
    bests = [best for one in fitted if (best := allocate(one.law))]
    sizes = [best.sizes(C)[0] for best in bests for C in UNKNOWN] or [1e8, 1e12]
    return _Frame(UNKNOWN, (min(sizes) / 4, max(sizes) * 4))


def _known(one: LawSeries) -> np.ndarray:
    """Compute and size of every row, or of the corners of the law's range; none where unknown."""
    if one.rows is not None:
        N, D = one.rows.variables["N"], one.rows.variables["D"]
    elif one.range:
        N, D = (np.array(one.range[name]) for name in ("N", "D"))
        N, D = np.repeat(N, 2), np.tile(D, 2)
    else:
        return np.empty((0, 2))
    return np.stack([6.0 * N * D, N], axis=-1)


def _rows(fitted: Sequence[LawSeries], frame: _Frame) -> list[Row]:
    """All that one panel shows."""
    target = {"target": fitted[0].law.target}
    rows: list[Row] = []
    corners = np.concatenate([_known(one) for one in fitted])
    if len(np.unique(corners, axis=0)) > 2:
        rows += [
            target | {"kind": "within", "compute": C, "size": N, "corner": corner}
            for corner, (C, N) in enumerate(_hull(corners).tolist())
        ]
    levels = _levels(fitted[0].law, frame)
    for one in fitted:
        shared = target | {"series": one.series}
        for level in levels:
            shared_level = shared | {"kind": "contour", "loss": level}
            rows += [shared_level | point for point in _contour(one.law, level, frame)]
        rows += [shared | point for point in _frontier(one.law, frame)]
    for one in fitted:
        if one.rows is not None:
            rows += [target | {"series": one.series} | point for point in _ends(one)]
    return rows


def _levels(law: Law, frame: _Frame) -> list[float]:
    """Losses at even steps of compute along the best sizes, rounded to be read."""
    compute = np.geomspace(*frame.compute, _LEVELS + 2)[1:-1]
    best = allocate(law)
    N = np.sqrt(np.prod(frame.size))
    if best:
        N = np.clip(best.N_coef * compute**best.a, *frame.size)
    losses = law.loss(N, compute / (6.0 * N))
    for digits in (2, 3, 4):
        levels = dict.fromkeys(round(float(loss), digits) for loss in losses)
        if len(levels) == _LEVELS:
            break
    return list(levels)


def _contour(law: Law, loss: float, frame: _Frame) -> list[Row]:
    """Where the law promises that loss; none where no tokens would do."""
    N = np.geomspace(*frame.size, _POINTS)
    least_size = params_for(law, np.inf, loss)
    near = least_size * (1.0 + np.geomspace(1e-4, 1.0, _POINTS))  # where it turns level
    N = np.sort(np.concatenate([N, near[(near > N[0]) & (near < N[-1])]]))
    compute = 6.0 * N * tokens_for(law, N, loss)
    least, most = frame.compute
    inside = (compute > least / BEYOND) & (compute < most * BEYOND)  # the panel cuts the rest
    return [
        {"compute": float(C), "size": float(n)}
        for C, n in zip(compute[inside], N[inside], strict=True)
    ]


def _frontier(law: Law, frame: _Frame) -> list[Row]:
    """The best sizes, and their 95 % intervals where the law has draws."""
    best = allocate(law)
    if best is None:
        return []
    rows: list[Row] = []
    for C in np.geomspace(*frame.compute, _POINTS).tolist():
        if best.draws:
            low, high = best.sizes_interval(C)[0]
            rows.append({"kind": "band", "compute": C, "size": low, "size_high": high})
        rows.append({"kind": "frontier", "compute": C, "size": best.sizes(C)[0]})
    return rows


def _ends(one: LawSeries) -> list[Row]:
    """The last row of each run."""
    assert one.rows is not None
    N, D = one.rows.variables["N"], one.rows.variables["D"]
    order = np.argsort(D, kind="stable")
    last = dict(zip(one.rows.run[order].tolist(), order.tolist(), strict=True))
    return [
        {
            "kind": "run",
            "run": one.rows.runs[run],
            "compute": float(6.0 * N[i] * D[i]),
            "size": float(N[i]),
            "loss": float(one.rows.loss[i]),
        }
        for run, i in last.items()
    ]


def _hull(points: np.ndarray) -> np.ndarray:
    """The corners of the smallest convex shape in logs around the points, in order."""
    ordered = np.unique(np.log(points), axis=0)

    def side(points: np.ndarray) -> list[np.ndarray]:
        kept: list[np.ndarray] = []
        for point in points:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.exp(np.array(side(ordered) + side(ordered[::-1])))


def _turn(start: np.ndarray, middle: np.ndarray, end: np.ndarray) -> float:
    (x, y), (far_x, far_y) = middle - start, end - start
    return float(x * far_y - y * far_x)


def _panel(title: str, rows: Sequence[Row], frame: _Frame, names: Sequence[str]) -> alt.LayerChart:
    unit = "Training compute 6·N·D (FLOPs)"
    x = logs("compute", unit, frame.compute, SCIENTIFIC, margin=0.0, grid=False)
    y = logs("size", "Parameters", frame.size, margin=0.0, grid=False)
    tint = colour(names, [row["series"] for row in rows if "series" in row])

    def of(kind: str) -> list[Row]:
        return [row for row in rows if row["kind"] == kind]

    region, note = [], ()
    if within := of("within"):
        shape = {"interpolate": "linear-closed", "style": "within", "clip": True}
        region = [area(), line(within, x, y, order="corner", **shape)]
        place = {"align": "right", "baseline": "bottom", "dx": -6, "dy": -5}
        note = words("projection", "width", "height", "note", **place)
    # each level is written once, where the first law has its largest size in the frame
    contours = of("contour")
    digits = max(2, *(len(str(row["loss"]).partition(".")[2]) for row in contours))
    tops = {
        row["loss"]: row | {"text": f"{row['loss']:.{digits}f}"}
        for row in contours
        if row["series"] == contours[0]["series"]
        if frame.compute[0] <= row["compute"] <= 0.8 * frame.compute[1]
    }
    said = ("run", "size:.3s=parameters", "compute:.2e=FLOPs", "loss:.3f")
    thin = {"width": 1.1, "opacity": 0.75, "clip": True}
    return panel(
        title,
        *region,
        band(of("band"), x, y, "size_high", tint),
        line(contours, x, y, tint, "loss", order="size", **thin),
        line(of("frontier"), x, y, tint, width=3, clip=True),
        dots(of("run"), x, y, size=26, style="quiet", opacity=0.8, said=said),
        *words(tops.values(), x, y, dy=8),
        *note,
        height=340,
    )
