"""The laws of every target, fitted on its runs; a refusal becomes a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from tongues.errors import UserError
from tongues.laws import Law, Power, fit_cpt, fit_power, fit_scratch
from tongues.report.curves import Run
from tongues.report.theme import series

__all__ = ["SETTLED", "Settled", "TargetLaws", "fit_laws", "settled"]

SETTLED = 0.1  # share of a run's tokens before which its losses are warm-up, not law
_DRAWS = 400
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


def fit_laws(target: str, runs: Sequence[Run]) -> TargetLaws:
    """Fit the runs of one target: loss over size and tokens, and the envelope over compute.

    N counts all parameters, D all tokens of the run. CPT is fitted on the runs without replay.
    """
    laws: dict[str, Law] = {}
    powers: dict[str, Power] = {}
    refused: list[str] = []

    def attempt(found: dict[str, T], strategy: str, what: str, fit: Callable[[], T]) -> None:
        try:
            found[strategy] = fit()
        except UserError as error:
            name = series(strategy, 0.0)
            refused.append(f"The {name} {what} on `{target}` was not fitted: {error.what}.")

    def law(strategy: str, rows: Settled) -> Law:
        if strategy == "scratch":
            return fit_scratch(rows.N, rows.D, rows.loss, rows.runs, draws=_DRAWS)
        if "scratch" not in laws:
            raise UserError("it builds on the scratch law, which is missing")
        return fit_cpt(rows.N, rows.D, rows.loss, laws["scratch"], rows.runs, draws=_DRAWS)

    def power(rows: Settled) -> Power:
        return fit_power(rows.C, rows.loss, rows.runs, draws=_DRAWS)

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
