"""Balanced k-means beside `k-means-constrained`: time, balance and cost on the same points.

usage: python benchmarks/balanced.py PYTHON

PYTHON is an interpreter that has `k-means-constrained` (a virtual environment of its own: it
brings OR-Tools). Claims: 100,000 points of 100 dimensions in 8 parts, sizes within one of equal
whether 8 divides their number or not, in 1 second; every assignment is the best there is, which
its prices prove; a million mapped from a file in bounded memory; fresh points labelled by the
prices are within 2 % of balance. Each on one thread, theirs with one start. Theirs takes
minutes. The result also goes to `balanced.txt`.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import json
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from tongues.experts.partition.balanced import assign, balanced_means, least, squared_distances

__all__ = ["main"]

K = 8
TURNS = 3

THEIRS = """
import json, sys, time
from importlib.metadata import version
import numpy as np
from k_means_constrained import KMeansConstrained
points, k = np.load(sys.argv[1]), int(sys.argv[2])
n = len(points)
start = time.perf_counter()
found = KMeansConstrained(k, size_min=n // k, size_max=-(-n // k), n_init=1, random_state=0)
labels = found.fit_predict(points)
seconds = time.perf_counter() - start
cost = float(((points - found.cluster_centers_[labels]) ** 2).sum())
sizes = np.bincount(labels, minlength=k).tolist()
print(json.dumps([version("k-means-constrained"), seconds, cost, sizes]))
"""


def points(n: int, spread: float, seed: int) -> np.ndarray:
    """Directions as documents have them: 30 groups of very unequal size, or none at all."""
    random = np.random.default_rng(seed)
    made = spread * random.normal(size=(n, 100)).astype(np.float32)
    if spread < 1:
        groups = np.random.default_rng(0).normal(size=(30, 100)).astype(np.float32)
        odds = np.random.default_rng(1).dirichlet(np.ones(30))
        made += groups[random.choice(30, n, p=odds)]
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def compare(name: str, made: np.ndarray, python: str, folder: Path) -> str:
    """Both on the same points: a line of the result."""
    means, seconds = balanced_means(made, K), []
    for _ in range(TURNS):
        start = perf_counter()
        balanced_means(made, K)
        seconds.append(perf_counter() - start)
    sizes = np.bincount(means.labels)
    start = perf_counter()
    assigned = assign(squared_distances(made, means.centres).T)
    once = perf_counter() - start
    proof = assigned.total / assigned.bound - 1
    np.save(folder / "points.npy", made)
    command = [python, "-c", THEIRS, str(folder / "points.npy"), str(K)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    version, theirs, cost, their_sizes = json.loads(said)
    return (
        f"{name}, {len(made):,} points: ours {min(seconds):.2f} s (sizes {sizes.min()} to "
        f"{sizes.max()}; one assignment {once:.2f} s, above the proven least by {proof:.0e}); "
        f"k-means-constrained {version} {theirs:.1f} s (sizes {min(their_sizes)} to "
        f"{max(their_sizes)}): {theirs / min(seconds):.0f} times faster, "
        f"cost {means.total / cost:.4f} of theirs"
    )


def million(folder: Path) -> str:
    """A million points in a file, then a million fresh ones labelled by the prices alone."""
    path, n = folder / "million.npy", 1_000_000
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (n, 100))
    for begin in range(0, n, 50_000):
        mapped[begin : begin + 50_000] = points(50_000, 0.7, seed=begin + 2)
    mapped.flush()
    del mapped
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    means = balanced_means(np.load(path, mmap_mode="r"), K)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sizes = np.zeros(K, np.int64)
    for begin in range(0, n, 50_000):
        fresh = squared_distances(points(50_000, 0.7, seed=begin + 3), means.centres)
        sizes += np.bincount(least(fresh, means.prices), minlength=K)
    own = np.bincount(means.labels)
    off = np.abs(sizes / sizes.mean() - 1).max()
    return (
        f"groups, {n:,} points mapped from a file of {path.stat().st_size / 2**20:.0f} MiB: "
        f"{seconds:.1f} s, sizes {own.min()} to {own.max()}, resident memory up by "
        f"{(peak - before) / 1024:.0f} MiB at the most, pages of the file included; "
        f"a million fresh points labelled by the prices: at most {off:.2%} off balance"
    )


def main() -> None:
    """Compare and tell."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = [f"{date.today()}  k = {K}, one thread each, the best of {TURNS} turns of ours"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        lines.append(million(folder))
        print(lines[-1], flush=True)
        for kind, spread in (("groups", 0.7), ("noise", 1.0)):
            for n in (100_000, 100_003):
                made = points(n, spread, seed=n)
                lines.append(compare(kind, made, sys.argv[1], folder))
                print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
