"""What the strategies of runs are called in figures and words, in the order of the palette."""

from collections.abc import Iterable, Sequence

from tongues.pages.axes import Row

__all__ = ["LOSS", "domain", "ranked", "series_name", "series_of"]

LOSS = "Loss (nats per token)"


def series_name(strategy: str, replay: float = 0.0) -> str:
    """What the runs of a strategy are called in figures and words."""
    if strategy != "cpt":
        return strategy
    return f"CPT + {replay * 100:.3g} % replay" if replay else "CPT"


def domain(ratios: Iterable[float] = ()) -> list[str]:
    """Every series in the order of the palette, so that a colour means one thing everywhere."""
    return ["scratch", "CPT", *(series_name("cpt", ratio) for ratio in sorted(set(ratios) - {0.0}))]


def ranked(rows: Iterable[Row], sizes: Sequence[str]) -> list[Row]:
    """Rows with the place of their size among all, which sets its colour."""
    return [row | {"rank": sizes.index(row["shape"])} for row in rows]


def series_of(rows: Iterable[Row]) -> list[str]:
    """The series of rows, which a legend is to show."""
    return [row["series"] for row in rows]
