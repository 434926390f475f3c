"""The figures of tokenizers: what they make of each language, what more pieces bring, scripts."""

from collections.abc import Sequence

from tongues.pages import Figure, percent, share
from tongues.pages.axes import Row, categories, colour, linear, logs
from tongues.pages.plots import alt, bars, dots, intervals, line, panel, rule, words
from tongues.report.tokenizer.measured import Measured
from tongues.tokens.fertility import BYTEWISE

__all__ = ["tokenizer_figures"]

_SCRIPTS = 14  # shown
_ROW = 22  # pixels of a dot
_COLOURS = 7  # languages that colours tell apart


def tokenizer_figures(measured: Sequence[Measured]) -> list[Figure]:
    """Every figure that there is something to show in."""
    drawn = (_fertility(measured), _extensions(measured), _scripts(measured))
    return [figure for figure in drawn if figure]


def _fertility(measured: Sequence[Measured]) -> Figure | None:
    """Bytes per token, tokens per word and what a language costs, a dot per tokenizer."""
    rows = [
        {
            "tokenizer": each.name,
            "language": lang,
            "bytes per token": found.bytes_per_token,
            "tokens per word": found.tokens_per_word,
            "multiplier": found.multiplier,
        }
        for each in measured
        for lang, found in each.languages.items()
    ]
    if not rows:
        return None
    home = measured[0].home
    names = [each.name for each in measured]
    panels = [
        _dots(rows, "bytes per token", "Bytes per token", names, BYTEWISE),
        _dots(rows, "tokens per word", "Tokens per word", names, None),
    ]
    caption = (
        f"Left of the upright mark at {BYTEWISE} bytes per token a language is spelt rather than "
        "read. In scripts that write no spaces, a word is a character."
    )
    versus = [row for row in rows if row["multiplier"] is not None]
    if any(row["language"] != home for row in versus):
        title = f"Tokens beside {home}, for the same text"
        panels.append(_dots(versus, "multiplier", title, names, 1.0))
        caption += (
            f" The last panel compares documents of the same groups: at 2, a text costs twice the "
            f"tokens that it costs in {home}."
        )
    title = "What a tokenizer makes of each language"
    return Figure("fertility", title, caption, tuple(panels), tuple(rows))


def _dots(
    rows: Sequence[Row], field: str, title: str, names: list[str], mark: float | None
) -> alt.LayerChart:
    langs = list(dict.fromkeys(row["language"] for row in rows))
    several = len(names) > 1
    x = linear("value", None, low=0, high=1.12 * max([mark or 0.0, *(row[field] for row in rows)]))
    y = categories("language", langs)
    shown = [
        {"series": row["tokenizer"], "language": row["language"], "value": row[field], "low": 0.0}
        | {"high": row[field], "text": f"{row[field]:.2f}"}
        for row in rows
    ]
    return intervals(
        title,
        shown,
        x,
        y,
        colour(names, names if several else None, "circle", columns=1),
        height=(8 + _ROW * len(names)) * len(langs) + 20,
        side_by_side=names if several else (),
        said=("series=tokenizer", "language", f"text={field}"),
        size=90,
        width=2,
        opacity=0.35,
        under=[rule(x, at=mark, dash=(4, 3))],
        over=() if several else words(shown, x, y, align="left", dx=9),
    )


def _extensions(measured: Sequence[Measured]) -> Figure | None:
    """Tokens saved by more pieces, as far as it was tried; a panel per tokenizer."""
    rows = [
        {
            "tokenizer": each.name,
            "language": lang,
            "pieces": count,
            "saved": 1 - advice.curve[0] / ratio,
            "bytes per token": ratio,
            "advised": count == advice.pieces,
        }
        for each in measured
        for lang, advice in each.advice.items()
        for count, ratio in advice.curve.items()
        if count
    ]
    if not rows:
        return None
    langs = list(dict.fromkeys(row["language"] for row in rows))
    names = dict.fromkeys(row["tokenizer"] for row in rows)
    panels = [_curves(name, rows, langs) for name in names]
    caption = (
        "Pieces that continue the tokenizer's own merges on a language's text, tried on text they "
        "were not made from. A ring marks the number advised, where there is one."
    )
    home = measured[0].home
    if home not in langs:
        caption += f" They are such that the text of {home} keeps its segmentation."
    return Figure("extensions", "What more pieces bring", caption, tuple(panels), tuple(rows))


def _curves(name: str, every: Sequence[Row], langs: list[str]) -> alt.LayerChart:
    counts, saved = [row["pieces"] for row in every], [row["saved"] for row in every]
    x = logs("pieces", "pieces added", counts, margin=0.1, grid=False, ticks=sorted(set(counts)))
    low, high = min(0.0, *saved), 1.1 * max(saved)
    y = linear("saved", "tokens saved", low=low, high=high, format="~%")
    rows = [row for row in every if row["tokenizer"] == name]
    few = len(langs) <= _COLOURS
    tint = colour(langs, langs, field="language", columns=5) if few else None
    tops = {row["language"]: row for row in sorted(rows, key=lambda row: row["pieces"])}
    said = ("language", "pieces:,", "saved:.1%=tokens saved", "bytes per token:.2f")
    return panel(
        name,
        line(rows, x, y, tint, "language", width=2, opacity=1 if few else 0.5),
        dots(rows, x, y, tint, size=36, said=said),
        dots((row for row in rows if row["advised"]), x, y, tint, size=190, ring=True),
        *(() if few else words(tops.values(), x, y, field="language", align="left", dx=8)),
    )


def _scripts(measured: Sequence[Measured]) -> Figure | None:
    """The vocabulary by script."""
    totals: dict[str, int] = {}
    for each in measured:
        for script, count in each.scripts.items():
            totals[script] = totals.get(script, 0) + count
    shown = sorted(totals, key=lambda script: (-totals[script], script))[:_SCRIPTS]
    names = [each.name for each in measured]
    panels = [_script_bars(each, shown, names) for each in measured]
    rows = [
        {"tokenizer": each.name, "script": script, "pieces": each.scripts.get(script, 0)}
        for each in measured
        for script in shown
    ]
    caption = (
        "By the script of most of their letters; `Zyyy` are pieces without letters, and `bytes` "
        "those that are parts of characters."
    )
    return Figure("scripts", "Pieces by script", caption, tuple(panels), tuple(rows))


def _script_bars(measured: Measured, shown: list[str], names: list[str]) -> alt.LayerChart:
    rows = [
        {"tokenizer": measured.name, "script": script, "pieces": count}
        | {"share": share(count, measured.size), "text": percent(share(count, measured.size))}
        for script, count in measured.scripts.items()
        if script in shown and count
    ]
    x = linear("share", None, low=0, high=1.2 * max(row["share"] for row in rows), format="~%")
    y = categories("script", shown)
    return bars(
        measured.name,
        rows,
        x,
        y,
        colour(names, field="tokenizer"),
        height=_ROW * len(shown) + 20,
        said=("script", "pieces:,"),
        band=0.6,
        over=words(rows, x, y, align="left", dx=6),
    )
