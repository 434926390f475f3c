"""How many runs a pilot needs for an interval, with the prior of the language and without it.

usage: python benchmarks/pilot_prior.py [EVERY]

Pilots that take one run after the other, each the most informative one by what is known by then,
start from the laws alone or from the prior of the language too, and stop when half the 95 %
interval of the real run's loss is narrow enough: after how many runs, on average (where it never
is, one more than were tried counts), in how many languages that happens, and how often the interval
then holds what the real run ends at. On a synthetic world and on published runs:

Goldfish's table, every language (or every EVERYth) with a model of a gigabyte, which is the real
run; its pilots may take the models of 5, 10 and 100 MB, and the prior is fitted without it.

A synthetic world of 80 languages in ten families and three scripts. Losses follow
E + (A/N^.5 + B/D^.45)^.6, a form that neither the pilot nor the prior has; family (.08 and .10),
script (.03) and language (.05 and .06) move log E and log B; repeated tokens count less. The prior
is fitted to models of the table's four sizes in the other languages. The real run, 125M parameters
on 2G tokens, is 60 times beyond the largest of twelve candidates. A run adds .8 % of noise, the
text another level (.25 of the log loss), each language a drift of 1 % a tenfold.

How runs of like sizes stray alike was settled on another draw of this world (seed 7).
"""

import math
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from prior import MEGABYTES, ROUNDS, SIZES, read_table

from tongues.frames import text_table
from tongues.languages import Language, OwnRun, forecast_runs, known_language
from tongues.languages.forecast import BYTES_PER_TOKEN, EPOCHS
from tongues.languages.prior_fit import LossTable, fit_prior
from tongues.study.pilot.blocks import Frame, KnownLosses, Point, believe_block
from tongues.study.pilot.known import CountedText, losses_of
from tongues.study.pilot.selection import forecast

DRAWS = 500
MOST = 6  # runs of a pilot
TARGET = 5  # a gigabyte, in the table
TESTED = 10  # languages of the synthetic world
SEED = 11
E, A, B, OWN = 0.6, 3238.0, 1597.0, 0.25
MADE = "A synthetic world"
WORLDS = {  # and half widths of the interval that are wanted
    MADE: (0.15, 0.12, 0.10, 0.09, 0.08),
    "Goldfish's table": (0.12, 0.10, 0.08, 0.06, 0.05),
}
LENT = 15.0  # repetitions after which further ones are worth little


@dataclass(frozen=True, slots=True)
class Step:
    """After some runs of a pilot: middle and 95 % interval of the real run's loss."""

    middle: float
    low: float
    high: float
    doubted: bool

    @property
    def half(self) -> float:
        """Half the interval, of the logarithm."""
        return math.log(self.high / self.low) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A real run, its loss, the candidates with theirs, and what is known of the language."""

    real: Point
    truth: float
    points: Mapping[str, Point]
    losses: Mapping[str, float]
    known: KnownLosses
    loss: float  # unit of the laws' priors


def pilot(case: Case, *, with_prior: bool, enough: float = 0.0) -> list[Step]:
    """What is known of the real run after 0, 1, 2 … runs, until an interval is narrow enough."""
    N, D = (
        math.exp(np.mean([math.log(getattr(p, name)) for p in case.points.values()]))
        for name in "ND"
    )
    start = math.log10(min(point.flops for point in case.points.values()))
    frame = Frame(N, D, case.loss, start, SEED)
    known, names, steps = case.known if with_prior else None, list[str](), list[Step]()
    while True:
        points, losses = [case.points[n] for n in names], [case.losses[n] for n in names]
        belief = believe_block("target", points, losses, frame, DRAWS, known)
        ends = np.percentile(belief.predicted(case.real), (50.0, 2.5, 97.5)).tolist()
        steps.append(Step(*ends, doubted=belief.doubted))
        left = [name for name in case.points if name not in names]
        if steps[-1].half <= enough or not left or len(names) == MOST:
            return steps
        by = forecast({"target": belief}, {n: [p] for n, p in case.points.items()}, [case.real])
        names.append(min(left, key=lambda name: by.unknown([*names, name])))


def goldfish(every: int) -> list[Case]:
    """Languages of the published table, each with a prior fitted without it."""
    table, cases = read_table(), list[Case]()
    prior = fit_prior(table)
    chosen = np.flatnonzero(~np.isnan(table.log_bits[:, 2:]).any(1))
    for i in chosen[::every].tolist():
        fold = fit_prior(table.take(np.setdiff1d(np.arange(len(table.tags)), [i])), prior, ROUNDS)
        language, bits = known_language(table.tags[i]), np.exp(table.log_bits[i])
        premium = language.byte_premium or 1.0
        points = {k: _of_table(k) for k in SIZES}
        runs = [OwnRun(MEGABYTES[k] * 1e6 * premium, 1.0, SIZES[k]) for k in SIZES]
        middle, covariance = forecast_runs(language, runs, fold)
        known = KnownLosses(
            language.name, tuple(points.values()), middle + math.log(premium), covariance
        )
        small = [k for k in SIZES if k != TARGET]
        cases.append(
            Case(
                points[TARGET],
                float(bits[TARGET]),
                {str(k): points[k] for k in small},
                {str(k): float(bits[k]) for k in small},
                known,
                2.0,
            )
        )
    return cases


def _of_table(k: int) -> Point:
    tokens = MEGABYTES[k] * 1e6 / BYTES_PER_TOKEN
    return Point("scratch", SIZES[k], tokens, 6.0 * SIZES[k] * tokens * EPOCHS)


def made() -> list[Case]:
    """Languages of the synthetic world, each with a prior fitted without it."""
    random = np.random.default_rng(SEED)
    count, families, scripts = 80, random.integers(0, 10, 80), random.integers(0, 3, 80)
    of_families, of_scripts = random.standard_normal((10, 2)), random.standard_normal((3, 2))
    moved = of_families[families] * (0.08, 0.10) + of_scripts[scripts] * 0.03
    moved += random.standard_normal((count, 2)) * (0.05, 0.06)

    def bits(i: int, N: float, D: float, epochs: float = 1.0) -> float:
        lasting = 1.0 + LENT * (1.0 - math.exp(-(epochs - 1.0) / LENT))
        floor, data = E * math.exp(moved[i, 0]), B * math.exp(moved[i, 1])
        return floor + (A / N**0.5 + data / (D * lasting) ** 0.45) ** 0.6

    def seen(i: int, k: int) -> float:
        tokens = MEGABYTES[k] * 1e6 / BYTES_PER_TOKEN
        return bits(i, SIZES[k], tokens, EPOCHS) * math.exp(0.003 * random.standard_normal())

    log_bits = np.array([[seen(i, k) for k in SIZES] for i in range(count)])
    grams = log_bits[:, :1] * np.exp(np.array([0.5, 0.2]) + 0.05 * random.standard_normal((80, 2)))
    tags = tuple(f"l{i}_s{script}" for i, script in enumerate(scripts))
    named = tuple(f"family{f}" for f in families), tuple(f"s{s}" for s in scripts)
    amount = random.uniform(9.0, 11.0, count)
    reach = np.minimum(amount - 0.5, 9.0)
    table = LossTable(tags, *named, amount, reach, np.log(np.hstack([grams, log_bits])))
    prior, cases = fit_prior(table), list[Case]()
    real = Point("scratch", 125e6, 2e9, 6.0 * 125e6 * 2e9)
    sizes = [(N, D) for N in (2e6, 5e6, 12e6, 30e6) for D in (1e7, 4e7, 1.4e8)]
    points = [Point("scratch", N, D, 6.0 * N * D) for N, D in sizes]
    nats = BYTES_PER_TOKEN * math.log(2.0)
    for i in range(1, count, count // TESTED):
        fold = fit_prior(table.take(np.setdiff1d(np.arange(count), [i])), prior, ROUNDS)
        text = CountedText(BYTES_PER_TOKEN)
        language = _language(f"l{i}", named[0][i], named[1][i])
        harder, drift = OWN * random.standard_normal() - 0.4, 0.01 * random.standard_normal()

        def ended(p: Point, i: int = i, harder: float = harder, drift: float = drift) -> float:
            noise = 0.008 * random.standard_normal()
            strayed = drift * math.log10(p.flops / points[0].flops)
            return nats * bits(i, p.N, p.D) * math.exp(harder + strayed + noise)

        places = [points[j] for j in (0, 4, 7, 11)]
        known = losses_of(language, [*places, real], text, fold)
        losses = {str(j): ended(point) for j, point in enumerate(points)}
        by_name = {str(j): point for j, point in enumerate(points)}
        cases.append(Case(real, ended(real), by_name, losses, known, 0.45 * math.log(50_000)))
    return cases


def _language(code: str, family: str, script: str) -> Language:
    return Language(code, code, script, name=code, family=(family,), byte_premium=1.0)


def rows(cases: list[Case], widths: tuple[float, ...]) -> list[dict[str, str]]:
    """A line for each width that the interval is to have."""
    truths = [case.truth for case in cases]
    alone, known = (
        [pilot(case, with_prior=prior, enough=min(widths)) for case in cases]
        for prior in (False, True)
    )
    lines = []
    for width in widths:
        line, counts = {"95 % ±": f"{width:.0%}"}, list[list[int]]()
        for title, pilots in (("without", alone), ("with", known)):
            runs = [_first(steps, width) for steps in pilots]
            stops = [steps[min(n, len(steps) - 1)] for n, steps in zip(runs, pilots, strict=True)]
            most = max(map(len, pilots))  # where the width is not reached: one run more than tried
            counts.append([min(n, most) for n in runs])
            line |= {
                f"runs {title}": f"{np.mean(counts[-1]):.1f}",
                f"reached {title}": f"{sum(n < most for n in runs)}",
                f"inside {title}": _inside(stops, truths),
                f"doubted {title}": str(sum(step.doubted for step in stops)),
            }
        del line["doubted without"]
        half = sum(2 * b <= a for a, b in zip(*counts, strict=True))
        ratio = np.mean(counts[1]) / np.mean(counts[0])
        lines.append(line | {"ratio": f"{ratio:.2f}", "at most half": f"{half} of {len(cases)}"})
    return lines


def _first(steps: list[Step], width: float) -> int:
    """The runs after which the interval is at most that wide."""
    return next((n for n, step in enumerate(steps) if step.half <= width), MOST + 1)


def _inside(steps: list[Step], truths: list[float]) -> str:
    held = sum(step.low <= truth <= step.high for step, truth in zip(steps, truths, strict=True))
    return f"{held} of {len(steps)}"


def world(name: str) -> str:
    """The table of one of the worlds."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = made() if name == MADE else goldfish(every)
    table = text_table(rows(cases, WORLDS[name]))
    return f"\n{name}, {len(cases)} languages left out in turn\n{table}"


def main() -> None:
    """Print both tables and keep them."""
    with ProcessPoolExecutor(len(WORLDS)) as pool:
        text = "\n".join([str(date.today()), *pool.map(world, WORLDS)])
    print(text)
    Path(__file__).with_suffix(".txt").write_text(text + "\n")


if __name__ == "__main__":
    main()
