"""How often the 95 % intervals hold the truth: every parameter of both stages, by simulation.

usage: python benchmarks/coverage.py [SIMULATIONS] [PROCESSES]

Claim: 92–98 % for each. A simulation makes runs from a known chinchilla law and fits it, then makes
runs of a known cpt law, fits that on the first as its base, and looks which intervals of A, B and
the exponents hold what they should. Sizes and tokens are random; noise is lognormal. The standard
error of every figure stands beside it. By default it takes about five minutes on two cores
(SIMULATIONS 500 a design, PROCESSES 2). The result also goes to the file of the same name beside
this script.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from tongues import laws

__all__ = ["main"]

DRAWS = 400
LEAST, MOST = 0.92, 0.98
SCRATCH = laws.Law("chinchilla", {"E": 1.8, "A": 480.0, "B": 2100.0, "alpha": 0.35, "beta": 0.37})
CPT = laws.Law("cpt", {**SCRATCH.params, "B": 900.0, "beta": 0.3, "gamma": 0.05})
STAGES = {"chinchilla": ("E", "A", "B", "alpha", "beta"), "cpt": ("B", "beta", "gamma")}


@dataclass(frozen=True, slots=True)
class Design:
    """How runs are made.

    checkpoints: rows a run, from a tenth of its tokens to all.
    noise: the spread of log loss, drawn anew for each simulation between these.
    of_run: the part of it that all rows of a run share, as a standard deviation.
    heavy: Student's t with 3 degrees of freedom instead of a normal.
    """

    runs: int
    checkpoints: int = 1
    noise: tuple[float, float] = (0.005, 0.02)
    of_run: float = 0.0
    heavy: bool = False


DESIGNS = {
    "240 rows": Design(240),
    "60 rows": Design(60),
    "40 runs of 6 checkpoints": Design(40, checkpoints=6, of_run=0.8),
    "240 rows, heavy tails": Design(240, heavy=True),
}


def fit_made(
    design: Design, truth: laws.Law, base: laws.Law | None, random: np.random.Generator
) -> laws.Law:
    """Make runs that follow a law, and fit it to them."""
    each = design.checkpoints
    N = np.repeat(np.exp(random.uniform(np.log(5e7), np.log(1e10), design.runs)), each)
    end = np.repeat(np.exp(random.uniform(np.log(5e8), np.log(3e11), design.runs)), each)
    D = end * np.tile(np.geomspace(0.1, 1.0, each) if each > 1 else 1.0, design.runs)

    def deviates(size: int) -> np.ndarray:
        return random.standard_t(3, size) if design.heavy else random.standard_normal(size)

    of_row = np.sqrt(1.0 - design.of_run**2) * deviates(len(N))
    noise = design.of_run * np.repeat(deviates(design.runs), each) + of_row
    loss = truth.loss(N, D) * np.exp(random.uniform(*design.noise) * noise)
    runs = np.repeat(np.arange(design.runs), each)
    seed = int(random.integers(2**31))
    return laws.fit(truth.form, loss, runs, base=base, N=N, D=D, draws=DRAWS, seed=seed)


def held(law: laws.Law, truth: Mapping[str, float]) -> list[bool]:
    """Whether the interval of each parameter holds the truth."""
    ends = [(law.interval[name], truth[name]) for name in STAGES[law.form]]
    return [low <= value <= high for (low, high), value in ends]


def simulate(design: Design, seed: int) -> list[bool]:
    """One simulation of both stages, the second on the first."""
    random = np.random.default_rng(seed)
    scratch = fit_made(design, SCRATCH, None, random)
    cpt = fit_made(design, CPT, scratch, random)
    return held(scratch, SCRATCH.params) + held(cpt, CPT.params)


def main(simulations: int = 500, processes: int = 2) -> None:
    """Simulate, print, and write down."""
    start, lines, outside = perf_counter(), [], 0
    names = [f"{stage} {name}" for stage, all_of in STAGES.items() for name in all_of]
    with ProcessPoolExecutor(processes) as pool:
        for title, design in DESIGNS.items():
            found = pool.map(partial(simulate, design), range(simulations), chunksize=10)
            share = np.array(list(found)).mean(0)
            error = np.sqrt(share * (1 - share) / simulations)
            outside += int(((share < LEAST) | (share > MOST)).sum())
            figures = zip(names, share, error, strict=True)
            lines += [title, *(f"    {n:16} {s:6.1%} ± {e:.1%}" for n, s, e in figures)]
    head = [
        f"{date.today()}  coverage of the 95 % intervals, {simulations} simulations a design, "
        f"{DRAWS} draws, {processes} processes, {perf_counter() - start:.0f} s",
        f"{outside} of {len(names) * len(DESIGNS)} figures outside {LEAST:.0%}–{MOST:.0%}",
        "",
    ]
    text = "\n".join(head + lines)
    print(text)
    Path(__file__).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
