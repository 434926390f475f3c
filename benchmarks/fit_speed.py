"""How long one fit of 240 rows takes, and 1,000 resamples of it, on one thread.

Run it from the project's root: `python benchmarks/fit_speed.py`; the result also goes to the file
of the same name beside it.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np

from tongues.laws import Law, fit_cpt, fit_scratch

__all__ = ["main"]

TRUTH = {"E": 1.8, "A": 480.0, "B": 2100.0, "alpha": 0.35, "beta": 0.37}


def rows(law: Law, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Twenty runs of twelve checkpoints with 2 % of noise."""
    N = np.repeat(np.geomspace(5e7, 1e10, 20), 12)
    D = np.tile(np.geomspace(5e8, 3e11, 12), 20)
    noise = np.exp(0.02 * np.random.default_rng(seed).standard_normal(len(N)))
    return N, D, law.loss(N, D) * noise, np.repeat(np.arange(20), 12)


def milliseconds(call, times: int) -> float:
    """The median time of a call."""
    spent = []
    for _ in range(times):
        start = perf_counter()
        call()
        spent.append(perf_counter() - start)
    return float(np.median(spent)) * 1e3


def main() -> None:
    """Measure, print, and write down."""
    N, D, loss, runs = rows(Law("scratch", TRUTH), seed=0)
    base = fit_scratch(N, D, loss, runs)
    continued = rows(Law("cpt", {**TRUTH, "B": 900.0, "beta": 0.3, "gamma": 0.05}), seed=1)
    N2, D2, loss2, runs2 = continued

    def scratch(draws: int) -> Law:
        return fit_scratch(N, D, loss, runs, draws=draws)

    def cpt(draws: int) -> Law:
        return fit_cpt(N2, D2, loss2, base, runs2, draws=draws)

    lines = [f"{date.today()}  240 rows of 20 runs, numpy {np.__version__}, one thread"]
    for name, fit in (("scratch", scratch), ("cpt", cpt)):
        lines.append(f"{name:8} one fit {milliseconds(lambda f=fit: f(0), 21):8.1f} ms")
        lines.append(f"{name:8} with 1,000 draws {milliseconds(lambda f=fit: f(1000), 5):8.1f} ms")
    text = "\n".join(lines)
    print(text)
    Path(__file__).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
