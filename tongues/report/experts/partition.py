"""The page of a partition: what each expert is given, and the decisions that led to it."""

from collections.abc import Callable, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path

from tongues.experts.partition.partition import Partition, amounts, balance
from tongues.quantities import show_count
from tongues.report.experts.partition_figures import partition_figures
from tongues.report.folder import check_folder, write_folder
from tongues.report.html import figure, footer, items, number_card, prose, table, word
from tongues.report.shares import percent, share

__all__ = ["partition_lead", "write_partition_page"]

_WAYS = {
    "topics": "by topics, documents of like words together",
    "typology": "by typology, languages of like grammar together",
    "kinship": "by kinship, languages together that would change the seed model alike",
    "distances": "by given distances, near languages together",
    "languages": "one for each",
    "file": "as a file says",
}
_SHOWN = 0.0005  # least share of a language's text that a table names


def write_partition_page(
    partition: Partition,
    text: Mapping[str, float],
    out: Path,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of a partition to `out`; returns its `index.html`.

    text: training tokens of every language. An earlier report at `out` is replaced, any other
    filled folder refused.
    """
    check_folder(out)
    title = title or f"Partition in {partition.k} parts"
    figures = partition_figures(partition, text)
    versions = {name: version(name) for name in ("tongues", "altair")}
    body = (
        f'<header><h1>{escape(title)}</h1><p class="lead">{prose(partition_lead(partition))}</p>'
        f"</header>{_numbers(partition, text)}{_notes(partition)}"
        f'<section id="parts"><h2>Parts</h2>{_part_table(partition, text)}</section>'
        f"{''.join(figure(drawn) for drawn in figures)}"
        f"{_decisions(partition)}{footer(versions)}"
    )
    numbers = {"title": title, "versions": versions, "tokens": dict(text), **partition.to_json()}
    return write_folder(out, title, body, figures, numbers, progress)


def partition_lead(partition: Partition) -> str:
    """What the partition is, in a sentence."""
    count = len(partition.languages)
    languages = f"{count} language{'s' * (count != 1)}"
    if partition.k == 1:
        return f"The text of {languages} in one part, for one model."
    return f"The text of {languages} in {partition.k} parts, {_WAYS[partition.by]}."


def _numbers(partition: Partition, text: Mapping[str, float]) -> str:
    sizes = amounts(partition, text)
    counts = [len(cluster) for cluster in partition.clusters]
    each = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
    cards = [
        number_card(str(partition.k), f"{each} languages in each", "parts, an expert for each"),
        number_card(
            f"{balance(sizes):.2f}",
            f"{show_count(min(sizes))} to {show_count(max(sizes))} tokens",
            "times the mean is the largest part's text",
        ),
    ]
    if partition.k > 1:
        kept = [
            max(shares.get(lang, 0.0) for shares in partition.shares)
            for lang in partition.languages
        ]
        whole = sum(most > 1 - _SHOWN for most in kept)
        what = "of a language's text, on average, lies in one part"
        between = f"{whole} of {len(kept)} languages lie in one part whole"
        cards.append(number_card(percent(sum(kept) / len(kept)), between, what))
    return f'<div class="numbers">{"".join(cards)}</div>'


def _notes(partition: Partition) -> str:
    if not partition.notes:
        return ""
    return f'<div class="found"><h3>To know</h3>{items(list(partition.notes))}</div>'


def _part_table(partition: Partition, text: Mapping[str, float]) -> str:
    sizes = amounts(partition, text)
    rows = []
    for number, shares in enumerate(partition.shares):
        most_first = sorted(shares.items(), key=lambda item: -item[1])
        named = [
            f"`{lang}`" if part == 1 else f"`{lang}` {percent(part)}"
            for lang, part in most_first
            if part >= _SHOWN
        ]
        of_all = percent(share(sizes[number], sum(sizes)))
        rows.append([str(number), show_count(sizes[number]), of_all, word(prose(", ".join(named)))])
    head = ["part", "tokens", "of all", word("languages, and how much of their text")]
    return table(head, rows)


def _decisions(partition: Partition) -> str:
    """Every merge of the tree, nearest first in each round."""
    if not partition.merges:
        return ""
    parts = [set(cluster) for cluster in partition.clusters]
    rows = []
    for merge in partition.merges:
        both = {*merge.left, *merge.right}
        within = [number for number, part in enumerate(parts) if both <= part]
        rows.append(
            [
                str(merge.round),
                f"{merge.distance:.3f}",
                word(escape(", ".join(merge.left))),
                word(escape(", ".join(merge.right))),
                word(f"part {within[0]}" if within else "above the parts"),
            ]
        )
    about = (
        "In every round each cluster merges with exactly one other, the nearest pair first. Where "
        "the number of languages is not the number of parts times a power of two, only some merge "
        "in the first round, so that the parts stay within one language of each other."
    )
    head = ["round", "distance", word("cluster"), word("with"), word("in")]
    return (
        f'<section id="decisions"><h2>Decisions</h2><p class="quiet">{about}</p>'
        f"{table(head, rows)}</section>"
    )
