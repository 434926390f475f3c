"""The rows of the table put together again: one run, its losses through training, its twin."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.laws.transfer import Curve

__all__ = ["Run", "gather", "size_order", "twin"]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run of the table. `curves` holds, by language, the loss at each evaluation."""

    name: str
    strategy: str
    target: str
    source: str | None
    replay: float
    shape: str
    seed: int
    params: int
    curves: Mapping[str, Curve]
    bits_per_byte: Mapping[str, float]  # at the end, by language

    @property
    def learned(self) -> Curve:
        """The loss on the language the run was to learn."""
        return self.curves[self.target]

    @property
    def tokens(self) -> float:
        """Trained on, all languages together."""
        return float(self.learned.tokens[-1])

    def final(self, lang: str) -> float | None:
        """The loss at the end in nats per token, where that language was evaluated."""
        return float(self.curves[lang].loss[-1]) if lang in self.curves else None


def gather(rows: Iterable[Mapping[str, Any]]) -> list[Run]:
    """The runs behind the rows of `tongues.runs.table`, smallest first.

    A run that was never evaluated on the language it learns is left out.
    """
    rows = list(rows)
    texts = {row["tokens_fingerprint"] for row in rows}
    if len(texts) > 1:
        raise UserError(
            f"the runs were trained on {len(texts)} different preparations of text",
            where="runs",
            hint="losses compare within one tokenizer and one held-out text: name one study",
        )
    by_run: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_run[row["run"]][row["lang"]].append(row)
    runs = [_run(langs) for langs in by_run.values()]
    kept = [run for run in runs if run.target in run.curves]
    return sorted(kept, key=lambda run: (run.params, run.shape, run.seed, run.name))


def twin(run: Run, runs: Iterable[Run]) -> Run | None:
    """The scratch run of the same target, shape and seed; of the same study if there are more."""
    same = [
        other
        for other in runs
        if other.strategy == "scratch"
        and (other.target, other.shape, other.seed) == (run.target, run.shape, run.seed)
    ]
    study = run.name.rpartition("/")[0]
    return min(same, key=lambda other: other.name.rpartition("/")[0] != study, default=None)


def size_order(runs: Iterable[Run]) -> list[str]:
    """The shapes, smallest first."""
    return list(dict.fromkeys(run.shape for run in sorted(runs, key=lambda run: run.params)))


def _run(langs: Mapping[str, list[Mapping[str, Any]]]) -> Run:
    ordered = {lang: sorted(rows, key=lambda row: row["step"]) for lang, rows in langs.items()}
    first = next(iter(ordered.values()))[0]
    return Run(
        name=first["run"],
        strategy=first["strategy"],
        target=first["target"],
        source=first["source"],
        replay=first["replay"],
        shape=first["shape"],
        seed=first["seed"],
        params=first["params"],
        curves={
            lang: Curve(
                tokens=np.array([row["tokens"] for row in rows], float),
                compute=np.array([row["flops"] for row in rows], float),
                loss=np.array([row["loss"] for row in rows], float),
            )
            for lang, rows in ordered.items()
        },
        bits_per_byte={lang: rows[-1]["bits_per_byte"] for lang, rows in ordered.items()},
    )
