"""The schedule of a run by the learning rates that its trainer logged.

A trainer's own settings are pickled or elsewhere, so the schedule is the one that gives the rates.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from tongues.use.imports.log import LoggedStep

_FEWEST, _MOST = 4, 10**8  # rates and steps; chosen: a shape shows, and a list of them is made
_MISS = 0.005  # of the peak; chosen: trainers count the first step as 0 or as 1
_LEAST, _BELOW = 0.005, 0.05  # of the peak, as good as 0; below 0 at the end: another schedule
_STARTS = 20  # of the fall, between the logged rate that is highest and the one before; chosen


def shown_from(losses: Sequence[LoggedStep]) -> int:
    """The first step from which enough rates behind the peak show a schedule, as it is logged."""
    logged = [(x.learning_rate, x.step) for x in losses if x.learning_rate is not None]
    peak = max(range(len(logged)), key=lambda n: logged[n][0], default=0)
    every = logged[-1][1] - logged[-2][1] if len(logged) > 1 else 1
    return logged[peak][1] + (_FEWEST - 1) * every if logged else 0


def read_schedule(losses: Sequence[LoggedStep], steps: int) -> dict[str, str]:
    """Settings of our `train` section that give these rates; none where no schedule does.

    None can while the rate still rises. One that was constant so far is taken to stay so.
    """
    logged = {x.step: x.learning_rate for x in losses if x.learning_rate is not None}
    at, rates = np.array([*logged], dtype=float), np.array([*logged.values()])
    peak = int(rates.argmax()) if len(rates) else 0
    if len(at) - peak < _FEWEST or at.max() > steps or steps > _MOST or rates[peak] <= 0:
        return {}
    if (np.diff(rates[: peak + 1]) < 0).any():  # it rises again
        return {}
    fits = list[tuple[float, str, float]]()
    at, rates, before = at[peak:], rates[peak:] / rates[peak], at[max(peak - 1, 0)]
    starts: list[float] = np.linspace(before, at[0], _STARTS).tolist()
    for name, start in product(("linear", "cosine"), starts):
        progress = (at - start) / max(1.0, steps - start)
        fallen = progress if name == "linear" else (1 - np.cos(np.pi * progress)) / 2
        basis = np.stack([1 - fallen, fallen], axis=1)
        (top, end), *_ = np.linalg.lstsq(basis, rates, rcond=None)
        fits.append((float(np.abs(basis @ (top, end) - rates).max()), name, float(end / top)))
    miss, name, final = min(fits)
    if miss > _MISS or final < -_BELOW:
        return {}
    final = 0.0 if final < _LEAST else min(1.0, final)
    shares = {"warmup": at[0] / steps, "min_learning_rate": final}
    return {"schedule": name} | {key: f"{100 * share:.4g}%" for key, share in shares.items()}
