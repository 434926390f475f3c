"""The page of a partition: its clusters, whose text is where, and the decisions behind it."""

from collections.abc import Mapping
from itertools import permutations

from tongues.core.pages import blocks as b
from tongues.core.pages import percent, percent_cell, value_cell
from tongues.core.pages.axes import Row, across, categories, colour, linear
from tongues.core.pages.plots import alt, bars, heat
from tongues.core.quantities import counted, show_count
from tongues.experts.partition import PARTITIONS
from tongues.experts.partition.partition import Partition, amounts, balance, leaves
from tongues.report.experts.answer import WORDS

_SEEN = 0.0005  # shares below it are neither named nor drawn
_ROW = 24  # pixels of a language or a cluster
_WRITTEN = 12  # languages up to which a matrix says its distances


def partition_page(partition: Partition, text: Mapping[str, float]) -> b.Page:
    """The page of a partition; text: training tokens of every language."""
    notes = b.Items(partition.notes, "notes") if partition.notes else None
    spread = None
    if any(0 < share < 1 for shares in partition.shares for share in shares.values()):
        panel, rows = spread_panel("Each language's text", partition)
        rows = [row | {"tokens": row["share"] * text[row["language"]]} for row in rows]
        spread = b.Figure.of("shares", WORDS["whose"], WORDS["spread"], [panel], rows)
    even = WORDS["even"].format(balance(amounts(partition, text)))
    clusters = b.Section("clusters", "Clusters", [cluster_table(partition, text)])
    return b.Page(
        f"Partition in {partition.k} clusters",
        [notes, clusters, spread, _matrix(partition, partition.distances or {})],
        lead=[b.Paragraph(f"{partition_lead(partition)} {even}", "lead")],
        numbers={"tokens": dict(text), **partition.to_json()},
    )


def partition_lead(partition: Partition) -> str:
    """What the partition is, in a sentence."""
    languages = counted(len(partition.languages), "language")
    if partition.k == 1:
        return f"The text of {languages} in one cluster, for one model."
    summaries = {method.name: method.summary for method in PARTITIONS}
    how = summaries.get(partition.by, f"by {partition.by}")  # its package may be gone
    return f"The text of {languages} in {partition.k} clusters, {how}."


def cluster_table(partition: Partition, text: Mapping[str, float] | None = None) -> b.Table:
    """A row per cluster: which languages it has, and how much text where that is known."""
    sizes = amounts(partition, text) if text else []
    rows: list[dict[str, b.Entry]] = []
    for number, shares in enumerate(partition.shares):
        most_first = sorted(shares.items(), key=lambda item: -item[1])
        named = ", ".join(
            lang if share == 1 else f"{lang} {percent(share)}"
            for lang, share in most_first
            if share >= _SEEN
        )
        row: dict[str, b.Entry] = {"cluster": number, "languages": named}
        if text:
            row["tokens"] = value_cell(sizes[number], show_count)
            row["of all"] = percent_cell(sizes[number], sum(sizes))
        rows.append(row)
    return b.Table.of(rows)


def spread_panel(title: str, partition: Partition) -> tuple[alt.LayerChart, list[Row]]:
    """How the text of each language is spread over the clusters, and the rows drawn."""
    rows: list[Row] = [
        {"cluster": number, "series": f"cluster {number}", "language": lang, "share": share}
        for number, shares in enumerate(partition.shares)
        for lang, share in shares.items()
        if share >= _SEEN
    ]
    names = [f"cluster {number}" for number in range(partition.k)]
    drawn = bars(
        title,
        rows,
        linear("share", "share of its text", low=0, high=1, format="~%"),
        categories("language", leaves(partition)),
        colour(names, names, "square", symbolSize=90, columns=4),
        row=_ROW,
        tooltip=("language", "series=cluster", "share:.1%"),
        order="cluster",
        band=0.75,
    )
    return drawn, rows


def _matrix(partition: Partition, distances: Mapping[str, Mapping[str, float]]) -> b.Figure | None:
    if len(distances) < 2:
        return None
    order, cluster = leaves(partition), _cluster_of(partition)
    kinds = ["one cluster", "two clusters"] if cluster else ["distance"]
    rows: list[Row] = []
    for a, other in permutations(order, 2):
        kind = kinds[cluster[a] != cluster[other] if cluster else 0]
        rows.append({"language": a, "other": other, "distance": distances[a][other], "kind": kind})
    values = [row["distance"] for row in rows]
    drawn = heat(
        "Distances of languages",
        rows,
        across("other", order, _WRITTEN),
        categories("language", order),
        colour(kinds, kinds if cluster else None, "square", field="kind", symbolSize=90),
        "distance",
        {"domain": [min(values), max(values)], "range": [0.9, 0.08]},
        row=_ROW,
        tooltip=("language", "other", "distance"),
        written="format(datum.distance, '.2f')" if len(order) <= _WRITTEN else "",
    )
    about = WORDS["distances"]
    caption = about["near"], about["merges"] * bool(partition.merges), about["own"] * bool(cluster)
    return b.Figure.of("distances", "The distances behind it", caption, [drawn], rows)


def _cluster_of(partition: Partition) -> dict[str, int]:
    """The cluster of each language; nothing where languages are spread over clusters."""
    clusters = {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}
    return clusters if sum(map(len, partition.clusters)) == len(clusters) else {}
