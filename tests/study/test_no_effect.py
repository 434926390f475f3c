"""Studies of made curves without any effect: hardly ever may a finding be said to hold."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.study.claims import claims
from tongues.study.findings import Findings, findings

SIZES = {"1M": 1e6, "3M": 3e6, "9M": 9e6}
TOKENS = np.concatenate([[0.0], np.geomspace(2e5, 1e7, 7)])
REPEATS = 300
NOTHING = Findings(())


def study(random: np.random.Generator) -> Iterator[RunCurves]:
    """Continued runs learn as those from scratch do, and keep their source as it was.

    Whatever their replay, runs of a shape and seed share their parent, and so much of their noise;
    sizes differ from each other, but not in the mean.
    """
    for (place, (shape, N)), seed in product(enumerate(SIZES.items()), (1, 2)):
        parent, learns = 0.02 * random.standard_normal((2, len(TOKENS)))
        of_size = 0.01 * (place - 1)
        for target, replay in product(("xx", "yy"), (None, 0.0, 0.2)):
            noise = np.exp(0.01 * random.standard_normal((2, len(TOKENS))))
            loss = (1.5 + 60.0 / np.maximum(TOKENS, 3e4) ** 0.3 + 30.0 / N**0.3) * noise[0]
            curves = {target: Curve(TOKENS, 6 * N * TOKENS, loss)}
            if replay is not None:
                loss *= np.exp(0.2 * learns)
                kept = 2.5 * noise[1] * np.exp(parent + of_size * (TOKENS > 0))
                curves["home"] = Curve(TOKENS, 6 * N * TOKENS, kept)
            yield RunCurves(
                name=f"{shape}-{seed}-{target}-{replay}",
                strategy="scratch" if replay is None else "cpt",
                lang=target,
                targets=(target,),
                base_languages=() if replay is None else ("home",),
                replay=replay or 0.0,
                shares={target: 1 - (replay or 0.0), "home": replay or 0.0},
                shape=shape,
                seed=seed,
                params=int(N),
                curves=curves,
                bits_per_byte=dict.fromkeys(curves, 1.0),
                seen={target: TOKENS * (1 - (replay or 0.0))},
                base_tokens=None if replay is None else 1e7,
            )


def run_of(name: str, replay: float, shape: str, seed: int, params: int, curve: Curve) -> RunCurves:
    """A continued run that learned `xx`."""
    shares = {"xx": 1 - replay, "home": replay}
    curves = {"xx": curve}
    return RunCurves(
        name, "cpt", "xx", ("xx",), ("home",), replay, shares, shape, seed, params, curves, {}
    )


@pytest.fixture(scope="module")
def told() -> dict[str, list[float]]:
    """By finding: how often its parts were said to hold, and how often not to."""
    random = np.random.default_rng(0)
    counts: dict[str, Counter[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        module = import_module("tongues.study.findings")
        patch.setattr(module, "gather_runs", list)  # rows are runs here
        patch.setattr(module, "fit_targets", lambda runs: [])
        for _ in range(REPEATS):
            rows: Any = study(random)
            for claim in claims(findings(rows)):
                counts.setdefault(claim.name, Counter()).update(p.verdict for p in claim.parts)
    return {
        name: [found[verdict] / found.total() for verdict in ("holds", "does not hold")]
        for name, found in counts.items()
    }


@pytest.mark.parametrize(
    "name",
    [
        "below-scratch",
        "saves",
        "nearer-gains",
        "forgets",
        "source-rises",
        "source-falls",
        "source-ends-below",
        "more-keeps-more",
    ],
)
def test_no_effect_is_hardly_ever_said_to_hold(told: dict[str, list[float]], name: str):
    holds, not_so = told[name]
    assert holds <= 0.05
    assert not_so <= 0.06  # that of the opposite


def test_ends_that_lie_apart_by_the_tolerance_are_hardly_ever_said_to_meet():
    random = np.random.default_rng(2)
    holds = []
    for _ in range(REPEATS):
        runs: list[RunCurves] = []
        for shape, seed in product(SIZES, (1, 2)):
            parent = 0.005 * random.standard_normal()
            for replay, tokens in ((0.0, 5e6), (0.0, 1e7), (0.05, 8e6), (0.2, 1e7)):
                loss = 3.0 * (np.exp(0.02 + parent) if replay else 1.0)  # a parent likes replay
                loss *= np.exp(0.002 * random.standard_normal())
                curve = Curve(np.array([tokens]), np.array([6e6 * tokens]), np.array([loss]))
                seen = {"xx": np.array([tokens * (1 - replay)])}
                name = f"{shape}-{seed}-{replay}-{tokens}"
                run = run_of(name, replay, shape, seed, 1, curve)
                runs.append(replace(run, seen=seen, base_tokens=1e7))
        asked = {claim.name: claim for claim in claims(replace(NOTHING, usual=tuple(runs)))}
        holds += [part.verdict == "holds" for part in asked["targets-meet-by-ends"].parts]
    assert len(holds) == 2 * REPEATS
    assert np.mean(holds) <= 0.05
