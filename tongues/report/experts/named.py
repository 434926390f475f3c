"""Which points of a figure have room for a name."""

from collections.abc import Callable, Mapping, Sequence
from math import hypot, log
from typing import Any

__all__ = ["apart"]

_NEAR = (0.085, 0.055)  # of a panel's width and height: what a short name takes


def apart(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, *, along: Callable[[float], float] = log
) -> list[Mapping[str, Any]]:
    """Rows whose names, to the right of their points, would not lie on another point or name.

    x: the field along the axis that `along` stretches; y: on the other.
    """
    places = [(along(row[x]), row[y]) for row in rows]
    units = [
        (max(values) - min(values) or 1.0) * near
        for values, near in zip(zip(*places, strict=True), _NEAR, strict=True)
    ]
    scaled = [(a / units[0], b / units[1]) for a, b in places]
    kept: list[int] = []
    for number, (a, b) in enumerate(scaled):
        covered = any(
            0 <= c - a < 1 and abs(d - b) < 1 for c, d in (*scaled[:number], *scaled[number + 1 :])
        )
        if not covered and all(hypot(scaled[i][0] - a, scaled[i][1] - b) >= 1 for i in kept):
            kept.append(number)
    return [rows[number] for number in kept]
