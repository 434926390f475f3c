"""What verbs give back that no room below has a type for."""

from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from tongues.core.estimate import Estimate
from tongues.core.extras import EXTRAS
from tongues.core.files import write_json, write_text
from tongues.experts.partition.partition import Partition
from tongues.plan import Plan


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. advice: what to do about it, where there is something."""

    name: str
    state: Literal["ok", "note", "problem"]
    value: str
    advice: str = ""

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        mark = "" if self.state == "ok" else self.state
        return {"": self.name, "found": self.value, "state": mark, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings."""

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Those that keep `tongues` from working."""
        return tuple(of for of in self.findings if of.state == "problem")

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        extras = {extra.name: extra.is_installed for extra in EXTRAS.values()}
        return {"findings": [asdict(of) for of in self.findings], "extras": extras}


@dataclass(frozen=True, slots=True)
class Draft:
    """A recipe as YAML, and the plan of it.

    lines: what it takes and what comes of it, in sentences. forecast: bits per byte on held-out
    text of the language; None where no law covers the budget.
    """

    recipe: str
    lines: tuple[str, ...]
    forecast: Estimate | None
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "date": date.today().isoformat(),
            "lines": list(self.lines),
            "bits_per_byte": self.forecast and self.forecast.to_json(),
            "plan": self.plan.to_json(),
        }

    def write(self, out: Path) -> None:
        """Write the recipe, and next to it the plan to be read and as JSON."""
        from tongues.core.pages import as_markdown
        from tongues.report.plan import options_section

        write_text(out, self.recipe)
        lines = "\n".join(f"- {line}" for line in self.lines)
        title = f"# Plan of {out.name}, {date.today().isoformat()}"
        more = as_markdown([options_section(self.plan)])
        write_text(out.with_suffix(".plan.md"), f"{title}\n\n{lines}\n\n{more}".rstrip() + "\n")
        write_json(out.with_suffix(".plan.json"), self.to_json())


@dataclass(frozen=True, slots=True)
class PartitionedText:
    """The text of a recipe in clusters, how much of each language there is, and the page."""

    partition: Partition
    amounts: dict[str, float]  # bytes of text, or tokens where they are prepared, by language
    page: Path
