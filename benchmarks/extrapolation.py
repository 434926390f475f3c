"""What laws predict of larger runs, on published studies: CRPS, coverage, time.

usage: python benchmarks/extrapolation.py

Claims: 95 % intervals hold 93 to 99 % of larger runs, from all runs below the last tenfold of
compute, from 24 of these, and from nine small ones; the CRPS is at most 7 % above that of the
sampled stack of four forms that this replaced; 50 runs take at most 30 ms, a process 0.6 s.
The constants of `tongues/laws/predict.py` were set on these studies, so on unseen ones coverage may
differ; studies of one family share runs and count as one. Then repeated text, cross-validated by
model size. Reads ../shared/data. The result also goes to the file of the same name
beside this script; a minute on one core.
"""

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
import pyarrow.parquet as pq

from tongues import laws
from tongues.laws import Law
from tongues.laws.forms import FORMS
from tongues.laws.rows import Rows, read_rows

Array = np.ndarray
DATA = Path(__file__).parents[1] / "../shared/data"
# of the engine before, by the same script: CRPS in % of loss, coverage by run, ms
BEFORE = {"all": (0.767, 0.997, 764), "24": (1.144, 0.984, 614), "nine": (1.246, 0.972, 146)}
WIDTHS = (6, 8, 8, 7, 8, 9, 5)  # of the table's columns
PROCESS = """
import numpy as np
from tongues import laws
random = np.random.default_rng(0)
N, D = np.exp(random.uniform(16, 20, 50)), np.exp(random.uniform(20, 24, 50))
loss = laws.preset("hoffmann2022-full").loss(N, D) * np.exp(0.003 * random.standard_normal(50))
"""
FITTED = """
law = laws.fit("chinchilla", loss, N=N, D=D, draws=0)
law.predictor(1000)(1e9, 1e12)
"""
COLUMNS = {
    "c4": "loss_c4_shard-{0000000",
    "rp": "loss_paloma_redpajama_00000001",
    "code": "loss_paloma_dolma_100_programing_languages_00000001",
    "falcon": "loss_paloma_falcon_refinedweb_00000001",
    "ptb": "loss_paloma_ptb_00000001",
    "de": "loss_de_en_val_de-en_100",
}


@dataclass(frozen=True, slots=True)
class Study:
    """Runs of one published study."""

    name: str
    N: Array
    D: Array
    loss: Array

    @property
    def compute(self) -> Array:
        """FLOPs of each run."""
        return 6.0 * self.N * self.D

    def rows(self, index: Array) -> Rows:
        """Some of its runs."""
        variables = {"N": self.N[index], "D": self.D[index]}
        return read_rows(FORMS.find("chinchilla"), variables, self.loss[index], None, 5)


def table(name: str) -> dict[str, Array]:
    """Columns of a table, numbers as floats."""
    if name.endswith(".parquet"):
        return {k: np.array(v) for k, v in pq.read_table(DATA / name).to_pydict().items()}
    with (DATA / name).open() as lines:
        rows = list(csv.DictReader(lines))
    return {k: np.array([row[k] for row in rows]) for k in rows[0]}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was predicted of held-out runs, each relative to its loss."""

    study: Study
    design: str
    crps: Array
    inside: Array
    half: Array
    error: Array
    ms: float

    @property
    def family(self) -> str:
        """Studies of one share runs."""
        return self.study.name.split(",")[0].split()[0]


def crps(draws: Array, measured: Array) -> Array:
    """The continuous ranked probability score of draws, (draws, places); lower is better."""
    ordered, count = np.sort(draws, axis=0), len(draws)
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    return np.abs(draws - measured).mean(0) - ranks @ ordered / count**2


def studies() -> Iterator[Study]:
    """Every study whose runs repeat no text."""

    def study(name: str, N: Array, D: Array, loss: Array) -> Study:
        return Study(name, N.astype(float), D.astype(float), loss.astype(float))

    of = table("scaling/chinchilla_epoch_245.csv")
    low = np.argsort(of["loss"].astype(float))[:240]
    yield study("hoffmann", of["N"][low], of["D"][low], of["loss"][low])
    of = table("scaling/muennighoff_c4_datablations.csv")
    once = of["D"] == of["unique_D"]
    yield study("muennighoff", of["N"][once], of["D"][once], of["loss"][once])
    of = table("scaling/gadre_104.csv")
    for data in ("c4_original", "rpj", "rw_original"):
        own = of["dataset"] == data
        for name, column in COLUMNS.items():
            known = own & (of[column] != "")
            short = data.removesuffix("_original")
            yield study(f"gadre {short}, {name}", of["N"][known], of["D"][known], of[column][known])
    of = table("published/scalebench/farseer_train.parquet")
    yield study("farseer", of["N"], of["D"], of["loss"])
    of = table("published/steplaw/dense_lr_bs_loss.csv")
    best: dict[tuple[str, str], float] = {}
    for N, D, loss in zip(of["N"], of["D"], of["smooth loss"].astype(float), strict=True):
        best[N, D] = min(loss, best.get((N, D), np.inf))
    yield study("step law", *np.array([(*key, loss) for key, loss in best.items()]).T)
    of = table("published/scalebench/vocab_train.parquet")
    for size in (4096, 16384, 64512):  # losses are normalised: 8 nats more makes them plain ones
        own = of["vocab_size"] == size
        loss = of["unigram_normalized_loss"][own] + 8.0
        yield study(
            f"vocabulary {size}",
            of["non_vocab_parameters"][own],
            of["num_characters"][own] / 4,
            loss,
        )


def designs(study: Study) -> Iterator[tuple[str, Array, Array]]:
    """What is fitted and what is predicted: all below the last tenfold, 24 of them, or a pilot."""
    random, C = np.random.default_rng(len(study.loss)), study.compute
    last = C.max() / 10
    below, above = np.flatnonzero(last > C), np.flatnonzero(last <= C)
    yield "all", below, above
    for _ in range(3 if len(below) > 30 else 0):
        yield "24", random.choice(below, 24, replace=False), above
    for _ in range(200):
        most = np.exp(random.uniform(np.log(np.quantile(C, 0.3)), np.log(C.max() / 9)))
        small = np.flatnonzero((most >= C) & (most / 300 < C))
        if len(small) < 9:
            continue
        picked = random.choice(small, 9, replace=False)
        beyond = np.flatnonzero((C[picked].max() < C) & (15 * C[picked].max() >= C))
        wide = np.ptp(np.log(study.D[picked])) > np.log(4)
        if len(np.unique(study.N[picked])) >= 3 and wide and len(beyond):
            yield "nine", picked, beyond
            return


def predicted(study: Study, design: str, below: Array, above: Array) -> Outcome:
    """The runs `above` by those `below`."""
    rows, loss = study.rows(below), study.loss[above]
    law = Law("chinchilla", laws.preset("hoffmann2022").params, rows=rows)
    start = time.process_time()
    of = law.predict(study.N[above], study.D[above])
    ms = 1e3 * (time.process_time() - start)
    inside, half = (of.low < loss) & (loss < of.high), (of.high - of.low) / 2.0 / loss
    off = np.abs(of.point / loss - 1.0)
    return Outcome(study, design, crps(of.draws, loss) / loss, inside, half, off, ms)


def by_family(outcomes: list[Outcome], name: str) -> float:
    """The mean of a column, over runs, then draws of a design, studies, and families."""
    families: dict[str, dict[str, list[float]]] = {}
    for one in outcomes:
        own = families.setdefault(one.family, {}).setdefault(one.study.name, [])
        own.append(float(getattr(one, name).mean()))
    return float(np.mean([np.mean([np.mean(x) for x in of.values()]) for of in families.values()]))


def sections(outcomes: list[Outcome]) -> Iterator[str]:
    """A line a design and one a family."""
    heads = zip(
        ("runs", "CRPS %", "inside", "alike", "half %", "error %", "ms"), WIDTHS, strict=True
    )
    yield f"{'':28}" + "".join(f"{head:>{width}}" for head, width in heads)
    for design, (score, inside, ms) in BEFORE.items():
        own = [one for one in outcomes if one.design == design]
        held = np.concatenate([one.inside for one in own])
        row = [100.0 * by_family(own, name) for name in ("crps", "inside", "half", "error")]
        speed = float(np.mean([one.ms for one in own]))
        yield (
            f"{design:28}{len(held):6}{row[0]:8.3f}{held.mean():8.1%}{row[1]:6.0f}%"
            f"{row[2]:8.2f}{row[3]:9.2f}{speed:5.0f}"
        )
        yield f"{'  before (stack, sampled)':28}{'':6}{score:8.3f}{inside:8.1%}{'':21}{ms:8}"
        for family in dict.fromkeys(one.family for one in own):
            of = [one for one in own if one.family == family]
            row = [100.0 * by_family(of, name) for name in ("crps", "inside", "half", "error")]
            count = f"{f'  {family}':28}{sum(len(one.inside) for one in of):6}"
            yield f"{count}{row[0]:8.3f}{'':8}{row[1]:6.0f}%{row[2]:8.2f}{row[3]:9.2f}"


def speed() -> Iterator[str]:
    """Processor time of a prediction from 50 runs, and of a process that does nothing else."""
    space: dict[str, Any] = {}
    exec(PROCESS, space)
    times: dict[str, list[float]] = {"fit": [], "predict": []}
    for _ in range(20):
        for name, line in zip(times, FITTED.strip().splitlines(), strict=True):
            start = time.process_time()
            exec(line, space)
            times[name].append(1e3 * (time.process_time() - start))
    each = ", ".join(f"{name} {np.median(own):.0f} ms" for name, own in times.items())
    code = PROCESS + FITTED + "import time; print(time.process_time())"
    done = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    whole = min(float(one.stdout) for one in done)
    yield f"50 runs, processor time: {each}; import, fit and 1,000 draws in a process {whole:.2f} s"


def fitted(form: str, variables: Mapping[str, Array], loss: Array) -> Law:
    """A law of these rows, without intervals of its parameters."""
    options: dict[str, Any] = {"draws": 0, **variables}
    return laws.fit(form, loss, **options)


def repeated() -> Iterator[str]:
    """The table of repeated text: each size above 1B parameters predicted from all others."""
    of = table("scaling/muennighoff_c4_datablations.csv")
    N, D, U, loss = (of[name].astype(float) for name in ("N", "D", "unique_D", "loss"))
    far = (N > 1e9) & (D / U > 15)
    sizes = np.round(np.log(N), 1)
    preset = laws.preset("muennighoff2023").loss(N, D, U=U)
    yield f"repeated text: {far.sum()} runs above 1B parameters and 15 epochs, by left-out size"
    yield f"  muennighoff2023, as printed: {np.abs(preset / loss - 1)[far].mean():.1%}"
    point, low, high = (np.full(len(N), np.nan) for _ in range(3))
    for size in np.unique(sizes[N > 1e9]):
        out = sizes == size
        law = fitted("overfitted", {"N": N[~out], "D": D[~out], "U": U[~out]}, loss[~out])
        point[out] = law.loss(N[out], D[out], U=U[out])
        predicted = law.predict(N[out], D[out], U=U[out])
        low[out], high[out] = predicted.low, predicted.high
    error, inside = np.abs(point / loss - 1)[far], ((low < loss) & (loss < high))[N > 1e9]
    yield (
        f"  overfitted: off by {error.mean():.1%} (mean), {np.median(error):.1%} (median); of all "
        f"runs above 1B {inside.mean():.0%} are inside"
    )


def main() -> None:
    """Predict, print, and write down."""
    outcomes = [predicted(study, *design) for study in studies() for design in designs(study)]
    lines = [f"{date.today()}  larger runs of published studies, predicted", ""]
    lines += [*sections(outcomes), "alike: inside, with each family of studies counting alike", ""]
    lines += [*speed(), "", *repeated()]
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
