"""What laws predict of runs beyond theirs, on published studies: errors and intervals.

usage: python benchmarks/extrapolation.py

Claims: predictive 95 % intervals hold 93 to 97 % of larger runs; the median error is at least a
third below that of `chinchilla` as fitted. Of each study all runs but the last tenfold of compute
are fitted, or 24 of these drawn at random, or a pilot of 9 small runs, and larger ones predicted.
The size and decay of the drift were set on the studies called `set`, which share no training run
with those called `kept`; the priors of parameters were set before that, on 17 of all. Then
repeated text, cross-validated by model size. Reads ../shared/data. The result also goes to the
file of the same name beside this script; some five minutes on one core.
"""

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
import pyarrow.parquet as pq

from tongues import laws
from tongues.laws import Law
from tongues.laws.forms import FORMS
from tongues.laws.predict import weigh_forms
from tongues.laws.rows import Rows, read_rows

Array = np.ndarray
DATA = Path(__file__).parents[1] / "../shared/data"
SET = ("hoffmann", "step law", "vocabulary 4096", "vocabulary 64512", "gadre c4")
BANDS = {"1-3 x": (1.0, 3.0), "3-6 x": (3.0, 6.0), "over 6 x": (6.0, np.inf)}
_TRIALS = 2000
FORMS_SHOWN = ("chinchilla", "extended", "skaling", "farseer")
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
    """What one form predicted of held-out runs: how far off, and whether inside 95 %."""

    form: str
    distance: Array  # in those of the most compute that was fitted
    inside: Array
    half: Array
    error: Array
    r2: float
    exact: Array = field(default_factory=lambda: np.zeros((0, 0)))  # were each draw the truth


def outcome(form: str, distance: Array, measured: Array, ends: tuple[Array, ...]) -> Outcome:
    """Predictions (middle, low, high) held against what was measured."""
    middle, low, high = ends
    off, spread = ((middle - measured) ** 2).sum(), ((measured - measured.mean()) ** 2).sum()
    return Outcome(
        form,
        distance,
        (low < measured) & (measured < high),
        (high - low) / 2 / middle,
        np.abs(middle / measured - 1.0),
        float(1.0 - off / spread) if spread else float("nan"),
    )


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
    yield "all below a tenth of the most compute", below, above
    for _ in range(3 if len(below) > 30 else 0):
        yield "24 of these", random.choice(below, 24, replace=False), above
    for _ in range(200):
        most = np.exp(random.uniform(np.log(np.quantile(C, 0.3)), np.log(C.max() / 9)))
        small = np.flatnonzero((most >= C) & (most / 300 < C))
        if len(small) < 9:
            continue
        picked = random.choice(small, 9, replace=False)
        beyond = np.flatnonzero((C[picked].max() < C) & (15 * C[picked].max() >= C))
        wide = np.ptp(np.log(study.D[picked])) > np.log(4)
        if len(np.unique(study.N[picked])) >= 3 and wide and len(beyond):
            yield "9 small runs, to 15 times their compute", picked, beyond
            return


def against(study: Study, fitted: Array, held: Array) -> Iterator[Outcome]:
    """Every form's and the stack's predictions of the held-out runs."""
    rows, measured = study.rows(fitted), study.loss[held]
    N, D, distance = study.N[held], study.D[held], study.compute[held] / study.compute[fitted].max()
    point = laws.fit("chinchilla", rows.loss, draws=300, N=study.N[fitted], D=study.D[fitted])
    ends = point.loss(N, D), *point.loss_interval(N, D)
    yield outcome("chinchilla, fitted", distance, measured, ends)
    stack = {name: {name: 1.0} for name in FORMS_SHOWN} | {"stack": weigh_forms(rows)}
    for name, weights in stack.items():
        of = Law("chinchilla", point.params, rows=rows, stack=weights).predict(N, D)
        one = outcome(name, distance, measured, (of.point, of.low, of.high))
        yield replace(one, exact=(of.low < of.draws) & (of.draws < of.high))


def lines_of(title: str, found: list[tuple[Study, str, Outcome]]) -> Iterator[str]:
    """By distance and form: coverage, widths and errors, each study counting alike."""
    yield f"{title} ({len({study.name for study, _, _ in found})} studies)"
    yield f"  {'':22}" + "".join(f"{band:>32}" for band in BANDS)
    yield f"  {'':22}" + f"{'inside':>14}{'half':>8}{'error':>10}" * 3
    for form in ("chinchilla, fitted", *FORMS_SHOWN, "stack"):
        cells = ""
        for low, high in BANDS.values():
            by_study: dict[str, list[tuple[float, float, float]]] = {}
            for study, _, one in found:
                if one.form == form:
                    at = (low < one.distance) & (one.distance <= high)
                    columns = (of[at] for of in (one.inside, one.half, one.error))
                    by_study.setdefault(study.name, []).extend(zip(*columns, strict=True))
            own = [np.array(rows, float) for rows in by_study.values() if rows]
            inside = np.concatenate(own)[:, 0].mean()
            alike = np.mean([rows[:, 0].mean() for rows in own])
            half, error = (np.median([np.median(rows[:, i]) for rows in own]) for i in (1, 2))
            cells += f"{inside:>8.0%} {alike:>5.0%}{half:>8.1%}{error:>10.2%}"
        yield f"  {form:22}{cells}"
    cells = ""
    for ends in BANDS.values():
        low, middle, high = np.quantile(_inside_if_exact(found, ends), (0.025, 0.5, 0.975))
        cells += f"{f'{low:.0%} to {high:.0%} ({middle:.0%})':>32}"
    yield f"  {'exact intervals':22}{cells}"


def _inside_if_exact(found: list[tuple[Study, str, Outcome]], ends: tuple[float, float]) -> Array:
    """The share inside in many trials in which the truth is a draw of the stack itself.

    Tables of one study share their runs, so that in a trial all of them have as good a draw.
    """
    chance = np.random.default_rng(0)
    shares, counts = list[tuple[str, Array]](), list[int]()
    for study, _, one in found:
        at = (ends[0] < one.distance) & (one.distance <= ends[1])
        if one.form == "stack" and at.any():
            family = study.name.split(",")[0].rstrip("0123456789")
            shares.append((family, np.sort(one.exact[:, at].mean(1))))
            counts.append(int(at.sum()))
    trials: list[float] = []
    for _ in range(_TRIALS):
        good = {family: chance.random() for family, _ in shares}
        inside = [of[int(good[family] * len(of))] for family, of in shares]
        trials.append(float(np.average(inside, weights=counts)))
    return np.array(trials)


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


def benches() -> Iterator[str]:
    """ScaleBench's training rows, their own last tenfold of compute held out."""
    (farseer,) = (study for study in studies() if study.name == "farseer")
    _, below, above = next(designs(farseer))
    yield f"ScaleBench farseer: {len(below)} rows, {len(above)} of the last tenfold predicted"
    for one in against(farseer, below, above):
        yield (
            f"  {one.form:20} R2 {one.r2:7.4f}  error {one.error.mean():.2%}  inside "
            f"{one.inside.mean():.0%}"
        )
    of = table("published/scalebench/data_constrained_train.parquet")
    N, D, U, loss = (of[n].astype(float) for n in ("params", "tokens", "unique_tokens", "loss"))
    held = (N * D).max() / 10 <= N * D
    small = {"N": N[~held], "D": D[~held], "U": U[~held]}
    yield f"ScaleBench data_constrained: {(~held).sum()} rows, {held.sum()} of the last tenfold"
    for form in ("chinchilla", "overfitted"):
        names = FORMS.find(form).variables
        law = fitted(form, {name: small[name] for name in names}, loss[~held])
        others = {"U": U[held]} if "U" in names else {}
        predicted, y = law.predict(N[held], D[held], **others), loss[held]
        for name, middle in (
            (f"{form}, fitted", law.loss(N[held], D[held], **others)),
            (form, predicted.point),
        ):
            r2 = 1.0 - ((middle - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
            inside = ((predicted.low < y) & (y < predicted.high)).mean()
            yield (
                f"  {name:20} R2 {r2:7.4f}  error {np.abs(middle / y - 1).mean():.2%}"
                + (f"  inside {inside:.0%}" if name == form else "")
            )


def mixtures() -> Iterator[str]:
    """Losses on five domains by their own share: fitted to some mixtures, held against others."""
    small, held = (
        table(f"published/scalebench/domain_mixture_{n}.parquet") for n in ("train", "test")
    )
    yield "ScaleBench domain_mixture: the law `family`, on mixtures that it has not seen"
    for domain in range(1, 6):
        (N, h, loss), (n, share, measured) = (
            (
                np.array([float(size.rstrip("M")) * 1e6 for size in of["group"]]),
                of[f"proportion_domain_{domain}"],
                of[f"loss_domain_{domain}"],
            )
            for of in (small, held)
        )
        with_it, there = h > 0, share > 0
        law = fitted("family", {"N": N[with_it], "h": h[with_it]}, loss[with_it])
        of = law.predict(n[there], h=share[there])
        one = outcome("", of.point, measured[there], (of.point, of.low, of.high))
        yield (
            f"  domain {domain}: R2 {one.r2:.4f}  error {one.error.mean():.2%}  inside "
            f"{one.inside.mean():.0%}"
        )


def main() -> None:
    """Predict, print, and write down."""
    lines = [f"{date.today()}  larger runs of published studies, predicted", ""]
    found: list[tuple[Study, str, Outcome]] = []
    for study in studies():
        for design, fitted, held in designs(study):
            found += [(study, design, one) for one in against(study, fitted, held)]
    for design in dict.fromkeys(design for _, design, _ in found):
        own = [one for one in found if one[1] == design]
        for title, which in (("set", (True,)), ("kept", (False,)), ("all", (True, False))):
            of = [one for one in own if one[0].name.startswith(SET) in which]
            lines += [*lines_of(f"{design}; {title}", of), ""]
    lines += [
        "inside: of all runs, and with each study counting alike; half, error: medians",
        "exact intervals: inside in 95 % of trials (median) whose truth is a draw of the stack",
        "",
    ]
    lines += [*benches(), "", *mixtures(), "", *repeated()]
    text = "\n".join(lines)
    print(text)
    Path(__file__).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
