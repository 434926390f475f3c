"""Mixtures by small runs: how well boosting ranks mixtures that it was not fitted on.

usage: python benchmarks/mixtures.py

RegMix's tables (Liu et al. 2024, arXiv 2407.01492): 512 mixtures of 17 domains with losses on 13
texts at 1M parameters; 256 others at 1M and at 60M, 64 others at 1B. Fitted on some of the 512,
tested on the others: Spearman's rank correlation of predicted and measured loss, and the regret at
60M: by how much the mixture predicted to be the best of the 256 is above the best of them.
Of fewer than 512 runs, five random subsets: the mean, and the lowest and the highest.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tongues.core.pages import text_table
from tongues.laws.mixtures import fit_mixtures

TABLES = Path(__file__).parents[1] / "../shared/data/published/regmix"
SUBSETS = 5
Predict = Callable[[np.ndarray], np.ndarray]


def read(mixtures: str, losses: str) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Sources with shares, and texts with losses, of the runs that both files have."""
    tables = []
    for name in (mixtures, losses):
        lines = (TABLES / f"{name}.csv").read_text(encoding="utf-8").split("\n")
        head, *rows = [line.split(",") for line in lines if line.strip()]
        tables.append((head[1:], {row[0]: [float(cell) for cell in row[1:]] for row in rows}))
    (sources, shares), (texts, losses_of) = tables
    runs = [run for run in shares if run in losses_of]
    table = np.array([shares[run] for run in runs])  # rounded: rows add up to .996 to 1.003
    return (
        [name.removeprefix("train_the_pile_") for name in sources],
        table / table.sum(1, keepdims=True),
        [name.removeprefix("metric/the_pile_").removesuffix("_val_loss") for name in texts],
        np.array([losses_of[run] for run in runs]),
    )


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    """Rank correlation."""
    of_left, of_right = (np.argsort(np.argsort(values)) for values in (left, right))
    return float(np.corrcoef(of_left, of_right)[0][1])


def main() -> None:
    """Print the tables."""
    sources, shares, texts, losses = read("train_mixture_1m", "train_pile_loss_1m")
    small = read("test_mixture_60m", "test_pile_loss_60m")
    large = read("test_mixture_1B", "test_pile_loss_1B")
    web, own = texts.index("pile_cc"), [sources.index(text) for text in texts]

    def scores(predict: Predict) -> list[float]:
        at_small, at_large = predict(small[1]), predict(large[1])
        mean, measured = at_small.mean(1), small[3].mean(1)
        return [
            spearman(at_small[:, web], small[3][:, web]),
            spearman(at_large[:, web], large[3][:, web]),
            spearman(mean, measured),
            spearman(at_large.mean(1), large[3].mean(1)),
            float(measured[mean.argmin()] - measured.min()),
        ]

    kinds: dict[str, Callable[[np.ndarray], Predict]] = {
        "own share": lambda rows: lambda at: -np.log(at[:, own] + 1e-3),
        "one fit of the mean": lambda rows: fit_mixtures(
            shares[rows], losses[rows].mean(1, keepdims=True)
        ),
        "a fit for each text": lambda rows: fit_mixtures(shares[rows], losses[rows]),
    }
    heads = ("Pile-CC 60M", "Pile-CC 1B", "mean 60M", "mean 1B", "regret 60M")
    table = []
    for count in (27, 64, 128, 512):
        random = np.random.default_rng(1)
        subsets = [random.permutation(512)[:count] for _ in range(SUBSETS if count < 512 else 1)]
        for kind, fit in kinds.items():
            if kind == "own share" and count > 27:
                continue
            one_text = kind == "one fit of the mean"
            values = np.array(
                [
                    scores(fit(rows)) if not one_text else mean_scores(fit(rows), small, large)
                    for rows in subsets
                ]
            )
            row = {
                "runs at 1M": "none" if kind == "own share" else str(count),
                "predicted by": kind,
            }
            for head, of in zip(heads, values.T, strict=True):
                digits = 4 if "regret" in head else 3
                spread = f" [{of.min():.{digits}f}, {of.max():.{digits}f}]" if np.ptp(of) else ""
                row[head] = "" if np.isnan(of).any() else f"{of.mean():.{digits}f}{spread}"
            table.append(row)
    spread = small[3].mean(1)
    print(
        "RegMix's tables: rank correlation of predicted and measured loss, mean [lowest, highest]"
    )
    print(
        "of five subsets; mean: of 13 texts; regret: nats of the chosen one of 256 mixtures, whose"
    )
    print(
        f"mean losses at 60M differ by {np.ptp(spread):.3f}, standard deviation {spread.std():.3f}"
    )
    print()
    print(text_table(table))


def mean_scores(predict: Predict, small: tuple, large: tuple) -> list[float]:
    """The scores of a fit of the mean alone, which knows nothing of single texts."""
    mean, measured = predict(small[1])[:, 0], small[3].mean(1)
    at_large = spearman(predict(large[1])[:, 0], large[3].mean(1))
    regret = float(measured[mean.argmin()] - measured.min())
    return [np.nan, np.nan, spearman(mean, measured), at_large, regret]


if __name__ == "__main__":
    main()
