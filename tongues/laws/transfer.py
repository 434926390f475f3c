"""What continued pre-training saves: the compute and tokens two curves need for the same loss.

Curves are inverted and read off at equal loss; coefficients of two laws are never divided.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.laws.forms import FORMS, Inverse
from tongues.laws.law import Law
from tongues.laws.rows import positive
from tongues.laws.uncertainty import percentiles, upright

__all__ = ["Curve", "Saving", "Savings", "params_for", "saved_at_size", "savings", "tokens_for"]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One run through training: tokens seen, FLOPs spent, held-out loss in nats per token.

    The first point may be at zero tokens and zero FLOPs, measured before any training.
    """

    tokens: np.ndarray
    compute: np.ndarray
    loss: np.ndarray

    def __post_init__(self) -> None:
        """Refuse columns that are not a curve."""
        object.__setattr__(self, "loss", positive("loss", self.loss))
        if not len(self.loss):
            raise UserError("a curve needs at least one point", where="loss")
        for name in ("tokens", "compute"):
            spent = positive(name, getattr(self, name), zero=True)
            if len(spent) != len(self.loss):
                raise UserError(f"{len(spent)} {name} but {len(self.loss)} losses", where=name)
            if (np.diff(spent) <= 0).any():
                raise UserError(f"{name} must grow from row to row", where=name)
            object.__setattr__(self, name, spent)

    @property
    def best(self) -> np.ndarray:
        """The lowest loss so far at each point."""
        return np.minimum.accumulate(self.loss)


@dataclass(frozen=True, slots=True)
class Saving:
    """What two runs of one size needed for the same loss.

    `at_least` tells that the continued run was already there when first measured, so that it saved
    at least this much.
    """

    loss: float
    tokens_scratch: float
    tokens_cpt: float
    compute_scratch: float
    compute_cpt: float
    at_least: bool

    @property
    def share(self) -> float:
        """The share of the compute saved; negative where continued training cost more."""
        return 1.0 - self.compute_cpt / self.compute_scratch

    @property
    def whole(self) -> bool:
        """Whether the continued run was there when first measured: no more could be saved."""
        return self.at_least or self.tokens_cpt == 0.0

    @property
    def transferred(self) -> float:
        """Effectively transferred data: tokens of training from scratch it stood in for."""
        return self.tokens_scratch - self.tokens_cpt

    def __str__(self) -> str:
        """As in `≥ 40.0 % of the compute saved at loss 2.3000`."""
        sign = "≥ " if self.at_least else ""
        return f"{sign}{self.share:.1%} of the compute saved at loss {self.loss:.4f}"


@dataclass(frozen=True, slots=True)
class Savings:
    """The saving at every loss both runs reached, highest loss first, and what to doubt."""

    points: tuple[Saving, ...]
    warnings: tuple[Caution, ...]


def savings(scratch: Curve, cpt: Curve) -> Savings:
    """Compare two runs of one size at each loss that was measured on either and reached by both."""
    # before its second point, how early the scratch run got there is unknown
    highest, lowest = scratch.best[0], max(scratch.best[-1], cpt.best[-1])
    measured = np.unique(np.concatenate([scratch.best, cpt.best]))[::-1]
    levels = measured[(measured < highest) & (measured >= lowest)]
    found = []
    if not levels.size:
        found.append(Caution("no_common_loss", "the two runs have no loss in common"))
    if cpt.best[-1] > scratch.best[-1]:
        found.append(_unreached(cpt, scratch.best[-1]))
    return Savings(tuple(_compare(scratch, cpt, float(level)) for level in levels), tuple(found))


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
    if scratch.draws and cpt.draws:
        first, second = (
            upright({name: values[:count] for name, values in law.draws.items()}, N.ndim)
            for count in [min(len(next(iter(law.draws.values()))) for law in (scratch, cpt))]
            for law in (scratch, cpt)
        )
        losses = scratch.equation.loss(first, {"N": N, "D": D})
        low, high = percentiles(_inverse(cpt).tokens(second, N, losses))
    else:
        low = high = np.full(N.shape, np.nan)
    return {
        "share": (1.0 - needed / D, 1.0 - high / D, 1.0 - low / D),
        "transferred": (D - needed, D - high, D - low),
    }


def _unreached(cpt: Curve, level: float) -> Caution:
    return Caution(
        "not_reached",
        f"the continued run ends at loss {cpt.best[-1]:.4f} and never reaches "
        f"the {level:.4f} the scratch run reached",
    )


def _compare(scratch: Curve, cpt: Curve, level: float) -> Saving:
    return Saving(
        loss=level,
        tokens_scratch=_spent(scratch.tokens, scratch.best, level),
        tokens_cpt=_spent(cpt.tokens, cpt.best, level),
        compute_scratch=_spent(scratch.compute, scratch.best, level),
        compute_cpt=_spent(cpt.compute, cpt.best, level),
        at_least=bool(cpt.best[0] <= level and cpt.tokens[0] > 0),
    )


def _spent(spent: np.ndarray, best: np.ndarray, level: float) -> float:
    """What was spent when `level` was first reached: straight lines between logs."""
    after = int(np.argmax(best <= level))
    if after == 0:
        return float(spent[0])
    fallen, fall = np.log(best[after - 1] / level), np.log(best[after - 1] / best[after])
    start, end = spent[after - 1], spent[after]
    if start == 0:
        return float(end * fallen / fall)  # zero has no log
    return float(start * (end / start) ** (fallen / fall))
