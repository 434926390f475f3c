"""What to train next: the runs that narrow most what a larger one will end at."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from tongues.errors import UserError
from tongues.laws.allocation import allocate
from tongues.laws.law import Law
from tongues.magnitudes import show_count

__all__ = ["NextRun", "next_runs"]

_COST = 0.1  # of the large run's compute: a small run that costs more is no longer small
_LARGER = 4.0  # times the sizes and tokens per parameter that the law's runs had
_SIZES, _RATIOS = 17, 9  # of the candidates
_HALF = 1.96


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run to train, and half the 95 % interval of the large one before and after, as shares."""

    N: float
    D: float
    flops: float
    before: float
    after: float

    def row(self) -> dict[str, str]:
        """As a table shows it."""
        return {
            "next run": show_count(self.N),
            "tokens": show_count(self.D),
            "FLOPs": f"{self.flops:.2g}",
            "interval before": f"±{self.before:.2%}",
            "after": f"±{self.after:.2%}",
        }


def next_runs(law: Law, flops: float, count: int = 3) -> list[NextRun]:
    """The best runs to add one after another, for a compute-optimal run of `flops`.

    Each costs at most a tenth of it. The law's predictive draws say how losses there and here vary
    together; a measured run takes away what it explains.
    """
    best = allocate(law)
    if best is None or law.rows is None:
        what = f"the {law.form} law has no best size, or no runs of its own to add to"
        raise UserError(what, where="--narrow-at", code="no_design")
    N, D = best.sizes(flops)
    (few, many), (short, long) = law.range["N"], law.range["D/N"]
    sizes = np.geomspace(few, many * _LARGER, _SIZES)
    ratios = np.geomspace(short / _LARGER, long * _LARGER, _RATIOS)
    runs = [(n, n * r) for n, r in product(sizes, ratios) if 6 * n * n * r <= _COST * flops]
    if not runs:
        raise UserError(
            f"the law's own runs cost more than a tenth of {flops:.3g} FLOPs",
            where="--narrow-at",
            hint="ask for a larger run",
        )
    at = np.array([(float(N), float(D)), *runs])
    predicted = law.predictor()(at[:, 0], at[:, 1])
    expected = np.log(predicted.expected)
    scatter = float(np.var(np.log(predicted.draws) - expected))
    varies, chosen = np.cov(expected.T), list[NextRun]()
    for _ in range(min(count, len(runs))):
        explained = varies[0, 1:] ** 2 / (np.diag(varies)[1:] + scatter)
        i = 1 + int(np.argmax(explained))
        before = _HALF * float(np.sqrt(varies[0, 0] + scatter))
        varies = varies - np.outer(varies[:, i], varies[i]) / (varies[i, i] + scatter)
        after = _HALF * float(np.sqrt(varies[0, 0] + scatter))
        n, d = (float(value) for value in at[i])
        chosen.append(NextRun(n, d, 6 * n * d, before, after))
    return chosen
