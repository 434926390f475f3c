"""A partition as text: its tree, and what each part holds."""

from collections.abc import Mapping

from tongues.experts.partition.partition import Partition, amounts
from tongues.quantities import show_count

__all__ = ["leaves", "part_rows", "tree_lines"]

_SHOWN = 0.005  # least share of a language's text that is named


def part_rows(partition: Partition, text: Mapping[str, float]) -> list[dict[str, str]]:
    """A row per part for a table: its languages, its text, and its share of all.

    text: tokens of every language.
    """
    sizes = amounts(partition, text)
    total = sum(sizes)
    return [
        {
            "part": str(number),
            "languages": ", ".join(
                lang if share == 1 else f"{lang} {share:.0%}"
                for lang, share in sorted(shares.items(), key=lambda item: -item[1])
                if share >= _SHOWN
            ),
            "tokens": show_count(size),
            "of all": f"{size / total if total else 0:.1%}",
        }
        for number, (shares, size) in enumerate(zip(partition.shares, sizes, strict=True))
    ]


def leaves(partition: Partition) -> list[str]:
    """The languages so ordered that every cluster of the tree lies together."""
    rows = {frozenset([lang]): [lang] for lang in partition.languages}
    for merge in partition.merges:
        left, right = frozenset(merge.left), frozenset(merge.right)
        rows[left | right] = rows[left] + rows[right]
    return max(rows.values(), key=len) if partition.merges else list(partition.languages)


def tree_lines(partition: Partition) -> list[str]:
    """The tree in lines of text, a language each; nothing where there is no tree.

    From left to right come the rounds of merges, each with its distance; the number before a
    language is its part's.
    """
    if not partition.merges:
        return []
    rows = leaves(partition)
    part = {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}
    width = max(len(lang) for lang in rows)
    number = len(str(partition.k - 1))
    lines = [f"{part[lang]:>{number}}  {lang:<{width}} " for lang in rows]
    tops = {lang: i for i, lang in enumerate(rows)}  # the row on which a cluster goes on
    ends = {i: i for i in tops.values()}
    for step in range(1, partition.merges[-1].round + 1):
        marks = dict.fromkeys(ends, "─" * 8)
        for merge in (merge for merge in partition.merges if merge.round == step):
            upper, lower = sorted(
                min(tops[lang] for lang in side) for side in (merge.left, merge.right)
            )
            marks |= dict.fromkeys(range(upper + 1, lower), "       │")
            marks |= {upper: f"─{merge.distance:─<6.3f}┬", lower: "───────┘"}
            del ends[lower]
            tops |= {lang: upper for side in (merge.left, merge.right) for lang in side}
        lines = [line + marks.get(row, " " * 8) for row, line in enumerate(lines)]
    return [line.rstrip() for line in lines]
