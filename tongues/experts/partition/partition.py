"""What a partition is: the parts of the text that experts are trained on, and why they are so."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tongues.errors import UserError
from tongues.files import fingerprint, read_json, write_json

__all__ = [
    "Distances",
    "Merge",
    "Partition",
    "amounts",
    "balance",
    "of_languages",
    "read_partition",
    "write_partition",
]

Distances = dict[str, dict[str, float]]

FILE = "partition.json"


@dataclass(frozen=True, slots=True)
class Merge:
    """Two clusters of languages that became one: a decision of the tree."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    distance: float  # between the two, by the tree's linkage
    round: int  # from 1 on


@dataclass(frozen=True, slots=True)
class Partition:
    """The text of several languages in k parts, one for every expert."""

    by: str  # topics, typology, languages, kinship, distances, file or dense
    clusters: tuple[tuple[str, ...], ...]  # languages of each part, as the user names them
    shares: tuple[dict[str, float], ...]  # of each part: the share of a language's text in it
    merges: tuple[Merge, ...] = ()  # every decision of the tree, up to one cluster of all
    distances: Distances | None = None  # behind the decisions
    notes: tuple[str, ...] = ()  # what a reader should know
    fingerprint: str = ""

    @property
    def k(self) -> int:
        """The number of parts."""
        return len(self.clusters)

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language once, part by part."""
        return tuple(dict.fromkeys(lang for cluster in self.clusters for lang in cluster))

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON; `from_json` reads it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The partition that `to_json` wrote."""
        known = dict(data)
        known["clusters"] = tuple(tuple(cluster) for cluster in data["clusters"])
        known["shares"] = tuple(dict(share) for share in data["shares"])
        known["notes"] = tuple(data["notes"])
        known["merges"] = tuple(
            Merge(tuple(m["left"]), tuple(m["right"]), m["distance"], m["round"])
            for m in data["merges"]
        )
        return cls(**known)


def of_languages(
    by: str,
    clusters: Sequence[Sequence[str]],
    *,
    merges: Sequence[Merge] = (),
    distances: Distances | None = None,
    notes: Sequence[str] = (),
) -> Partition:
    """A partition in which all text of a language lies in one part.

    Its fingerprint follows from `by` and the clusters alone: it is the same for any tokens.
    """
    parts = tuple(tuple(cluster) for cluster in clusters)
    return Partition(
        by=by,
        clusters=parts,
        shares=tuple(dict.fromkeys(part, 1.0) for part in parts),
        merges=tuple(merges),
        distances=distances,
        notes=tuple(notes),
        fingerprint=fingerprint({"by": by, "clusters": parts}),
    )


def amounts(partition: Partition, text: Mapping[str, float]) -> list[float]:
    """How much text each part holds, in the unit of `text`: the amount of every language."""
    return [
        sum(text[lang] * share for lang, share in shares.items()) for shares in partition.shares
    ]


def balance(sizes: Sequence[float]) -> float:
    """The largest part over the mean: 1 where all are equal."""
    total = sum(sizes)
    return max(sizes) * len(sizes) / total if total else 1.0


def write_partition(folder: Path, partition: Partition) -> Path:
    """Write `partition.json` into a folder; returns the file."""
    write_json(folder / FILE, partition.to_json())
    return folder / FILE


def read_partition(folder: Path) -> Partition:
    """Read `partition.json` of a folder; a UserError when it is missing or damaged."""
    path = folder / FILE
    hint = "make it with `tongues experts partition`"
    try:
        return Partition.from_json(read_json(path))
    except FileNotFoundError:
        raise UserError("there is no partition", where=str(path), hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"is no whole partition ({error!r})"
        raise UserError(what, where=str(path), hint=hint) from None
