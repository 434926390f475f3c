"""Studies of made curves without any effect: hardly ever may an interval exclude zero."""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.laws.made import view_of
from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.study.findings import findings

SIZES = {"1M": 1e6, "3M": 3e6, "9M": 9e6}
TOKENS = np.concatenate([[0.0], np.geomspace(2e5, 1e7, 7)])
REPEATS = 150


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
            own: dict[str, Any] = {"shape": shape, "seed": seed, "params": int(N)}
            own |= {"seen": {target: TOKENS * (1 - (replay or 0.0))}, "replay": replay or 0.0}
            if replay is not None:
                own |= {"strategy": "cpt", "base_tokens": 1e7}
            yield view_of(f"{shape}-{seed}-{target}-{replay}", target, curves, **own)


@pytest.fixture(scope="module")
def told() -> dict[str, list[float]]:
    """By measure: how often its interval was above zero, and how often below."""
    random = np.random.default_rng(0)
    counts: dict[str, Counter[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        module = import_module("tongues.study.findings")
        patch.setattr(module, "gather_runs", list)  # rows are runs here
        patch.setattr(module, "fit_targets", lambda runs: [])
        for _ in range(REPEATS):
            rows: Any = study(random)
            for of in (o for o in findings(rows).outcomes if o.strategy == "cpt"):
                measured = {"lead": of.lead and of.lead.nats, "saved": of.saved}
                measured |= {f"rise, {of.replay:.0%}": of.rises["home"].nats}
                measured |= {"kept": of.replayed.get("home")}
                for name, value in measured.items():
                    if value:
                        counts.setdefault(name, Counter()).update([value.excludes_zero])
    return {
        name: [found[sign] / found.total() for sign in (1, -1)] for name, found in counts.items()
    }


@pytest.mark.parametrize("name", ["lead", "saved", "rise, 0%", "rise, 20%", "kept"])
def test_no_effect_is_hardly_ever_significant(told: dict[str, list[float]], name: str):
    assert max(told[name]) <= 0.06
