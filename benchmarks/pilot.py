"""What a pilot's nine places predict of runs ten times larger, on published scaling studies.

    python benchmarks/pilot.py

For each of a study's largest runs, the runs nearest to a pilot's places are taken: three sizes,
each twice the one before, at half, one and two times its tokens per parameter, the largest with a
tenth of its compute. The law of these nine predicts it, as `tongues study` does. Beside it, nine
runs of at most a tenth of its compute, drawn at random. Studies where the places are farther than
a factor of two from any run, on average, are left out. The result also goes to the file beside this
script.
"""

import csv
import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from tongues import laws
from tongues.train.study.pilot import LENGTHS, STEP

SCALING = Path(__file__).parents[1] / "../shared/data/scaling"
FAR = 10.0  # times the compute of the largest small run
LARGEST = 24  # of a study, which are predicted
NEAR = math.log(2.2)  # mean distance of a pilot's places from runs
Array = np.ndarray


def published() -> Iterator[tuple[str, Array, Array, Array]]:
    """Parameters, tokens and losses of published studies without repeated text."""
    for name, file, column in (
        ("Muennighoff et al. 2023, C4", "muennighoff_c4_datablations.csv", "loss"),
        ("Gadre et al. 2024, C4", "gadre_104.csv", "loss_c4_shard-{0000000"),
        ("Hoffmann et al. 2022", "chinchilla_epoch_245.csv", "loss"),
    ):
        with (SCALING / file).open() as lines:
            rows = list(csv.DictReader(lines))
        if "unique_D" in rows[0]:
            rows = [row for row in rows if row["D"] == row["unique_D"]]
        if "dataset" in rows[0]:
            rows = [row for row in rows if row["dataset"].startswith("c4_original")]
        N, D, loss = (np.array([float(row[key]) for row in rows]) for key in ("N", "D", column))
        yield name, N, D, loss


def placed(N: Array, D: Array, large: int) -> Array | None:
    """The nine runs nearest to a pilot's places; None where they are not near."""
    C, ratio = 6.0 * N * D, D[large] / N[large]
    last = math.sqrt(C[large] / (6.0 * FAR * ratio * max(LENGTHS)))
    sizes = [last / STEP**k for k in range(len(LENGTHS))]
    places = [(size, times * ratio * size) for size in sizes for times in LENGTHS]
    able = np.flatnonzero(C[large] / 6.0 >= C)
    apart = np.array([np.hypot(np.log(n / N[able]), np.log(d / D[able])) for n, d in places])
    if len(able) < len(places):
        return None
    rows, columns = linear_sum_assignment(apart)
    return able[columns] if apart[rows, columns].mean() <= NEAR else None


def drawn(N: Array, D: Array, large: int) -> Array:
    """Nine runs at random."""
    C = 6.0 * N * D
    able = np.flatnonzero((C[large] / FAR >= C) & (C[large] / 300 / FAR < C))
    return np.random.default_rng(large).choice(able, 9, replace=False)


def row(name: str, N: Array, D: Array, loss: Array, pairs: list[tuple[int, Array]]) -> str:
    """How many large runs are inside, how wide the intervals are, and how far off the middles."""
    found: list[tuple[float, ...]] = []
    for large, small in pairs:
        law = laws.fit("chinchilla", loss[small], N=N[small], D=D[small], draws=0)
        (of,) = law.predict(N[[large]], D[[large]]).estimates
        low, high = of.low or 0.0, of.high or 0.0
        inside, beyond = low <= loss[large] <= high, N[large] * D[large] / (N * D)[small].max()
        off = abs(loss[large] / of.value - 1.0)
        found.append((inside, (high - low) / 2 / of.value, off, beyond))
    inside, half, error, beyond = np.array(found, dtype=float).T
    return (
        f"{name:44} {inside.sum():3.0f} of {len(found):<3} {np.median(half):6.1%}  "
        f"{error.mean():6.1%}  {np.median(beyond):6.1f}"
    )


def main() -> None:
    """Predict, print, and keep the result."""
    lines = [f"{date.today()}  large runs of published studies, predicted from nine small ones"]
    lines += ["", f"{'':44}    inside    ± half   error  compute"]
    for name, N, D, loss in published():
        C = 6.0 * N * D
        order = [
            int(i) for i in np.argsort(-C) if (C[i] / FAR / 300 < C[C[i] / FAR >= C]).sum() > 11
        ]
        near = [(i, small) for i in order[:LARGEST] if (small := placed(N, D, i)) is not None]
        lines.append(row(f"{name}, a pilot's places", N, D, loss, near))
        random = [(i, drawn(N, D, i)) for i, _ in near]
        lines.append(row(f"{name}, at random", N, D, loss, random))
        print(*lines[-2:], sep="\n", flush=True)
    lines.append("± half: of the 95 % interval (median); error: of its middle (mean)")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
