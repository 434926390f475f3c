"""The laws of every target, fitted on its runs; a refusal becomes a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tongues.errors import UserError
from tongues.laws.law import Law
from tongues.laws.observed import Run
from tongues.laws.trust import fit

__all__ = ["SETTLED", "Settled", "TargetLaws", "fit_targets", "settled", "source_losses"]

SETTLED = 0.1  # share of a run's tokens before which its losses are warm-up, not law


@dataclass(frozen=True, slots=True)
class TargetLaws:
    """What could be fitted for one target, by strategy (`scratch`, `cpt`), and what was refused.

    `forgetting` is there where the target was continued with at least two shares of replay.
    """

    target: str
    laws: dict[str, Law]
    powers: dict[str, Law]
    forgetting: Law | None
    refused: tuple[str, ...]

    @property
    def all(self) -> tuple[Law, ...]:
        """The laws a plan is made by."""
        return (*self.laws.values(), *([self.forgetting] if self.forgetting else ()))

    def loose(self, strategy: str) -> list[str]:
        """Why the runs do not pin a law down, so that it promises nothing beyond them."""
        return [caution.sentence for caution in self.laws[strategy].loose]


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
    powers: dict[str, Law] = {}
    refused: list[str] = []

    def attempt(found: dict[str, Law], strategy: str, what: str, fitted: Callable[[], Law]) -> None:
        try:
            found[strategy] = replace(fitted(), strategy=strategy, target=target)
        except UserError as error:
            name = {"cpt": "CPT"}.get(strategy, strategy)
            refused.append(f"The {name} {what} on `{target}` was not fitted: {error.what}.")

    def law(strategy: str, rows: Settled) -> Law:
        form, base = ("chinchilla", None) if strategy == "scratch" else ("cpt", laws.get("scratch"))
        if strategy == "cpt" and base is None:
            raise UserError("it builds on the scratch law, which is missing")
        return fit(form, rows.loss, rows.runs, base=base, draws=draws, N=rows.N, D=rows.D)

    def power(rows: Settled) -> Law:
        return fit("power", rows.loss, rows.runs, draws=draws, C=rows.C)

    for strategy in ("scratch", "cpt"):
        of = [run for run in runs if run.strategy == strategy and not run.replay]
        if of:
            rows = settled(of)
            attempt(laws, strategy, "law", partial(law, strategy, rows))
            attempt(powers, strategy, "envelope", partial(power, rows))
    forgotten: dict[str, Law] = {}
    continued = [run for run in runs if run.strategy == "cpt"]
    if len({run.replay for run in continued}) > 1:
        attempt(forgotten, "cpt", "law of forgetting", partial(_forgetting, continued, draws))
    return TargetLaws(target, laws, powers, forgotten.get("cpt"), tuple(refused))


def _forgetting(runs: Sequence[Run], draws: int) -> Law:
    D, r, S, loss, names = source_losses(runs)
    return fit("forgetting", loss, names, draws=draws, D=D, r=r, S=S)


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


def source_losses(
    runs: Sequence[Run],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Tokens, replay ratio, loss at the start, loss on the source and run of continued runs.

    Past the warm-up, as for what they learn. Runs that were not evaluated on their source before
    the first step are left out.
    """
    columns: list[np.ndarray] = []
    names: list[str] = []
    for run in runs:
        curve = run.curves.get(run.source or "")
        if curve is None or curve.tokens[0] > 0 or len(curve.tokens) < 2:
            continue
        late = (curve.tokens > 0) & (curve.tokens >= SETTLED * run.tokens)
        D, loss = curve.tokens[late], curve.loss[late]
        columns.append(
            np.stack([D, np.full(len(D), run.replay), np.full(len(D), curve.loss[0]), loss])
        )
        names += [run.name] * len(D)
    if not columns:
        raise UserError(
            "no continued run was evaluated on its source language before its first step",
            where="runs",
            code="empty_selection",
        )
    D, r, S, loss = np.concatenate(columns, axis=1)
    return D, r, S, loss, names
