"""What published projects did, and when training from scratch overtakes: evidence next to the laws.

`projects.csv` has one row for each project: facts read in the source it names.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from statistics import median
from typing import Any

from tongues.quantities import show_count

_FACTOR = 10.0  # a project counts as of that size within ten times the parameters and the tokens
_NEAREST = 7
_FEWEST = 3  # projects, to decide anything
_AGREE = 0.75  # share of them that ended better on the target
_WORTH = {"better": 1.0, "mixed": 0.5, "same": 0.0, "worse": 0.0}
# ATLAS (Longpre et al. 2025, arXiv 2510.22037, section 6): at 2B parameters a model from scratch
# passes a continued one after 144B (English) to 283B tokens (Chinese); with the size the compute of
# that point grows as N^1.54 (legend) or N^1.65 (text), so the tokens as N^0.54 or N^0.65.
_MEASURED_AT, _TOKENS, _GROWTH = 2e9, (144e9, 283e9), (0.54, 0.65)
_STEP = 0.05


@dataclass(frozen=True, slots=True)
class Project:
    """A published adaptation to a language, or a model from scratch; None: not reported.

    method: `continued` (all weights), `lora`, `new tokenizer` or `scratch`. tokens: of the whole
    run. replay: share of the base's own languages. target: better, mixed, same or worse than the
    base, or for `scratch` than continuing. english: change in points of its own tests.
    """

    project: str
    year: int
    method: str
    base: str
    params: float
    tokens: float
    replay: float | None
    epochs: float | None
    target: str
    english: float | None
    outcome: str
    source: str

    def __str__(self) -> str:
        """One line: what was done and what came of it."""
        share = "" if self.replay is None else f", {self.replay:.0%} replay"
        english = "" if self.english is None else f", English {self.english:+.1f}"
        on = f"{self.base or 'from scratch'}, {show_count(self.tokens)} tokens{share}"
        return f"{self.project} ({on}): {self.outcome}{english} [{self.source}]"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether published measurements favour continuing a base; False: they do not decide.

    overtaken: tokens from which a model from scratch of that size was the better one.
    """

    continues: bool
    nearest: tuple[Project, ...]
    overtaken: tuple[float, float]
    why: str


@lru_cache
def published_projects() -> tuple[Project, ...]:
    """The table that comes with the package."""
    text = (files("tongues.plan") / "projects.csv").read_text(encoding="utf-8")
    numbers = {"params", "tokens", "replay", "epochs", "english"}
    projects: list[Project] = []
    for row in csv.DictReader(text.splitlines()):
        values: dict[str, Any] = {
            name: (float(value) if value else None) if name in numbers else value
            for name, value in row.items()
        }
        values["year"] = int(row["year"])
        projects.append(Project(**values))
    return tuple(projects)


def similar(projects: Sequence[Project], params: float, tokens: float) -> tuple[Project, ...]:
    """The nearest projects of about that size and number of tokens that continued a base."""

    def distance(one: Project) -> float:
        return max(abs(math.log(one.params / params)), abs(math.log(one.tokens / tokens)))

    near = [p for p in projects if p.method == "continued" and distance(p) <= math.log(_FACTOR)]
    return tuple(sorted(near, key=distance)[:_NEAREST])


def crossover(params: float) -> tuple[float, float]:
    """Tokens from which training from scratch overtakes continuing at that size: low and high."""
    size = params / _MEASURED_AT
    low, high = (
        tokens * bound(size**growth for growth in _GROWTH)
        for tokens, bound in zip(_TOKENS, (min, max), strict=True)
    )
    return low, high


def verdict(projects: Sequence[Project], params: float, tokens: float) -> Verdict:
    """Whether continuing a base of `params` on `tokens` is what measurements favour."""
    near, overtaken = similar(projects, params, tokens), crossover(params)
    ends = " to ".join(map(show_count, overtaken))
    score = sum(_WORTH[one.target] for one in near)
    better = sum(one.target == "better" for one in near)
    counted = f"{better} of the {len(near)} nearest projects that continued a base ended better"
    if not near:
        counted = "no project of about this size is known"
    if tokens >= overtaken[0]:
        why = f"from {ends} tokens on, a model of this size from scratch was the better one (ATLAS)"
        return Verdict(False, near, overtaken, why)
    if len(near) < _FEWEST or score < _AGREE * len(near):
        return Verdict(False, near, overtaken, counted if not near else f"only {counted}")
    why = f"{counted}, and training from scratch overtakes only after {ends} tokens (ATLAS)"
    return Verdict(True, near, overtaken, why)


def usual_replay(projects: Sequence[Project]) -> tuple[float, list[Project]]:
    """The median share of replay of published studies that replayed, in steps of 5 %; and them.

    Models of one study count once.
    """
    by_source = {p.source: p for p in projects if p.method == "continued" and p.replay}
    shares = [project.replay or 0.0 for project in by_source.values()]
    return round(median(shares) / _STEP) * _STEP, list(by_source.values())
