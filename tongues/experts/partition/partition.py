"""What a partition is: the clusters of text that experts are trained on, and why they are so."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tongues.core.errors import UserError
from tongues.core.files import check_readable, fingerprint, read_json, write_json
from tongues.core.jsonable import from_plain

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
    """The text of several languages in k clusters, one for every expert."""

    by: str  # topics, typology, languages, file or dense
    clusters: tuple[tuple[str, ...], ...]  # languages of each, as the user names them
    shares: tuple[dict[str, float], ...]  # of each cluster: the share of a language's text in it
    merges: tuple[Merge, ...] = ()  # every decision of the tree, up to one cluster of all
    distances: Distances | None = None  # behind the decisions
    notes: tuple[str, ...] = ()  # what a reader should know
    fingerprint: str = ""

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.clusters)

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language once, cluster by cluster."""
        return tuple(dict.fromkeys(lang for cluster in self.clusters for lang in cluster))

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON; `from_json` reads it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The partition that `to_json` wrote."""
        return from_plain(cls, data)


def of_languages(
    by: str,
    clusters: Sequence[Sequence[str]],
    *,
    merges: Sequence[Merge] = (),
    distances: Distances | None = None,
    notes: Sequence[str] = (),
) -> Partition:
    """A partition in which all text of a language is in one cluster.

    Its fingerprint follows from `by` and the clusters alone: it is the same for any tokens.
    """
    plain = tuple(map(tuple, clusters))
    shares = tuple(dict.fromkeys(cluster, 1.0) for cluster in plain)
    mark = fingerprint({"by": by, "clusters": plain})
    return Partition(by, plain, shares, tuple(merges), distances, tuple(notes), mark)


def write_partition(folder: Path, partition: Partition) -> Path:
    """Write `partition.json` into a folder; returns the file."""
    write_json(folder / FILE, partition.to_json())
    return folder / FILE


def read_partition(folder: Path) -> Partition:
    """Read `partition.json` of a folder; a UserError when it is missing or damaged."""
    path = folder / FILE
    hint = "make it with `tongues experts partition`"
    check_readable(path)
    try:
        return Partition.from_json(read_json(path))
    except FileNotFoundError:
        raise UserError("there is no partition", where=str(path), hint=hint) from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        what = f"is not a complete partition ({error!r})"
        raise UserError(what, where=str(path), hint=hint) from None


def amounts(partition: Partition, text: Mapping[str, float]) -> list[float]:
    """How much text each cluster holds, in the unit of `text`: the amount of every language."""
    return [sum(text[lang] * share for lang, share in of.items()) for of in partition.shares]


def balance(sizes: Sequence[float]) -> float:
    """The largest cluster over the mean: 1 where all are equal."""
    total = sum(sizes)
    return max(sizes) * len(sizes) / total if total else 1.0


def leaves(partition: Partition) -> list[str]:
    """The languages so ordered that every cluster of the tree is together."""
    rows = {frozenset([lang]): [lang] for lang in partition.languages}
    for merge in partition.merges:
        left, right = frozenset(merge.left), frozenset(merge.right)
        rows[left | right] = rows[left] + rows[right]
    return max(rows.values(), key=len) if partition.merges else list(partition.languages)


def tree_lines(partition: Partition) -> list[str]:
    """The tree in lines of text, a language each; nothing where there is no tree.

    From left to right come the rounds of merges, each with its distance; the number before a
    language is its cluster's.
    """
    if not partition.merges:
        return []
    rows = leaves(partition)
    cluster_of = {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}
    width, digits = max(len(lang) for lang in rows), len(str(partition.k - 1))
    lines = [f"{cluster_of[lang]:>{digits}}  {lang:<{width}} " for lang in rows]
    tops = {lang: i for i, lang in enumerate(rows)}  # the row on which a cluster goes on
    ends = dict.fromkeys(tops.values())
    for step in range(1, partition.merges[-1].round + 1):
        marks = dict.fromkeys(ends, "─" * 8)
        for merge in (merge for merge in partition.merges if merge.round == step):
            sides = (merge.left, merge.right)
            upper, lower = sorted(min(tops[lang] for lang in side) for side in sides)
            marks |= dict.fromkeys(range(upper + 1, lower), "       │")
            marks |= {upper: f"─{merge.distance:─<6.3f}┬", lower: "───────┘"}
            del ends[lower]
            tops |= dict.fromkeys(merge.left + merge.right, upper)
        lines = [line + marks.get(row, " " * 8) for row, line in enumerate(lines)]
    return [line.rstrip() for line in lines]
