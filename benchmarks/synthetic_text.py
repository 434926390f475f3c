"""Synthetic text: what divergence does.

Run `python benchmarks/synthetic_text.py`; the same lines go to `synthetic_text.txt`.
"""

from datetime import date
from pathlib import Path

import numpy as np

from tongues.text.synthetic import (
    Drift,
    World,
    make_family,
    shared_order,
    shared_words,
)

DISTANCES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SEEDS = range(10)


def relatedness() -> list[str]:
    """Measure what parent and child share at each divergence, over seeds."""
    lines = [
        f"shared with the parent, mean ± standard deviation over {len(SEEDS)} families",
        "divergence  words          order          same script",
    ]
    worlds = [World.of(seed) for seed in SEEDS]
    for divergence in DISTANCES:
        drifts = {"qaa": Drift(), "qab": Drift("qaa", divergence)}
        pairs = [tuple(make_family(world, drifts, world.seed).values()) for world in worlds]
        words, orders = (
            np.array([share(a, b) for a, b in pairs]) for share in (shared_words, shared_order)
        )
        script = np.mean([a.script == b.script for a, b in pairs])
        lines.append(
            f"{divergence:8.2f}  {words.mean():.3f} ± {words.std(ddof=1):.3f}"
            f"  {orders.mean():.3f} ± {orders.std(ddof=1):.3f}  {script:.1f}"
        )
    return lines


def main() -> None:
    """Print the table and write it beside this file."""
    text = "\n".join([f"synthetic text, {date.today()}", "", *relatedness()]) + "\n"
    print(text, end="")
    Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
