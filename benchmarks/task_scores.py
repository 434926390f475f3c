"""Forecasts of task scores in worlds whose law is known: how often intervals hold the outcome.

Runs have losses of 1.6 to 1.05; each is measured on 500 items, around the law by one point. The
outcome is what a run of a lower loss is measured at. Then 200 worlds at chance and 200 in which the
loss does not matter.

usage: python benchmarks/task_scores.py
"""

from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np

from tongues.laws.task_scores import TaskLaw, fit_task_law

WORLDS, ITEMS = 100, 500
LAWS = ((0.25, 1.0, 0.15, 0.9), (0.5, 0.9, 0.2, 0.8), (0.33, 1.1, 0.1, 0.95))


def fitted(losses: np.ndarray, scores: np.ndarray, chance: float, items: int) -> TaskLaw:
    """The law of measured scores."""
    errors = np.sqrt(scores * (1 - scores) / items)
    return fit_task_law(losses.tolist(), scores.tolist(), errors.tolist(), chance)


def main() -> None:
    """Simulate and count."""
    random, lines = np.random.default_rng(1), [f"{date.today()}, {WORLDS} worlds a row"]
    lines.append(
        f"{'chance':>6}{'middle':>8}{'width':>7}{'at':>6}{'runs':>6}{'hold':>9}{'wide':>6}"
    )
    for chance, middle, width, lower in LAWS:
        for count in (6, 10):
            losses = np.append(np.linspace(1.6, 1.05, count), lower)
            share = chance + (1 - chance) / (1 + np.exp((losses - middle) / width))
            held, wide, given = 0, 0.0, 0
            for _ in range(WORLDS):
                moved = np.clip(share + 0.01 * random.standard_normal(count + 1), 0, 1)
                scores = random.binomial(ITEMS, moved) / ITEMS
                law = fitted(losses[:-1], scores[:-1], chance, ITEMS)
                forecast = law.forecast(lower)
                if forecast.low is not None and forecast.high is not None:
                    given += 1
                    held += forecast.low <= scores[-1] <= forecast.high
                    wide += forecast.high - forecast.low
            lines.append(
                f"{chance:6}{middle:8}{width:7}{lower:6}{count:6}"
                f"{f'{held}/{given}':>9}{100 * wide / given:6.1f}"
            )
    for level in (0.5, 0.62):
        losses = np.linspace(1.6, 1.0, 8)
        scores = random.binomial(300, level, (200, 8)) / 300
        reasons = Counter(fitted(losses, of, 0.5, 300).reason or "a forecast" for of in scores)
        lines.append(f"all runs right {level:.0%}: {dict(reasons)}")
    print(*lines, sep="\n")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
