"""The schedule of a run by the learning rates that its trainer logged.

A trainer's own settings are pickled or elsewhere, so the schedule is the one that gives the rates.
"""

from collections.abc import Sequence

import numpy as np

from tongues.use.imports.log import LoggedStep

_FEWEST, _MOST = 4, 10**8  # rates and steps; chosen: a shape shows, and a list of them is made
_MISS = 0.005  # of the peak; chosen: trainers count the first step as 0 or as 1
_LEAST = 0.005  # of the peak, which is as good as 0


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
    lost, progress = 1 - rates[peak:] / rates[peak], (at[peak:] - at[peak]) / (steps - at[peak])
    fits = list[tuple[float, str, float]]()
    for name, fallen in ("linear", progress), ("cosine", (1 - np.cos(np.pi * progress)) / 2):
        depth = min(1.0, float(fallen @ lost / (fallen @ fallen)))
        fits.append((float(np.abs(depth * fallen - lost).max()), name, 1.0 - depth))
    miss, name, final = min(fits)
    shares = {"warmup": at[peak] / steps, "min_learning_rate": final if final >= _LEAST else 0.0}
    found = {"schedule": name} | {key: f"{100 * share:.4g}%" for key, share in shares.items()}
    return found if miss <= _MISS else {}
