"""What continued pre-training saves: the compute and tokens two runs need for the same loss.

Curves are inverted and read off at equal loss.
"""

from dataclasses import dataclass

import numpy as np

from tongues.core.errors import UserError
from tongues.laws.rows import positive


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

    def spent(self, level: float) -> tuple[float, float]:
        """Tokens and FLOPs when a loss was first reached: straight lines between logs."""
        best = self.best
        after = int(np.argmax(best <= level))
        if after == 0:
            return float(self.tokens[0]), float(self.compute[0])
        fallen, fall = np.log(best[after - 1] / level), np.log(best[after - 1] / best[after])

        def at(spent: np.ndarray) -> float:
            start, end = spent[after - 1], spent[after]
            if start == 0:
                return float(end * fallen / fall)  # zero has no log
            return float(start * (end / start) ** (fallen / fall))

        return at(self.tokens), at(self.compute)


@dataclass(frozen=True, slots=True)
class Saving:
    """What two runs of one size needed for the same loss.

    `at_least`: the continued run was already there when first measured, so that it saved
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
        """Effectively transferred data: tokens of training from scratch that it replaces."""
        return self.tokens_scratch - self.tokens_cpt

    def __str__(self) -> str:
        """As in `≥ 40.0 % of the compute saved at loss 2.3000`."""
        sign = "≥ " if self.at_least else ""
        return f"{sign}{self.share:.1%} of the compute saved at loss {self.loss:.4f}"


def savings(scratch: Curve, cpt: Curve) -> tuple[Saving, ...]:
    """The saving at each loss that was measured on either run and reached by both, highest first.

    scratch, cpt: two runs of one size.
    """
    # before its second point, how early the scratch run got there is unknown
    highest, lowest = scratch.best[0], max(scratch.best[-1], cpt.best[-1])
    measured = np.unique(np.concatenate([scratch.best, cpt.best]))[::-1]
    points = list[Saving]()
    for level in measured[(measured < highest) & (measured >= lowest)].tolist():
        (tokens, compute), (tokens_cpt, compute_cpt) = scratch.spent(level), cpt.spent(level)
        at_least = bool(cpt.best[0] <= level and cpt.tokens[0] > 0)
        points.append(Saving(level, tokens, tokens_cpt, compute, compute_cpt, at_least))
    return tuple(points)
