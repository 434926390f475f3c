"""The schedule of a run by the learning rates that its trainer logged.

A trainer's own settings are pickled or elsewhere, so the schedule is the one that gives the rates.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tongues.use.imports.log import LoggedStep

# Share of the way down that is done, by that of the steps after the warm-up.
_FALLS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda progress: progress,
    "cosine": lambda progress: (1.0 - np.cos(np.pi * progress)) / 2.0,
}
_FEWEST, _MOST = 4, 10**8  # rates and steps; chosen: three numbers are fitted; a list of steps
_MISS = 0.02  # of the peak; chosen: trainers count the first step as 0 or as 1
_LEAST = 0.005  # of the peak, which is as good as 0; that far below it a rate is constant


def read_schedule(losses: Sequence[LoggedStep], steps: int) -> dict[str, str]:
    """Settings of our `train` section that give these rates; none where no schedule does.

    None can while the rate still rises. One that was constant so far is taken to stay so.
    """
    logged = {x.step: x.learning_rate for x in losses if x.learning_rate is not None}
    at, rates = np.array([*logged], dtype=float), np.array([*logged.values()])
    highest = int(rates.argmax()) if len(rates) else 0
    if len(at) - highest < _FEWEST or at.max() > steps or steps > _MOST or rates[highest] <= 0:
        return {}
    if (np.diff(rates[: highest + 1]) < 0).any():  # it rises again
        return {}
    before = int(at[highest - 1]) if highest else 0
    rises = np.unique(np.linspace(before, at[highest], 50).astype(int))
    at, rates = at[highest:], rates[highest:] / rates[highest]
    tried = [(name, warm) for name in _FALLS for warm in rises]
    miss, warmup, final, name = min((*_fit(*one, at, rates, steps), one[0]) for one in tried)
    if miss > _MISS:
        return {}
    shares = {"warmup": warmup, "min_learning_rate": final}
    return {"schedule": name} | {key: f"{100 * share:.4g}%" for key, share in shares.items()}


def _fit(
    name: str, warm: int, at: np.ndarray, rates: np.ndarray, steps: int
) -> tuple[float, float, float]:
    """How far off it is at most; its warm-up; and its end. All as shares: of the peak, of steps."""
    fallen = _FALLS[name](np.clip((at - warm) / max(1, steps - warm), 0.0, 1.0))
    (peak, end), *_ = np.linalg.lstsq(np.stack([1.0 - fallen, fallen], 1), rates, rcond=None)
    final = min(1.0, max(0.0, end / max(peak, _LEAST)))
    miss = float(np.abs(peak * (1.0 - fallen + final * fallen) - rates).max())
    final = 0.0 if final < _LEAST else 1.0 if final > 1.0 - _LEAST else final
    return miss, warm / steps, final
