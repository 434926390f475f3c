"""The page of tokenizers: what they do with each language, and whether more tokens are worth it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.pages import blocks as b
from tongues.core.pages import fixed, percent, percent_cell, value_cell
from tongues.core.pages.axes import Row, categories, colour, linear, logs
from tongues.core.pages.plots import Marks, dots, intervals, line, panel, words
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.languages import language_name
from tongues.plan.vocabulary import READ, worth_adding
from tongues.report.words import SAID
from tongues.text.tokens.measures import SAMPLE, TokenizerMeasures, documents_on, measure_tokenizers
from tongues.text.tokens.store import corpus_of

_COLOURS = 7  # languages that colours distinguish
_AS_SHORT = 1.01  # times the fewest tokens: as good; chosen, for advice alone
_NEAR = f"{_AS_SHORT * 100 - 100:.0f} %"
_HEIGHT = 320  # pixels of the first figure, at most; chosen to be on the first screen
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
    several = len(measures) > 1
    return b.Page(
        f"Tokenizer{'s' * several} {list_languages(each.name for each in measures)}",
        [b.Tiles([*_tiles(measures)]), _lengths(measures), *tokenizer_blocks(measures)],
        lead=[b.Paragraph(choice(measures), "lead")] * several,
        numbers={"tokenizers": [tokenizer_numbers(each) for each in measures]},
    )


def _tiles(measures: Sequence[TokenizerMeasures]) -> Iterator[b.Tile]:
    """Of the language with the fewest bytes per token: these, its tokens, and what more save."""
    lang = _worst_first(measures)[0]
    *others, best = sorted(measures, key=lambda each: each.languages[lang].bytes_per_token)
    found, home, curve = best.languages[lang], best.languages[best.home], best.extensions.get(lang)
    said = {"best": best.name, "name": language_name(lang), "home": language_name(best.home)}
    said |= {"other": others[0].name if others else ""}

    def tile(label: str, value: str, below: str, kind: str = "", **more: str) -> b.Tile:
        return b.Tile(SAID[label].format(**said, **more), value, below.format(**said, **more), kind)

    least = [each.languages[lang].bytes_per_token for each in others[:1]]
    compared = SAID["at_home"] if lang != best.home else ""
    below = SAID["with_other"].format(*least) if least else compared.format(home.bytes_per_token)
    yield tile("bytes_per_token", f"{found.bytes_per_token:.2f}", below, "target")
    if found.multiplier and compared:
        yield tile("same_text", f"{found.multiplier:.2f} ×", SAID["times_home"], "target")
    else:
        below = compared.format(home.tokens_per_word)
        yield tile("per_word", f"{found.tokens_per_word:.2f}", below, "target")
    if least:
        saved = percent(1 - least[0] / found.bytes_per_token)
        yield tile("saved_with", saved, SAID["fewer_than"])
    elif curve and (added := worth_adding(curve)):
        count, tokens = show_count(added), show_count(READ * added)
        saved = percent(1 - curve[0] / curve[added])
        yield tile("extended", saved, SAID["fewer"], count=count, tokens=tokens)
    elif curve and len(curve) > 1:
        yield b.Tile(SAID["more_tokens"], SAID["not_worth"], SAID["tried"].format(max(curve)))


def _worst_first(measures: Sequence[TokenizerMeasures]) -> list[str]:
    """Languages by bytes per token with the tokenizer that suits them least, the fewest first."""
    sizes = {lang: _ratios(measures, lang).values() for lang in measures[0].languages}
    return sorted(sizes, key=lambda lang: min(sizes[lang]))


def _lengths(measures: Sequence[TokenizerMeasures]) -> b.Figure | None:
    """Bytes per token by language and tokenizer, the worst language first."""
    rows: list[Row] = [
        {"language": language_name(lang), "series": name, "value": value}
        for lang in _worst_first(measures)
        for name, value in _ratios(measures, lang).items()
    ]
    names, order = _ratios(measures, measures[0].home), dict.fromkeys(x["language"] for x in rows)
    drawn = intervals(
        "",
        rows,
        linear("value", "bytes per token", low=0, high=1.05 * max(row["value"] for row in rows)),
        categories("language", list(order), labelLimit=190, grid=True),
        colour(("scratch", *names), rows if len(names) > 1 else None, "circle"),
        height=min(46, _HEIGHT // len(order)) * len(order) + 20,
        side_by_side=list(names),
        tooltip=("language", "series=tokenizer", "value:.2f"),
        marks=Marks(size=80, width=2.5, padding=0.8),
    )
    title, about = SAID["lengths"], SAID["about_lengths"]
    return b.Figure.of("lengths", title, about, [drawn] if len(rows) > 1 else [], rows)


def choice(measures: Sequence[TokenizerMeasures]) -> str:
    """The tokenizer of about the fewest tokens in every language, or that of each."""
    sizes = {lang: _ratios(measures, lang) for lang in measures[0].languages}
    near = {
        lang: [name for name in of if of[name] >= max(of.values()) / _AS_SHORT]
        for lang, of in sizes.items()
    }
    take = [each.name for each in measures if all(each.name in names for names in near.values())]
    if len(take) == len(measures):
        return SAID["all_as_good"].format(near=_NEAR)
    if take:
        return SAID["take"].format(names=" or ".join(f"`{name}`" for name in take), near=_NEAR)
    each = (f"{language_name(x)} {' or '.join(f'`{n}`' for n in of)}" for x, of in near.items())
    return SAID["none_best"].format(each=", ".join(each))


def _ratios(measures: Sequence[TokenizerMeasures], lang: str) -> dict[str, float]:
    """Bytes per token on a language, by tokenizer."""
    return {each.name: each.languages[lang].bytes_per_token for each in measures}


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
    sizes = ", ".join(f"{each.name} {each.size:,} ({each.kind})" for each in measures)
    about = SAID["about_tokens"].format(size=show_bytes(size), sizes=sizes)
    home, several = language_name(measures[0].home), len(measures) > 1
    tried = any(each.extensions for each in measures)
    table = b.Table.of(
        {"language": language_name(lang), **({"tokenizer": each.name} if several else {})}
        | {"bytes per token": value_cell(found.bytes_per_token, fixed(2))}
        | {"tokens per word": value_cell(found.tokens_per_word, fixed(2))}
        | {f"tokens versus {home}": value_cell(found.multiplier, fixed(2))}
        | {"unknown": replace(percent_cell(found.unknown, found.tokens), below=spelt)}
        | ({"more tokens": _more(each.extensions.get(lang, {}))} if tried else {})
        for lang in _worst_first(measures)
        for each in measures
        for found in (each.languages[lang],)
        for spelt in (SAID["in_bytes"] * found.spelt_out,)
    )
    section = b.Section("tokens", "Tokens by language", [about, table])
    return [section, _extensions(measures)]


def _more(curve: Mapping[int, float]) -> b.Entry:
    """How many more tokens are worth it, and what they save of a language's tokens."""
    if added := worth_adding(curve):
        after = SAID["fewer"].format(
            name=percent(1 - curve[0] / curve[added]), tokens=show_count(READ * added)
        )
        return b.Cell(show_count(added), added, after)
    return SAID["not_worth"] if len(curve) > 1 else ""


def _extensions(measures: Sequence[TokenizerMeasures]) -> b.Figure | None:
    rows: list[Row] = [
        {"tokenizer": each.name, "language": language_name(lang), "added": count}
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
    y = linear("saved", "tokens saved", low=min(0.0, *saved), high=1.1 * max(saved), format="~%")
    few = len(langs) <= _COLOURS
    tint = colour(langs, langs, field="language", columns=5) if few else None
    said = ("language", "added:,", "saved:.1%=tokens saved", "bytes per token:.2f")
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
    about = SAID["about_extensions"].format(home=language_name(measures[0].home))
    return b.Figure.of("extensions", SAID["larger"], about, panels, rows)
