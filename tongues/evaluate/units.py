"""An evaluation on disk: a file for each unit of work, so that what is done is done."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongues.files import file_name, read_json, write_json
from tongues.jsonable import to_plain

__all__ = ["Unit", "keep_unit", "read_unit"]


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A model on a text or a task in a language, with one draw of demonstrations."""

    subject: str
    what: str  # the text's or the task's name
    language: str
    shots: int | None = None  # None: a text
    draw: int = 0

    def path(self, folder: Path) -> Path:
        """Its file in an evaluation's folder."""
        shots = "" if self.shots is None else f".k{self.shots}.d{self.draw}"
        place = folder / "units" / file_name(self.subject) / file_name(self.what)
        return place / f"{file_name(self.language)}{shots}.json"


def keep_unit(folder: Path, unit: Unit, made_from: str, result: object) -> None:
    """Keep a unit's result; made_from: the fingerprint of all that it depends on."""
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"fingerprint": made_from, "unit": to_plain(unit), "result": to_plain(result)})


def read_unit(folder: Path, unit: Unit, made_from: str) -> Mapping[str, Any] | None:
    """A unit's result as JSON, or None where it is still to be done or made from something else."""
    path = unit.path(folder)
    if not path.is_file():
        return None
    try:
        kept = read_json(path)
    except ValueError:  # damaged
        return None
    return kept.get("result") if kept.get("fingerprint") == made_from else None
