"""The page of tokenizers: what they do with each language, and whether more tokens are worth it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.pages import blocks as b
from tongues.core.pages import fixed, percent, percent_cell, value_cell
from tongues.core.pages.axes import Row, colour, linear, logs
from tongues.core.pages.plots import dots, line, panel, words
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.plan.vocabulary import READ, worth_adding
from tongues.text.tokens.measures import SAMPLE, TokenizerMeasures, documents_on, measure_tokenizers
from tongues.text.tokens.store import corpus_of

_COLOURS = 7  # languages that colours distinguish
_AS_SHORT = 1.01  # times the fewest tokens: as good; chosen, for advice alone
# As percent.
_NEAR = f"{_AS_SHORT * 100 - 100:.0f} %"
_HINT = "name text by `--text RECIPE` or `--text corpus/NAME`"


def tokenizer_page(
    places: Sequence[Path], on: Path | None, progress: Callable[[str], None]
) -> b.Page:
    """The page of tokenizers side by side; `progress` gets a line for each step.

    They are tried on the text of a recipe or a corpus, `on`, or else of the corpus next to the
    first one's tokens.
    """
    if on is None and (places[0] / "tokens.json").is_file():
        corpus = corpus_of(places[0])
        on = corpus if (corpus / "corpus.json").is_file() else None
    if on is None:
        raise UserError("there is no text to try it on", where=str(places[0]), hint=_HINT)
    progress(f"reading text of {on}")
    measures = measure_tokenizers(places, documents_on(on, SAMPLE), progress)
    several, langs = len(measures) > 1, measures[0].languages
    topics: dict[str, list[str]] = {"Choice": [choice(measures)]} if several else {}
    topics |= {lang: [] for lang in langs}
    for each in measures:
        name = f"`{each.name}`: " if several else ""
        for lang, text in advised(each).items():
            topics[lang].append(f"{name}{text}.")
    sizes = (f"`{each.name}`: {each.size:,} tokens ({each.kind})." for each in measures)
    topics["Vocabulary"] = list(sizes)
    return b.Page(
        f"Tokenizer{'s' * several} {list_languages(each.name for each in measures)}",
        [b.Topics.of(topics), *tokenizer_blocks(measures)],
        numbers={"tokenizers": [tokenizer_numbers(each) for each in measures]},
    )


def choice(measures: Sequence[TokenizerMeasures]) -> str:
    """The tokenizer of about the fewest tokens in every language, or that of each."""
    sizes = {lang: _ratios(measures, lang) for lang in measures[0].languages}
    near = {
        lang: [name for name in of if of[name] >= max(of.values()) / _AS_SHORT]
        for lang, of in sizes.items()
    }
    take = [each.name for each in measures if all(each.name in names for names in near.values())]
    if len(take) == len(measures):
        return f"All are as good on this text: their tokens differ by less than {_NEAR}."
    if take:
        named = " or ".join(f"`{name}`" for name in take)
        return (
            f"**Take {named}:** on every language its tokens are the fewest, or at most "
            f"{_NEAR} more."
        )
    each = (f"on {lang} {' or '.join(f'`{n}`' for n in names)}" for lang, names in near.items())
    return f"No tokenizer is best in every language: {', '.join(each)}."


def _ratios(measures: Sequence[TokenizerMeasures], lang: str) -> dict[str, float]:
    """Bytes per token on a language, by tokenizer."""
    return {each.name: each.languages[lang].bytes_per_token for each in measures}


def advised(measures: TokenizerMeasures) -> dict[str, str]:
    """Of languages that it spells by bytes, or for which more tokens were tried, what to do."""
    sentences: dict[str, str] = {}
    for lang, found in measures.languages.items():
        clauses = ["it falls back to bytes"] * found.spelt_out
        curve = measures.extensions.get(lang, {})
        if added := worth_adding(curve):
            more = f"{show_count(added)} more tokens, trained on {show_count(READ * added)},"
            clauses.append(f"{more} shorten it by {percent(1 - curve[0] / curve[added])}")
        elif len(curve) > 1:
            clauses.append("more tokens are not worth it")
        if clauses:
            sentences[lang] = "; ".join(clauses)
    return sentences


def tokenizer_numbers(measures: TokenizerMeasures) -> dict[str, Any]:
    """All that is known of a tokenizer, in JSON."""
    names = "bytes characters words tokens bytes_per_token tokens_per_word unknown"
    languages: dict[str, Any] = {}
    for lang, found in measures.languages.items():
        numbers = {x: getattr(found, x) for x in (*names.split(), "multiplier", "spelt_out")}
        curve = measures.extensions.get(lang)
        tried = curve and {"new_tokens": worth_adding(curve), "bytes_per_token": curve}
        languages[lang] = numbers | {"advice": tried}
    about = {x: getattr(measures, x) for x in ("name", "kind", "home")}
    return {**about, "vocab_size": measures.size, "languages": languages}


def tokenizer_blocks(measures: Sequence[TokenizerMeasures]) -> list[b.Block]:
    """The table and the figure of tokenizers."""
    size = sum(found.bytes for found in measures[0].languages.values())
    about = (
        f"On {show_bytes(size)} of text. A word is a run of letters and digits, in scripts without "
        "spaces a character. Tokens versus another language are counted on documents of the same "
        "groups."
    )
    home, several = measures[0].home, len(measures) > 1
    table = b.Table.of(
        {"language": lang, **({"tokenizer": each.name} if several else {})}
        | {"bytes per token": value_cell(found.bytes_per_token, fixed(2))}
        | {"tokens per word": value_cell(found.tokens_per_word, fixed(2))}
        | {f"tokens versus {home}": value_cell(found.multiplier, fixed(2))}
        | {"unknown": percent_cell(found.unknown, found.tokens)}
        for lang in measures[0].languages
        for each in measures
        for found in (each.languages[lang],)
    )
    section = b.Section("tokens", "Tokens by language", [about, table])
    return [section, _extensions(measures)]


def _extensions(measures: Sequence[TokenizerMeasures]) -> b.Figure | None:
    rows: list[Row] = [
        {"tokenizer": each.name, "language": lang, "added": count}
        | {"saved": 1 - curve[0] / ratio, "bytes per token": ratio}
        | {"advised": count == worth_adding(curve)}
        for each in measures
        for lang, curve in each.extensions.items()
        for count, ratio in curve.items()
        if count
    ]
    if not rows:
        return None
    langs = list(dict.fromkeys(row["language"] for row in rows))
    saved, ticks = [row["saved"] for row in rows], sorted({row["added"] for row in rows})
    x = logs("added", "tokens added", rows, margin=0.1, grid=False, ticks=ticks)
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
        "ring marks the number advised, where there is one.",
        "" if measures[0].home in langs else f"Text of {measures[0].home} keeps its tokens.",
    )
    return b.Figure.of("extensions", "What a larger vocabulary brings", caption, panels, rows)
