"""What published projects did: evidence next to the forecasts, and no votes.

`projects.csv` has one row for each project: facts read in the source it names.
"""

import csv
import math
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

from tongues.core.quantities import show_count

_NUMBERS = ("params", "tokens", "replay", "english")


@dataclass(frozen=True, slots=True)
class Project:
    """A published adaptation to a language, or a model from scratch; None: not reported.

    method: `continued` (all weights), `lora`, `new tokenizer` or `scratch`. tokens: of the whole
    run. replay: share of the base's own languages. english: change in points of its own tests.
    """

    project: str
    method: str
    base: str
    params: float
    tokens: float
    replay: float | None
    english: float | None
    outcome: str
    source: str

    def __str__(self) -> str:
        """One line: what was done and what came of it."""
        share = "" if self.replay is None else f", {self.replay:.0%} replay"
        english = "" if self.english is None else f", English {self.english:+.1f}"
        on = f"{self.base or 'from scratch'}, {show_count(self.tokens)} tokens{share}"
        return f"{self.project} ({on}): {self.outcome}{english} [{self.source}]"


@lru_cache
def published_projects() -> tuple[Project, ...]:
    """The table that comes with the package."""
    text = (files("tongues.plan") / "projects.csv").read_text(encoding="utf-8")
    projects: list[Project] = []
    for row in csv.DictReader(text.splitlines()):
        values: dict[str, Any] = {one.name: row[one.name] for one in fields(Project)}
        values |= {name: float(row[name]) if row[name] else None for name in _NUMBERS}
        projects.append(Project(**values))
    return tuple(projects)


def nearest_projects(params: float, tokens: float) -> list[Project]:
    """Published projects that continued a base, the nearest in parameters and tokens first."""

    def distance(one: Project) -> float:
        return max(abs(math.log(one.params / params)), abs(math.log(one.tokens / tokens)))

    near = [one for one in published_projects() if one.method == "continued"]
    return sorted(near, key=distance)
