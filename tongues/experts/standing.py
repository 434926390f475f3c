"""How every ensemble stands: what it holds, and whether that is all there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.errors import UserError
from tongues.experts.ensemble.lineage import ENSEMBLE, read_lineage, verify

__all__ = ["Standing", "standings", "standings_table"]

_LANGUAGES = 8  # that stand in the table


@dataclass(frozen=True, slots=True)
class Standing:
    """An ensemble of the store, or one that lies elsewhere, by its folder."""

    ensemble: str  # its name, as `tongues generate` takes it
    directory: str
    experts: int
    languages: tuple[str, ...]  # that it learned
    complete: bool
    reason: str = ""  # what lacks; bytes are not compared, as `tongues experts show` does


def standings(places: Iterable[Path], workspace: Path) -> list[Standing]:
    """Each ensemble at or below `places`, by path."""
    files = {file for place in places for file in place.rglob(ENSEMBLE)}
    return [_standing(file.parent, workspace) for file in sorted(files)]


def standings_table(standings: Sequence[Standing]) -> list[dict[str, str]]:
    """A row of text an ensemble."""
    rows = []
    for one in standings:
        more = len(one.languages) - _LANGUAGES
        rows.append(
            {
                "ensemble": one.ensemble,
                "experts": str(one.experts),
                "languages": " ".join(one.languages[:_LANGUAGES]) + (f" +{more}" * (more > 0)),
                "state": "complete" if one.complete else "incomplete",
                "why": one.reason,
            }
        )
    whole = all(one.complete for one in standings)
    return [{key: row[key] for key in row if key != "why"} for row in rows] if whole else rows


def _standing(folder: Path, workspace: Path) -> Standing:
    store = workspace / "ensembles"
    name = str(folder.relative_to(store) if folder.is_relative_to(store) else folder)
    try:
        lineage = read_lineage(folder)
    except UserError as error:
        return Standing(name, str(folder), 0, (), complete=False, reason=error.what)
    reason = ""
    try:
        verify(lineage, folder, workspace, bytes_too=False)
    except UserError as error:
        reason = error.what
    held = len(lineage.experts), tuple(sorted(lineage.languages))
    return Standing(name, str(folder), *held, complete=not reason, reason=reason)
