"""What a law of continued training saves against the law from scratch it stands on."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tongues.errors import Caution
from tongues.estimate import Estimate
from tongues.laws.allocation import allocate
from tongues.laws.frontier import about_saving, implied_saving, implied_saving_interval
from tongues.laws.law import Law
from tongues.laws.transfer import saved_at_size
from tongues.quantities import show_count

__all__ = ["Implied", "Saved", "implied_by"]

_POINTS = 3  # of compute and of tokens per parameter, over the range of the continued runs
_SIZES = 6  # at most, over the same range


@dataclass(frozen=True, slots=True)
class Saved:
    """What is saved at one amount of compute, or one size and number of tokens.

    C: FLOPs of training from scratch. N, D: size and tokens; None along the best sizes.
    share: of the compute, at equal loss. transferred: tokens from scratch it stands in for.
    """

    C: float
    N: float | None
    D: float | None
    share: Estimate
    transferred: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Implied:
    """Savings along the best sizes, and size by size, with what to doubt."""

    over_compute: tuple[Saved, ...] = ()
    by_size: tuple[Saved, ...] = ()
    warnings: tuple[Caution, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What continuing saves against training from scratch, a line each."""
        lines = [
            f"saved at the loss of {one.C:.2g} FLOPs from scratch, best sizes: "
            + _percent(one.share)
            for one in self.over_compute
        ]
        for one in (self.by_size[0], self.by_size[-1]) if self.by_size else ():
            tokens = (one.transferred and one.transferred.value) or 0.0
            lines.append(
                f"saved at {show_count(one.N or 0)} parameters after {show_count(one.D or 0)} "
                f"tokens: {_percent(one.share)}, or {show_count(tokens)} tokens transferred"
            )
        return lines

    def to_json(self) -> dict[str, list[dict[str, object]]]:
        """Plain JSON values."""
        return {
            "over_compute": [asdict(one) for one in self.over_compute],
            "by_size": [asdict(one) for one in self.by_size],
        }


def implied_by(scratch: Law, cpt: Law) -> Implied:
    """The savings within the range the continued runs cover."""
    if not cpt.range:
        return Implied()
    sizes = np.unique(np.geomspace(*cpt.range["N"], _SIZES))
    ratios = np.unique(np.geomspace(*cpt.range["D/N"], _POINTS))
    N, D = (grid.ravel() for grid in np.meshgrid(sizes, ratios, indexing="ij"))
    by_size = _by_size(scratch, cpt, N, D * N)
    if allocate(scratch) is None or allocate(cpt) is None:
        return Implied((), by_size, _about_sizes(by_size))
    compute = np.geomspace(*cpt.range["C"], _POINTS)
    share = implied_saving(scratch, cpt, compute)
    low = high = np.full(_POINTS, np.nan)
    if scratch.draws and cpt.draws:
        low, high = implied_saving_interval(scratch, cpt, compute)
    along = tuple(
        Saved(float(C), None, None, _estimate(share[i], low[i], high[i]))
        for i, C in enumerate(compute)
    )
    return Implied(along, by_size, about_saving(scratch, cpt, compute) or _about_sizes(by_size))


def _about_sizes(by_size: Sequence[Saved]) -> tuple[Caution, ...]:
    """A caution where continuing costs more at some size and number of tokens of the runs."""
    worse = [one for one in by_size if (one.share.value or 0.0) < 0]
    if not worse:
        return ()
    where = ", ".join(f"{one.N:.2g} parameters after {one.D:.2g} tokens" for one in worse[:3])
    more = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
    what = "these laws make continued training cost more than training from scratch at"
    return (Caution("negative_saving", f"{what} {where}{more}"),)


def _by_size(scratch: Law, cpt: Law, sizes: np.ndarray, tokens: np.ndarray) -> tuple[Saved, ...]:
    saved = saved_at_size(scratch, cpt, sizes, tokens)
    return tuple(
        Saved(
            float(6.0 * N * D),
            float(N),
            float(D),
            *(_estimate(*(end[i] for end in saved[name])) for name in ("share", "transferred")),
        )
        for i, (N, D) in enumerate(zip(sizes, tokens, strict=True))
    )


def _estimate(value: float, low: float, high: float) -> Estimate:
    if np.isnan(low):
        return Estimate(float(value))
    return Estimate(float(value), float(low), float(high))


def _percent(of: Estimate) -> str:
    ends = f" [{of.low:.0%}, {of.high:.0%}]" if of.low is not None else ""
    return f"{of.value:.0%}{ends}"
