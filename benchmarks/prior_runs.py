"""How many runs the prior of languages saves: Goldfish's losses at a gigabyte, by runs below it.

usage: python benchmarks/prior_runs.py [EVERY]

Of each language (or every EVERYth) with a model of a gigabyte, that loss is forecast twice from its
runs on less text: by the laws of a pilot, which start from what is usual of any law, and by the
prior, fitted without that language. Widths are medians; the prior's deviations have no factor here.
"""

import math
import sys

import numpy as np
from prior import MEGABYTES, ROUNDS, SIZES, read_table

from tongues.frames import text_table
from tongues.languages import LossPrior, OwnRun, forecast_language, known_language
from tongues.languages.prior import BYTES_PER_TOKEN, EPOCHS
from tongues.languages.prior_fit import LossTable, fit_prior
from tongues.study.pilot.blocks import Frame, Point, believe_block

TARGET = 5  # a gigabyte
ALONE = ((3, 4), (2, 3, 4))
WITH_PRIOR = ((), (4,), (3, 4), (2, 3, 4))
Interval = tuple[float, float, float]  # middle, and a 95 % interval


def main() -> None:
    """Print how wide and how often right both are."""
    table = read_table()
    prior = fit_prior(table)
    chosen = np.flatnonzero(~np.isnan(table.log_bits[:, 2:]).any(1))
    scores: dict[tuple[str, tuple[int, ...]], list[tuple[float, Interval]]] = {}
    for i in chosen[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1].tolist():
        truth = float(np.exp(table.log_bits[i, TARGET]))
        fold = fit_prior(table.take(np.setdiff1d(np.arange(len(table.tags)), [i])), prior, ROUNDS)
        for runs in ALONE:
            scores.setdefault(("runs alone", runs), []).append((truth, alone(table, i, runs)))
        for runs in WITH_PRIOR:
            interval = with_prior(table, i, runs, fold)
            scores.setdefault(("prior", runs), []).append((truth, interval))
    print(text_table([row(*key, of) for key, of in scores.items()]))


def alone(table: LossTable, i: int, runs: tuple[int, ...]) -> Interval:
    """By the laws of a pilot, in whose units the losses are about 1."""
    bits = np.exp(table.log_bits[i])
    points = [_point(k) for k in (*runs, TARGET)]
    *own, target = points
    N, D, loss = (
        math.exp(np.mean(np.log(of)))
        for of in ([p.N for p in own], [p.D for p in own], bits[list(runs)])
    )
    frame = Frame(N, D, loss, math.log10(min(p.flops for p in own)), 0)
    draws = believe_block("target", own, bits[list(runs)].tolist(), frame).predicted(target)
    low, middle, high = np.percentile(draws, (2.5, 50.0, 97.5)).tolist()
    return middle, low, high


def with_prior(table: LossTable, i: int, runs: tuple[int, ...], fold: LossPrior) -> Interval:
    """By the prior, and the runs where there are any."""
    language = known_language(table.tags[i])
    premium = language.byte_premium or 1.0
    bits = np.exp(table.log_bits[i]) / premium
    own = [OwnRun(MEGABYTES[k] * 1e6 * premium, bits[k], SIZES[k]) for k in runs]
    at = MEGABYTES[TARGET] * 1e6 * premium
    loss = forecast_language(language, at, SIZES[TARGET], runs=own, prior=fold).loss
    assert loss.low
    assert loss.high
    return loss.value * premium, loss.low * premium, loss.high * premium


def _point(k: int) -> Point:
    tokens = MEGABYTES[k] * 1e6 / BYTES_PER_TOKEN
    return Point("scratch", SIZES[k], tokens, 6.0 * SIZES[k] * tokens * EPOCHS)


def row(how: str, runs: tuple[int, ...], scores: list[tuple[float, Interval]]) -> dict[str, str]:
    """One line."""
    inside = sum(low <= truth <= high for truth, (_, low, high) in scores)
    errors = [abs(middle / truth - 1.0) for truth, (middle, _, _) in scores]
    half = [math.log(high / low) / 2 for _, (_, low, high) in scores]
    return {
        "forecast by": how,
        "runs": str(len(runs)),
        "on MB": ", ".join(str(MEGABYTES[k]) for k in runs) or "none",
        "median error": f"{np.median(errors):.1%}",
        "95 % ±": f"{np.median(half):.1%}",
        "inside": f"{inside} of {len(scores)}",
    }


if __name__ == "__main__":
    main()
