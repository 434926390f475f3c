"""The page of tokenizers: what they make of each language, and whether more tokens are worth it."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.pages import (
    Block,
    Cell,
    Entry,
    Figure,
    Items,
    Page,
    Paragraph,
    Section,
    Table,
    Topics,
    check_folder,
    percent,
    percent_cell,
    share,
    write_page,
)
from tongues.pages.axes import Row, categories, colour, linear, logs
from tongues.pages.plots import dots, intervals, line, panel, rule, words
from tongues.quantities import show_bytes, show_count
from tongues.report.tokenizer.measures import (
    SAMPLE,
    TokenizerMeasures,
    documents_on,
    measure_tokenizers,
)
from tongues.tokens.fertility import BYTEWISE

__all__ = ["spelling", "tokenizer_blocks", "tokenizer_numbers", "write_tokenizer_report"]

_SCRIPTS = 14  # shown
_ROW = 22  # pixels of a dot
_COLOURS = 7  # languages that colours tell apart
_HINT = "Name text by `--text RECIPE` or `--text corpus/NAME` to see what it makes of languages."


def write_tokenizer_report(
    places: Sequence[Path],
    out: Path,
    on: Path | None = None,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of tokenizers side by side to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. `places` are
    folders or files that Hugging Face tokenizers were saved to, or tokens that `tongues prepare`
    made. They are tried on the text of a recipe or a corpus, `on`, or else of the corpus
    next to the first one's tokens; without any, only their vocabularies are shown.
    """
    check_folder(out)
    first = places[0].resolve()
    corpus = first.parents[1] / "corpus" / first.name
    if on is None and (first / "tokens.json").is_file() and (corpus / "corpus.json").is_file():
        on = corpus
    if on:
        progress(f"reading text of {on}")
    measures = measure_tokenizers(places, documents_on(on, SAMPLE) if on else {}, progress)
    several, langs = len(measures) > 1, measures[0].languages
    lead = _ranking(measures) if several else []
    lead += [f"`{each.name}`: {_about(each)}" for each in measures]
    blocks: list[Block] = []
    for each in measures if langs else ():
        topics = {lang: [Paragraph(f"{text}.")] for lang, text in spelling(each).items()}
        blocks.append(Section("", each.name if several else "", [Topics(topics, "languages")]))
    page = Page(
        title or f"Tokenizer{'s' * several} {' and '.join(each.name for each in measures)}",
        [*blocks, *tokenizer_blocks(measures)],
        lead=[Items(lead if langs else [*lead, _HINT], "plain")],
        versions={name: version(name) for name in ("tongues", "tokenizers", "altair")},
        numbers={"tokenizers": [tokenizer_numbers(each) for each in measures]},
    )
    return write_page(page, out, progress)


def _ranking(measures: Sequence[TokenizerMeasures]) -> list[str]:
    """Of each language the tokenizer that needs the fewest tokens, and how many others need."""
    sentences = []
    for lang in measures[0].languages:
        ratios = {each.name: each.languages[lang].bytes_per_token for each in measures}
        best = max(ratios, key=ratios.__getitem__)
        others = ", ".join(
            f"`{name}` {percent(ratios[best] / ratio - 1)} more"
            for name, ratio in ratios.items()
            if name != best
        )
        sentences.append(f"**{lang}: fewest tokens by `{best}`**; {others}.")
    return sentences


def _about(measures: TokenizerMeasures) -> str:
    top = list(measures.scripts.items())[:3]
    scripts = ", ".join(f"{x} {percent(share(count, measures.size))}" for x, count in top)
    unused = "" if measures.unused is None else f"; {measures.unused:,} not used in this text"
    return f"{measures.size:,} tokens ({measures.kind}), by script {scripts}{unused}."


def spelling(measures: TokenizerMeasures) -> dict[str, str]:
    """How it does on each language, in a few words."""
    sentences: dict[str, str] = {}
    for lang, found in measures.languages.items():
        clauses = [f"{'falls back to bytes: ' * found.spelt_out}{found.bytes_per_token:.2f} bytes "]
        clauses[0] += "per token"
        if found.multiplier is not None and lang != measures.home:
            text = f"{found.multiplier:.2f} times the tokens of `{measures.home}`"
            clauses.append(f"{text} for the same text")
        if found.unknown:
            clauses.append(f"{percent(share(found.unknown, found.tokens))} of its tokens unknown")
        sentences[lang] = "; ".join(filter(None, [*clauses, _advice(measures, lang)]))
    return sentences


def _advice(measures: TokenizerMeasures, lang: str) -> str:
    """Whether to extend it for a language, in a few words; nothing where that was not tried."""
    advice = measures.advice.get(lang)
    if advice is None or len(advice.curve) == 1:
        return ""
    if not advice.new_tokens:
        return "more tokens are not worth it"
    return f"{show_count(advice.new_tokens)} more tokens shorten it by {percent(advice.saved)}"


def tokenizer_numbers(measures: TokenizerMeasures) -> dict[str, Any]:
    """All that is known of a tokenizer, in JSON."""
    names = "bytes characters words tokens bytes_per_token tokens_per_word unknown partial"
    languages: dict[str, Any] = {}
    for lang, found in measures.languages.items():
        numbers = {x: getattr(found, x) for x in (*names.split(), "multiplier", "spelt_out")}
        advice = measures.advice.get(lang)
        tried = advice and {"pieces": advice.new_tokens, "bytes_per_token": advice.curve}
        languages[lang] = numbers | {"advice": tried}
    sentences = [_about(measures), *spelling(measures).values()]
    about = {x: getattr(measures, x) for x in ("name", "kind", "scripts", "unused", "home")}
    return {**about, "pieces": measures.size, "sentences": sentences, "languages": languages}


def tokenizer_blocks(measures: Sequence[TokenizerMeasures]) -> list[Block]:
    """Figures and tables of tokenizers."""
    drawn = (_fertility(measures), _extensions(measures))
    blocks: list[Block] = [figure for figure in drawn if figure]
    if not measures[0].languages:
        return [_scripts(measures)]
    size = sum(found.bytes for found in measures[0].languages.values())
    about = (
        f"On {show_bytes(size)} of text. A word is a run of letters and digits, in scripts without "
        "spaces a character; a token is partial where it begins or ends inside a character. "
        "Tokens versus another language are of documents of the same groups."
    )
    home, several = measures[0].home, len(measures) > 1
    rows: list[Mapping[str, Entry]] = [
        {"language": lang, **({"tokenizer": each.name} if several else {})}
        | {"bytes per token": _ratio(found.bytes_per_token)}
        | {"tokens per word": _ratio(found.tokens_per_word)}
        | {f"tokens versus {home}": _ratio(found.multiplier)}
        | {"unknown": percent_cell(found.unknown, found.tokens)}
        | {"partial": percent_cell(found.partial, found.tokens)}
        | {"advice": "falls back to bytes; " * found.spelt_out + _advice(each, lang)}
        for lang in measures[0].languages
        for each in measures
        for found in (each.languages[lang],)
    ]
    inside = [Paragraph(about, "quiet"), Table.of(rows)]
    return [*blocks, Section("tokens", "Tokens by language", inside), _scripts(measures)]


def _ratio(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{value:.2f}", value)


def _fertility(measures: Sequence[TokenizerMeasures]) -> Figure | None:
    """Bytes per token, tokens per word and what a language costs, a dot per tokenizer."""
    rows: list[Row] = [
        {"tokenizer": each.name, "language": lang, "bytes per token": found.bytes_per_token}
        | {"tokens per word": found.tokens_per_word, "multiplier": found.multiplier}
        for each in measures
        for lang, found in each.languages.items()
    ]
    if not rows:
        return None
    home, names = measures[0].home, [each.name for each in measures]
    drawn: list[tuple[str, str, float | None]] = [
        ("bytes per token", "Bytes per token", BYTEWISE),
        ("tokens per word", "Tokens per word", None),
    ]
    caption = (
        f"Left of the line at {BYTEWISE} bytes per token a tokenizer falls back to bytes. In "
        "scripts without spaces a word is a character."
    )
    if any(row["multiplier"] is not None and row["language"] != home for row in rows):
        drawn.append(("multiplier", f"Tokens versus {home}, for the same text", 1.0))
        caption += f" Last: at 2, a text costs twice the tokens that it costs in {home}."
    panels, several = [], len(names) > 1
    for name, title, mark in drawn:
        shown = [
            {"series": row["tokenizer"], "language": row["language"], "value": row[name]}
            | {"low": 0.0, "high": row[name], "text": f"{row[name]:.2f}"}
            for row in rows
            if row[name] is not None
        ]
        langs = list(dict.fromkeys(row["language"] for row in shown))
        high = 1.12 * max([mark or 0.0, *(row["value"] for row in shown)])
        x, y = linear("value", None, low=0, high=high), categories("language", langs)
        panels.append(
            intervals(
                title,
                shown,
                x,
                y,
                colour(names, names if several else None, "circle", columns=1),
                height=(8 + _ROW * len(names)) * len(langs) + 20,
                side_by_side=names if several else (),
                tooltip=("series=tokenizer", "language", f"text={name}"),
                size=90,
                width=2,
                opacity=0.35,
                under=[rule(x, at=mark, dash=(4, 3))],
                over=() if several else words(shown, x, y, align="left", dx=9),
            )
        )
    title = "What a tokenizer makes of each language"
    return Figure("fertility", title, caption, tuple(panels), tuple(rows))


def _extensions(measures: Sequence[TokenizerMeasures]) -> Figure | None:
    """Tokens saved by a larger vocabulary, as far as it was tried; a panel per tokenizer."""
    rows: list[Row] = [
        {"tokenizer": each.name, "language": lang, "added": count}
        | {"saved": 1 - advice.curve[0] / ratio, "bytes per token": ratio}
        | {"advised": count == advice.new_tokens}
        for each in measures
        for lang, advice in each.advice.items()
        for count, ratio in advice.curve.items()
        if count
    ]
    if not rows:
        return None
    langs = list(dict.fromkeys(row["language"] for row in rows))
    counts, saved = [row["added"] for row in rows], [row["saved"] for row in rows]
    ticks = sorted(set(counts))
    x = logs("added", "tokens added", counts, margin=0.1, grid=False, ticks=ticks)
    y = linear("saved", "length saved", low=min(0.0, *saved), high=1.1 * max(saved), format="~%")
    few = len(langs) <= _COLOURS
    tint = colour(langs, langs, field="language", columns=5) if few else None
    said = ("language", "added:,", "saved:.1%=length saved", "bytes per token:.2f")
    panels = []
    for name in dict.fromkeys(row["tokenizer"] for row in rows):
        own = [row for row in rows if row["tokenizer"] == name]
        ends = {row["language"]: row for row in sorted(own, key=lambda row: row["added"])}
        layers = [
            line(own, x, y, tint, "language", width=2, opacity=1 if few else 0.5),
            dots(own, x, y, tint, size=36, tooltip=said),
            dots((row for row in own if row["advised"]), x, y, tint, size=190, ring=True),
        ]
        named = words(ends.values(), x, y, field="language", align="left", dx=8)
        panels.append(panel(name, *layers, *(() if few else named)))
    caption = (
        "The tokenizer's own merges continued on text of the language, measured on other text. A "
        "ring marks the number advised, where there is one."
    )
    if measures[0].home not in langs:
        caption += f" Text of {measures[0].home} keeps its tokens."
    title = "What a larger vocabulary brings"
    return Figure("extensions", title, caption, tuple(panels), tuple(rows))


def _scripts(measures: Sequence[TokenizerMeasures]) -> Section:
    totals: dict[str, int] = {}
    for each in measures:
        for script, count in each.scripts.items():
            totals[script] = totals.get(script, 0) + count
    rows: list[Mapping[str, Entry]] = [
        {"script": script}
        | {x.name: percent_cell(x.scripts.get(script, 0), x.size) for x in measures}
        for script in sorted(totals, key=lambda script: (-totals[script], script))[:_SCRIPTS]
    ]
    about = "By the script of most letters; `Zyyy`: without letters, `bytes`: parts of characters."
    return Section("scripts", "Vocabulary by script", [Paragraph(about, "quiet"), Table.of(rows)])
