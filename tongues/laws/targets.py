"""The laws of every target, fitted on its runs; a refusal becomes a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from tongues.errors import UserError
from tongues.laws.envelope import Power, fit_power
from tongues.laws.fit import fit_cpt, fit_scratch
from tongues.laws.law import Law
from tongues.laws.observed import Run

__all__ = ["SETTLED", "Settled", "TargetLaws", "fit_targets", "settled"]

SETTLED = 0.1  # share of a run's tokens before which its losses are warm-up, not law
_LOOSE = {"at_bound", "zero_E", "ill_conditioned", "not_converged", "no_interior_optimum"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TargetLaws:
    """What could be fitted for one target, by strategy (`scratch`, `cpt`), and what was refused."""

    target: str
    laws: dict[str, Law]
    powers: dict[str, Power]
    refused: tuple[str, ...]

    def loose(self, strategy: str) -> list[str]:
        """Why the runs do not pin a law down, so that it promises nothing beyond them.

        CPT's law stands on E, A and alpha of the scratch law, and is as loose as that.
        """
        needed = ("scratch", strategy) if strategy == "cpt" else (strategy,)
        warnings = [caution for name in needed for caution in self.laws[name].warnings]
        return [caution.sentence for caution in warnings if caution.code in _LOOSE]


class Settled(NamedTuple):
    """Evaluations past the warm-up: parameters, tokens, FLOPs, loss and run of each."""

    N: np.ndarray
    D: np.ndarray
    C: np.ndarray
    loss: np.ndarray
    runs: list[str]


def fit_targets(runs: Sequence[Run], draws: int = 400) -> list[TargetLaws]:
    """Fit, for every language that was learned, loss over size and tokens, and the envelope.

    N counts all parameters, D all tokens of the run. CPT is fitted on the runs without replay.
    Intervals come from `draws` resamples of the runs.
    """
    targets = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    return [_fit(target, [r for r in runs if r.target == target], draws) for target in targets]


def _fit(target: str, runs: Sequence[Run], draws: int) -> TargetLaws:
    laws: dict[str, Law] = {}
    powers: dict[str, Power] = {}
    refused: list[str] = []

    def attempt(found: dict[str, T], strategy: str, what: str, fit: Callable[[], T]) -> None:
        try:
            found[strategy] = fit()
        except UserError as error:
            name = {"cpt": "CPT"}.get(strategy, strategy)
            refused.append(f"The {name} {what} on `{target}` was not fitted: {error.what}.")

    def law(strategy: str, rows: Settled) -> Law:
        if strategy == "scratch":
            return fit_scratch(rows.N, rows.D, rows.loss, rows.runs, draws=draws)
        if "scratch" not in laws:
            raise UserError("it builds on the scratch law, which is missing")
        return fit_cpt(rows.N, rows.D, rows.loss, laws["scratch"], rows.runs, draws=draws)

    def power(rows: Settled) -> Power:
        return fit_power(rows.C, rows.loss, rows.runs, draws=draws)

    for strategy in ("scratch", "cpt"):
        of = [run for run in runs if run.strategy == strategy and not run.replay]
        if of:
            rows = settled(of)
            attempt(laws, strategy, "law", partial(law, strategy, rows))
            attempt(powers, strategy, "envelope", partial(power, rows))
    return TargetLaws(target, laws, powers, tuple(refused))


def settled(runs: Sequence[Run]) -> Settled:
    """The evaluations of these runs past their warm-up, on the language they learn."""
    columns: list[np.ndarray] = []
    names: list[str] = []
    for run in runs:
        curve = run.learned
        late = (curve.tokens > 0) & (curve.tokens >= SETTLED * run.tokens)
        N = np.full(int(late.sum()), float(run.params))
        columns.append(np.stack([N, curve.tokens[late], curve.compute[late], curve.loss[late]]))
        names += [run.name] * len(N)
    N, D, C, loss = np.concatenate(columns, axis=1)
    return Settled(N, D, C, loss, names)
