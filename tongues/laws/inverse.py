"""Laws turned round: compute, tokens, size or replay for a loss, and what continuing saves.

Coefficients of two laws are never divided.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.laws.allocation import allocate
from tongues.laws.fit import records
from tongues.laws.forms import FORMS, Inverse, Values
from tongues.laws.law import Law
from tongues.laws.rows import positive
from tongues.laws.uncertainty import bootstrap_intervals, percentiles, upright
from tongues.magnitudes import show_count

__all__ = [
    "Implied",
    "LeastReplay",
    "Saved",
    "about_saving",
    "compute_of",
    "envelope",
    "find_replay",
    "frontier",
    "implied_by",
    "implied_saving",
    "implied_saving_interval",
    "params_for",
    "saved_at_size",
    "tokens_for",
]

_POINTS = 3  # of compute and of tokens per parameter, over the range of the continued runs
_SIZES = 6  # at most, over the same range
_NAMED = 3  # places at which continuing costs more
_COSTS_MORE = "these laws make continued training cost more than training from scratch"
_MOST = 0.95  # share that leaves too little of anything else


def envelope(C: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Indices of the points no cheaper point beats, in order of compute."""
    compute, losses = positive("C", C), positive("loss", loss)
    order = np.lexsort((losses, compute))
    return order[records(losses[order])]


def frontier(law: Law) -> Law:
    """The lowest loss that C = 6 N D FLOPs reach under a law, as a power law with draws.

    Both the size and the token term fall as the same power of C along the best sizes, so it is
    exact. A power law is its own frontier.
    """
    if law.equation.role == "compute":
        return law
    split = law.equation.split
    if split is None or not split.interior(law.params):
        what = f"the {law.form} law has no compute-optimal size, so no frontier"
        raise UserError(what, where="law", code="no_interior_optimum")
    draws: dict[str, np.ndarray] = {}
    if law.draws:  # NaN where a draw has no best size, so that draws of two laws stay paired
        inside = split.interior(law.draws)
        along = split.frontier({name: values[inside] for name, values in law.draws.items()})
        draws = {name: np.full(len(inside), np.nan) for name in along}
        for name, values in along.items():
            draws[name][inside] = values
    point = {name: float(value) for name, value in split.frontier(law.params).items()}
    return Law(
        "power-floor",
        point,
        draws=draws,
        interval=bootstrap_intervals(draws, point),
        range={"C": law.range["C"]} if "C" in law.range else {},
        warnings=law.warnings,
        source=law.source,
        strategy=law.strategy,
        target=law.target,
    )


def compute_of(law: Law, loss: ArrayLike) -> np.ndarray:
    """The FLOPs at which a power law (or another law's frontier) reaches a loss; inf below E."""
    return _compute_at(frontier(law).params, np.asarray(loss, dtype=float))


def _compute_at(params: Values, loss: np.ndarray) -> np.ndarray:
    """The FLOPs at which `E + A/C^gamma` is a loss; inf below E."""
    above = np.maximum(loss - params["E"], 0.0)
    with np.errstate(divide="ignore"):
        return (above / params["A"]) ** (-1.0 / np.asarray(params["gamma"]))


def tokens_for(law: Law, N: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Tokens after which a law of N and D promises a loss at size N; inf where never."""
    return _inverse(law).tokens(law.params, np.asarray(N, float), np.asarray(loss, float))


def params_for(law: Law, D: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """The smallest model for which a law of N and D promises a loss after D tokens; inf if none."""
    return _inverse(law).parameters(law.params, np.asarray(D, float), np.asarray(loss, float))


def _inverse(law: Law) -> Inverse:
    inverse = law.equation.inverse
    if inverse is None:
        able = ", ".join(form.name for form in FORMS if form.inverse)
        what = f"the {law.form} law is not inverted for tokens or parameters"
        raise UserError(what, where="law", hint=f"give one of {able}")
    return inverse


def _paired(first: Law, second: Law, dimensions: int) -> tuple[dict[str, np.ndarray], ...]:
    """The draws of two laws, as many as both have, ready to broadcast."""
    draws = [upright(law.draws, dimensions) for law in (first, second)]
    count = min(len(values) for of in draws for values in of.values())
    return tuple({name: values[:count] for name, values in of.items()} for of in draws)


def implied_saving(scratch: Law, cpt: Law, C: ArrayLike) -> np.ndarray:
    """The share of `C` FLOPs of training from scratch that `cpt` saves at the same loss.

    Found by inverting the laws' frontiers; negative where continued training costs more, minus
    infinity where it never gets there.
    """
    return _saving(frontier(scratch).params, frontier(cpt).params, np.asarray(C, dtype=float))


def implied_saving_interval(scratch: Law, cpt: Law, C: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Its 95 % interval, from the draws of both laws."""
    compute = np.asarray(C, dtype=float)
    first, second = _paired(frontier(scratch), frontier(cpt), compute.ndim)
    return percentiles(_saving(first, second, compute))


def _saving(scratch: Values, cpt: Values, C: np.ndarray) -> np.ndarray:
    loss = scratch["E"] + scratch["A"] * C ** -np.asarray(scratch["gamma"])
    return 1.0 - _compute_at(cpt, loss) / C


def about_saving(scratch: Law, cpt: Law, C: ArrayLike) -> tuple[Caution, ...]:
    """A caution where by the laws continued training costs more."""
    compute = np.atleast_1d(np.asarray(C, dtype=float))
    saved = implied_saving(scratch, cpt, compute)
    at = compute[saved < 0]
    if not len(at):
        return ()
    where = f"{at[0]:.3g}" if len(at) == 1 else f"{at.min():.3g} to {at.max():.3g}"
    what = f"at {where} FLOPs {_COSTS_MORE} (a saving of {saved.min():.0%})"
    return (Caution("negative_saving", what),)


def saved_at_size(
    scratch: Law, cpt: Law, N: ArrayLike, D: ArrayLike
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What two laws promise that continuing saves at one size, at the loss scratch has after D.

    Returns `share` of the compute and `transferred` tokens, each as (value, low, high), the ends
    of the 95 % interval NaN where a law has no draws. Both laws need N and D and no repeats.
    """
    if scratch.equation.inverse is None:
        raise UserError(f"the {scratch.form} law has no size to compare at", where="scratch")
    N, D = np.broadcast_arrays(np.asarray(N, dtype=float), np.asarray(D, dtype=float))
    needed = tokens_for(cpt, N, scratch.loss(N, D))
    low = high = np.full(N.shape, np.nan)
    if scratch.draws and cpt.draws:
        first, second = _paired(scratch, cpt, N.ndim)
        losses = scratch.equation.loss(first, {"N": N, "D": D})
        low, high = percentiles(_inverse(cpt).tokens(second, N, losses))
    return {
        "share": (1.0 - needed / D, 1.0 - high / D, 1.0 - low / D),
        "transferred": (D - needed, D - high, D - low),
    }


@dataclass(frozen=True, slots=True)
class Saved:
    """What is saved at one amount of compute, or one size and number of tokens.

    C: FLOPs of training from scratch. N, D: size and tokens; None along the best sizes.
    share: of the compute, at equal loss. transferred: tokens from scratch that it replaces.
    """

    C: float
    N: float | None
    D: float | None
    share: Estimate
    transferred: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Implied:
    """Savings along the best sizes, and size by size, with cautions."""

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
        lists = {"over_compute": self.over_compute, "by_size": self.by_size}
        return {name: [asdict(one) for one in of] for name, of in lists.items()}


def implied_by(scratch: Law, cpt: Law) -> Implied:
    """The savings within the range the continued runs cover."""
    if not cpt.range:
        return Implied()
    sizes = np.unique(np.geomspace(*cpt.range["N"], _SIZES))
    ratios = np.unique(np.geomspace(*cpt.range["D/N"], _POINTS))
    N, D = (grid.ravel() for grid in np.meshgrid(sizes, ratios, indexing="ij"))
    D = D * N
    saved = {name: _estimates(*ends) for name, ends in saved_at_size(scratch, cpt, N, D).items()}
    points = zip((6.0 * N * D).tolist(), N.tolist(), D.tolist(), *saved.values(), strict=True)
    by_size, along = tuple(Saved(*point) for point in points), ()
    worse = [one for one in by_size if (one.share.value or 0.0) < 0]
    where = ", ".join(f"{one.N:.2g} parameters after {one.D:.2g} tokens" for one in worse[:_NAMED])
    where += f" and {len(worse) - _NAMED} more" if len(worse) > _NAMED else ""
    doubts = (Caution("negative_saving", f"{_COSTS_MORE} at {where}"),) if worse else ()
    if allocate(scratch) and allocate(cpt):
        compute = np.geomspace(*cpt.range["C"], _POINTS)
        share = implied_saving(scratch, cpt, compute)
        low = high = np.full(_POINTS, np.nan)
        if scratch.draws and cpt.draws:
            low, high = implied_saving_interval(scratch, cpt, compute)
        shares = zip(compute.tolist(), _estimates(share, low, high), strict=True)
        along = tuple(Saved(C, None, None, share) for C, share in shares)
        doubts = about_saving(scratch, cpt, compute) or doubts
    return Implied(along, by_size, doubts)


def _estimates(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Estimate]:
    """A number each; without an interval where its end is not known."""
    rows = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(one) if np.isnan(a) else Estimate(one, a, b) for one, a, b in rows]


def _percent(of: Estimate) -> str:
    ends = f" [{of.low:.0%}, {of.high:.0%}]" if of.low is not None else ""
    return f"{of.value:.0%}{ends}"


@dataclass(frozen=True, slots=True)
class LeastReplay:
    """The smallest share of replay, of all tokens, that keeps the source language.

    interval: 95 % of it over the law's draws, infinite where in some no share suffices; None
        without draws.
    """

    share: float
    interval: tuple[float, float] | None


def find_replay(law: Law, tolerance: float, D: float, S: float) -> LeastReplay:
    """The smallest share with which a run of D tokens ends at most `tolerance` above S.

    A UserError where no share does.

    law: one of forgetting. tolerance: rise of the source loss, 0.01 for 1 %. S: nats per token
    on the source before the first step.
    """
    least_replay, level = law.equation.least_replay, (1.0 + tolerance) * S
    if least_replay is None:
        raise UserError(f"the {law.form} law does not know replay", where="law")
    share = float(least_replay(law.params, level, D, S))
    if not share <= _MOST:
        reason = f"that would take {share:.1%} of all tokens"
        if math.isnan(share):
            reason = f"even source text alone ends at {float(law.loss(D=D, r=1.0, S=S)):.3f}"
        raise UserError(
            f"no replay keeps the source's loss of {S:.3f} within {tolerance * 100:g}% over "
            f"{D:.3g} tokens by this law: {reason}",
            hint="allow a higher rise, or more tokens, over which more is learned again",
            code="cannot_keep",
        )
    if not law.draws:
        return LeastReplay(share, None)
    shares = least_replay(law.draws, level, D, S)
    low, high = percentiles(np.where(np.isnan(shares), np.inf, shares))
    return LeastReplay(share, (float(low), float(high)))
