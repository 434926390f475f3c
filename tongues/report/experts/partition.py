"""The page of a partition: its parts, whose text lies where, and the decisions behind it."""

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from tongues.experts.partition import PARTITIONS
from tongues.experts.partition.partition import Partition, amounts, balance, leaves
from tongues.pages import (
    Block,
    Callout,
    Card,
    Cards,
    Cell,
    Entry,
    Figure,
    Page,
    Paragraph,
    Section,
    Table,
    check_folder,
    percent,
    percent_cell,
    write_page,
)
from tongues.pages.axes import COUNT, Axis, Row, categories, colour, linear, tips
from tongues.pages.plots import alt, bars, chart, heat, panel, words
from tongues.quantities import show_count

__all__ = ["partition_lead", "write_partition_page"]

_GIVEN = "by given distances, near languages together"
_ABOUT_MERGES = (
    "In every round each cluster merges with exactly one other, the nearest pair first. Where "
    "the number of languages is not the number of parts times a power of two, only some merge "
    "in the first round, so that the parts stay within one language of each other."
)
_SEEN = 0.0005  # shares below it are neither named nor drawn
_ROW = 24  # pixels of a language or a part
_NAMED = 0.035  # share of the widest bar from which a piece of it has room for a name
_WRITTEN = 12  # languages up to which a matrix says its distances


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
    notes = [Callout("To know", partition.notes)] if partition.notes else []
    page = Page(
        title or f"Partition in {partition.k} parts",
        [
            _cards(partition, text),
            *notes,
            Section("parts", "Parts", [_part_table(partition, text)]),
            *_figures(partition, text),
            *_decisions(partition),
        ],
        lead=[Paragraph(partition_lead(partition), "lead")],
        versions={name: version(name) for name in ("tongues", "altair")},
        numbers={"tokens": dict(text), **partition.to_json()},
    )
    return write_page(page, out, progress)


def partition_lead(partition: Partition) -> str:
    """What the partition is, in a sentence."""
    count = len(partition.languages)
    languages = f"{count} language{'s' * (count != 1)}"
    if partition.k == 1:
        return f"The text of {languages} in one part, for one model."
    summaries = {"distances": _GIVEN} | {method.name: method.summary for method in PARTITIONS}
    how = summaries.get(partition.by, f"by {partition.by}")  # its package may be gone
    return f"The text of {languages} in {partition.k} parts, {how}."


def _cards(partition: Partition, text: Mapping[str, float]) -> Cards:
    sizes = amounts(partition, text)
    counts = [len(cluster) for cluster in partition.clusters]
    each = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
    span = f"{show_count(min(sizes))} to {show_count(max(sizes))} tokens"
    cards = [
        Card(str(partition.k), f"{each} languages in each", "parts, an expert for each"),
        Card(f"{balance(sizes):.2f}", span, "times the mean is the largest part's text"),
    ]
    if partition.k > 1:
        kept = [max(s.get(lang, 0.0) for s in partition.shares) for lang in partition.languages]
        whole = sum(most > 1 - _SEEN for most in kept)
        what = "of a language's text, on average, lies in one part"
        between = f"{whole} of {len(kept)} languages lie in one part whole"
        cards.append(Card(percent(sum(kept) / len(kept)), between, what))
    return Cards(cards)


def _part_table(partition: Partition, text: Mapping[str, float]) -> Table:
    sizes = amounts(partition, text)
    rows: list[list[Entry]] = []
    for number, shares in enumerate(partition.shares):
        most_first = sorted(shares.items(), key=lambda item: -item[1])
        named = [
            f"`{lang}`" if part == 1 else f"`{lang}` {percent(part)}"
            for lang, part in most_first
            if part >= _SEEN
        ]
        tokens = Cell(show_count(sizes[number]), sizes[number])
        of_all = percent_cell(sizes[number], sum(sizes))
        rows.append([number, tokens, of_all, Cell(", ".join(named), marked=True)])
    return Table(["part", "tokens", "of all", "languages, and how much of their text"], rows)


def _decisions(partition: Partition) -> list[Block]:
    """Every merge of the tree, nearest first in each round."""
    if not partition.merges:
        return []
    parts = [set(cluster) for cluster in partition.clusters]
    rows: list[list[Entry]] = []
    for merge in partition.merges:
        both = {*merge.left, *merge.right}
        within = [number for number, part in enumerate(parts) if both <= part]
        distance = Cell(f"{merge.distance:.3f}", merge.distance)
        sides = ", ".join(merge.left), ", ".join(merge.right)
        where = f"part {within[0]}" if within else "above the parts"
        rows.append([merge.round, distance, *sides, where])
    table = Table(["round", "distance", "cluster", "with", "in"], rows)
    return [Section("decisions", "Decisions", [Paragraph(_ABOUT_MERGES, "quiet"), table])]


def _figures(partition: Partition, text: Mapping[str, float]) -> list[Figure]:
    """Every figure that there is something to show in; text: tokens of every language."""
    drawn = [_tree(partition)] if partition.merges else []
    drawn.append(_shares(partition, text))
    if partition.distances and len(partition.distances) > 1:
        drawn.append(_matrix(partition, partition.distances))
    return drawn


def _tree(partition: Partition) -> Figure:
    """The languages from above to below, the rounds from left to right."""
    order, part = leaves(partition), _part_of(partition)
    places = {frozenset([lang]): (0.0, float(y)) for y, lang in enumerate(order)}  # round and row
    lines, joints = [], []
    for merge in partition.merges:
        sides = frozenset(merge.left), frozenset(merge.right)
        (x1, y1), (x2, y2) = (places[side] for side in sides)
        inside = {part[lang] for lang in sides[0] | sides[1]}
        series = _name(inside.pop()) if len(inside) == 1 else None
        at, y = float(merge.round), (y1 + y2) / 2
        ways = [(x1, y1, at, y1), (x2, y2, at, y2), (at, y1, at, y2)]
        lines += [{"x": a, "y": b, "x2": c, "y2": d, "series": series} for a, b, c, d in ways]
        joint = {"x": at, "y": y, "text": f"{merge.distance:.3f}", "distance": merge.distance}
        joints.append(joint | {"left": ", ".join(merge.left), "right": ", ".join(merge.right)})
        places[sides[0] | sides[1]] = at, y
    last, height = partition.merges[-1].round, len(order)
    rounds = {"values": list(range(1, last + 1)), "format": "d", "grid": False}
    x = linear("x", "round of merges", low=0, high=last + 0.35, **rounds)
    names = f"{json.dumps(order, ensure_ascii=False)}[datum.value]"
    down = alt.Scale(domain=[-0.6, height - 0.4], reverse=True, nice=False)
    labels = categories("y", (), values=list(range(height)), labelExpr=names, labelOverlap=False)
    y = Axis("y", None, down, labels.axis)
    within = [line for line in lines if line["series"]]
    above = [line for line in lines if not line["series"]]

    def rules(rows: list[Row]) -> alt.Chart:
        return chart(rows).encode(x.channel(alt.X), y.channel(alt.Y), x2="x2:Q", y2="y2:Q")

    tint, said = colour(_names(partition)), tips("left", "right=with", "distance")
    figure = panel(
        "Balanced tree of languages",
        rules(above).mark_rule(strokeWidth=2, opacity=0.5) if above else None,
        rules(within).mark_rule(strokeWidth=2.5).encode(tint) if within else None,
        *(
            layer.encode(tooltip=said)
            for layer in words(joints, x, y, align="left", baseline="bottom", dx=4, dy=-3)
        ),
        height=_ROW * height + 20,
    )
    caption = (
        "Each joint shows the distance at which two clusters merged. Coloured lines lie within a "
        "part, grey ones above: they show which parts are near each other."
    )
    return Figure("tree", "The tree behind the parts", caption, (figure,), tuple(joints))


def _shares(partition: Partition, text: Mapping[str, float]) -> Figure:
    """Whose text lies where, by language and by part."""
    rows = [
        {"part": number, "language": lang, "share": part, "tokens": part * text[lang]}
        for number, shares in enumerate(partition.shares)
        for lang, part in sorted(shares.items(), key=lambda item: -item[1] * text[item[0]])
        if part >= _SEEN
    ]
    drawn = _stacked(rows, _NAMED * max(amounts(partition, text)))
    order, names = leaves(partition), _names(partition)
    said = ("language", "series=part", "said=of its text", "tokens:.3~s")
    y = categories("series", names)
    ends = linear("from", "tokens", labelExpr=COUNT)
    stacked = chart(drawn).encode(ends.channel(alt.X), y.channel(alt.Y), x2="to:Q")
    stacked = stacked.mark_bar(height={"band": 0.75}, style="halo", strokeWidth=1)
    within = chart(drawn).encode(ends.of("middle").channel(alt.X), y.channel(alt.Y), text="name:N")
    panels = [
        panel(
            "What each part holds",
            stacked.encode(colour(names), tooltip=tips(*said)),
            within.mark_text(style="within"),
            height=_ROW * partition.k + 20,
        )
    ]
    caption = "The text that each part holds, language by language."
    if any(row["share"] < 1 - _SEEN for row in rows):
        spread = bars(
            "Each language's text",
            drawn,
            linear("share", "share of its text", low=0, high=1, format="~%"),
            categories("language", order),
            colour(names, names, "square", symbolSize=90, columns=4),
            height=_ROW * len(order) + 20,
            said=said,
            order="part",
            band=0.75,
        )
        panels.insert(0, spread)
        caption = (
            "Left, how the text of each language is spread over the parts; right, the text that "
            "each part holds, language by language."
        )
    title = "Whose text each expert learns"
    return Figure("shares", title, caption, tuple(panels), tuple(rows))


def _stacked(rows: list[Row], least: float) -> list[Row]:
    """The rows with where each piece of a part's bar begins and ends; least: that has a name."""
    reached: dict[int, float] = {}
    drawn = []
    for row in rows:
        start = reached.get(row["part"], 0.0)
        end = reached[row["part"]] = start + row["tokens"]
        place = {"from": start, "to": end, "middle": (start + end) / 2}
        name = row["language"] if row["tokens"] >= least else ""
        texts = {"series": _name(row["part"]), "said": percent(row["share"]), "name": name}
        drawn.append(row | place | texts)
    return drawn


def _matrix(partition: Partition, distances: Mapping[str, Mapping[str, float]]) -> Figure:
    """Every distance, in the order of the tree."""
    order, part = leaves(partition), _part_of(partition)
    kinds = ["one part", "two parts"]
    rows = [
        {"language": a, "other": b, "distance": distances[a][b], "kind": kinds[part[a] != part[b]]}
        for a in order
        for b in order
        if a != b
    ]
    values = [row["distance"] for row in rows]
    written = len(order) <= _WRITTEN
    figure = heat(
        "Distances of languages",
        rows,
        categories("other", order, size=12, labelAngle=0 if written else -90, orient="top"),
        categories("language", order),
        colour(kinds, kinds, "square", field="kind", symbolSize=90),
        "distance",
        {"domain": [min(values), max(values)], "range": [0.9, 0.08]},
        height=_ROW * len(order) + 20,
        said=("language", "other", "distance"),
        written="format(datum.distance, '.2f')" if written else "",
    )
    caption = (
        "The darker, the nearer. The languages stand in the order of the tree; pairs in one part "
        "have a colour of their own."
    )
    return Figure("distances", "The distances behind it", caption, (figure,), tuple(rows))


def _part_of(partition: Partition) -> dict[str, int]:
    return {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}


def _name(number: int) -> str:
    return f"part {number}"


def _names(partition: Partition) -> list[str]:
    return [_name(number) for number in range(partition.k)]
