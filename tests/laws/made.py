"""Rows made from known laws, and the published runs, for all tests of laws."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tongues.laws import Curve, Law
from tongues.laws.observed import RunCurves

Columns = dict[str, Any]  # keywords of `fit`

SCALING = Path(__file__).parents[2] / "../shared/data/scaling"
needs_runs = pytest.mark.skipif(
    not SCALING.exists(), reason="the published runs are not on this machine"
)

CHINCHILLA = {"E": 1.6, "A": 400.0, "B": 2000.0, "alpha": 0.35, "beta": 0.37}
CPT = {**CHINCHILLA, "B": 250.0, "beta": 0.28, "gamma": 0.05}
SMALL = {"E": 1.5, "A": 40.0, "B": 300.0, "alpha": 0.35, "beta": 0.4}
SMALL_CPT = {**SMALL, "B": 80.0, "beta": 0.25, "gamma": 0.05}


def grid(sizes=6, lengths=8):
    """Every size with every number of tokens."""
    N, D = np.meshgrid(np.geomspace(1e7, 1e10, sizes), np.geomspace(1e8, 1e12, lengths))
    return N.ravel(), D.ravel()


def noise(count, spread, seed=0):
    """Factors around 1."""
    return np.exp(spread * np.random.default_rng(seed).standard_normal(count))


def rows_of(params, spread=0.01, seed=0, sizes=6, lengths=8) -> Columns:
    """The grid with a law's loss and noise, as keywords of `fit`."""
    N, D = grid(sizes, lengths)
    law = Law("extended" if "gamma" in params else "chinchilla", params)
    return {"N": N, "D": D, "loss": law.loss(N, D) * noise(len(N), spread, seed)}


def small_runs(params, spread=0.0, sizes=(1e5, 3e5, 1e6, 3e6), seed=0) -> Columns:
    """One run a size, eight checkpoints each, as keywords of `fit`."""
    N = np.repeat(sizes, 8)
    D = np.tile(np.geomspace(1e6, 4e7, 8), len(sizes))
    law = Law("extended" if "gamma" in params else "chinchilla", params)
    loss = law.loss(N, D) * noise(len(N), spread, seed)
    return {"N": N, "D": D, "loss": loss, "runs": [f"{size:g}" for size in N]}


def view_of(name: str, lang: str, curves: dict[str, Curve], **other: Any) -> RunCurves:
    """A run of one target as the laws see it; continued from `home`, where it has a strategy."""
    replay = other.get("replay", 0.0)
    usual: dict[str, Any] = {
        "strategy": "scratch",
        "targets": (lang,),
        "base_languages": () if other.get("strategy", "scratch") == "scratch" else ("home",),
        "replay": replay,
        "shares": {lang: 1 - replay, "home": replay},
        "shape": "1M",
        "seed": 1,
        "params": 1_000_000,
        "bits_per_byte": dict.fromkeys(curves, 1.0),
    }
    return RunCurves(name=name, lang=lang, curves=curves, **usual | other)


def codes(law):
    """Of its warnings."""
    return {warning.code for warning in law.warnings}


def objective(law):
    """What its fit minimised."""
    return law.mean_huber * law.n_rows


def read(name):
    """The rows of a published table."""
    with (SCALING / name).open() as file:
        return list(csv.DictReader(file))


def published(name):
    """N, D and loss of one set of published runs, as the reference fits took them."""
    kind, _, part = name.partition("_")
    if kind == "gadre":
        table, column = read("gadre_104.csv"), "loss_c4_shard-{0000000"
        table = [row for row in table if row["dataset"].startswith(part)]
    elif kind == "muennighoff":
        table, column = read("muennighoff_c4_datablations.csv"), "loss"
        table = [row for row in table if row["D"] == row["unique_D"]]
    else:
        table, column = read("chinchilla_epoch_245.csv"), "loss"
        table = sorted(table, key=lambda row: float(row["loss"]))[: int(kind[-3:])]
    return tuple(np.array([float(row[name]) for row in table]) for name in ("N", "D", column))
