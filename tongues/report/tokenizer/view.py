"""The page of tokenizers, and the part of it that a corpus's page has too."""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.pages import (
    Block,
    Card,
    Cards,
    Cell,
    Entry,
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
from tongues.quantities import show_bytes, show_count
from tongues.report.tokenizer.figures import tokenizer_figures
from tongues.report.tokenizer.measured import SAMPLE, Measured, measure_tokenizers
from tongues.report.tokenizer.texts import documents_on

__all__ = ["spelling", "tokenizer_blocks", "tokenizer_numbers", "write_tokenizer_report"]

_HINT = "Name text by `--on RECIPE` or `--on corpus/NAME` to see what it makes of languages."


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
    made. They are tried on the text of a recipe or a corpus, `on`, or else of the corpus that
    lies beside the first one's tokens; without any, only their pieces are shown.
    """
    check_folder(out)
    on = on or _corpus_beside(places[0])
    if on:
        progress(f"reading text of {on}")
    measured = measure_tokenizers(places, documents_on(on, SAMPLE) if on else {}, progress)
    sentences = [f"`{each.name}`: {_about(each)}" for each in measured]
    names = " and ".join(each.name for each in measured)
    page = Page(
        title or f"Tokenizer{'s' * (len(measured) > 1)} {names}",
        [
            Cards(list(_cards(measured[0]) if len(measured) == 1 else ())),
            *(section for each in measured for section in _sentences(each, len(measured) > 1)),
            *tokenizer_blocks(measured),
        ],
        lead=[Items(sentences if measured[0].languages else [*sentences, _HINT], "plain")],
        versions={name: version(name) for name in ("tongues", "tokenizers", "altair")},
        numbers={"tokenizers": [tokenizer_numbers(each) for each in measured]},
    )
    return write_page(page, out, progress)


def tokenizer_blocks(measured: Sequence[Measured]) -> list[Block]:
    """Figures and tables of tokenizers."""
    drawn = tokenizer_figures(measured)
    if not measured[0].languages:
        return [*drawn]
    size = sum(found.bytes for found in measured[0].languages.values())
    about = (
        f"On {show_bytes(size)} of text. A word is a run of letters and digits, in scripts that "
        "write no spaces a character; a token is cut where it begins or ends inside a character. "
        "Tokens are compared on documents of the same groups, where languages share any."
    )
    inside = [Paragraph(about, "quiet"), _table(measured)]
    return [*drawn, Section("tokens", "Tokens by language", inside)]


def spelling(measured: Measured) -> dict[str, str]:
    """How it does on each language, in a few words."""
    return {lang: "; ".join(_clauses(measured, lang)) for lang in measured.languages}


def tokenizer_numbers(measured: Measured) -> dict[str, Any]:
    """All that is known of a tokenizer, in JSON."""
    return {
        "name": measured.name,
        "kind": measured.kind,
        "pieces": measured.size,
        "scripts": measured.scripts,
        "unused": measured.unused,
        "home": measured.home,
        "sentences": [_about(measured), *spelling(measured).values()],
        "languages": {lang: _numbers(measured, lang) for lang in measured.languages},
    }


def _numbers(measured: Measured, lang: str) -> dict[str, Any]:
    found, advice = measured.languages[lang], measured.advice.get(lang)
    names = ("bytes", "characters", "words", "tokens", "bytes_per_token", "tokens_per_word")
    names += ("unknown", "partial", "multiplier", "spelt_out")
    tried = advice and {"pieces": advice.pieces, "bytes_per_token": advice.curve}
    return {name: getattr(found, name) for name in names} | {"advice": tried}


def _corpus_beside(place: Path) -> Path | None:
    """The corpus that tokens in `tokens/NAME` were made from, if it is still there."""
    corpus = place.resolve().parents[1] / "corpus" / place.resolve().name
    made = (place / "tokens.json").is_file() and (corpus / "corpus.json").is_file()
    return corpus if made else None


def _about(measured: Measured) -> str:
    """A tokenizer by itself, in one sentence."""
    scripts = ", ".join(
        f"{script} {percent(share(count, measured.size))}"
        for script, count in list(measured.scripts.items())[:3]
    )
    unused = "" if measured.unused is None else f"; used nowhere in this text: {measured.unused:,}"
    return f"{measured.size:,} pieces ({measured.kind}), by script {scripts}{unused}."


def _advice(measured: Measured, lang: str) -> str:
    """Whether to extend it for a language, in a few words; nothing where that was not tried."""
    advice = measured.advice.get(lang)
    if advice is None or len(advice.curve) == 1:
        return ""
    if not advice.pieces:
        return "more pieces are not worth it"
    return f"{show_count(advice.pieces)} more pieces save {percent(advice.saved)} of its tokens"


def _clauses(measured: Measured, lang: str) -> Iterator[str]:
    found = measured.languages[lang]
    spelt = "spelt out at " * found.spelt_out
    yield f"{spelt}{found.bytes_per_token:.2f} bytes per token"
    if found.multiplier is not None and lang != measured.home:
        yield f"{found.multiplier:.2f} times the tokens of `{measured.home}` for the same text"
    if found.unknown:
        yield f"{percent(share(found.unknown, found.tokens))} of its tokens are unknown"
    if advice := _advice(measured, lang):
        yield advice


def _sentences(measured: Measured, several: bool) -> Iterator[Block]:
    topics = {lang: [Paragraph(f"{said}.")] for lang, said in spelling(measured).items()}
    if topics:
        yield Section("", measured.name if several else "", [Topics(topics, "languages")])


def _cards(only: Measured) -> Iterator[Card]:
    """The best and the worst language of a tokenizer alone."""
    ratio = {lang: found.bytes_per_token for lang, found in only.languages.items()}
    if not ratio:
        return
    low, high = min(ratio, key=lambda x: ratio[x]), max(ratio, key=lambda x: ratio[x])
    for which, lang in [("most", high), ("fewest", low)] if high != low else [("", low)]:
        yield Card(f"{ratio[lang]:.2f}", f"bytes per token, the {which}", f"on `{lang}`")
    cost = {x: f.multiplier for x, f in only.languages.items() if f.multiplier and x != only.home}
    if cost:
        dear = max(cost, key=lambda lang: cost[lang] or 0.0)
        what = f"for the same text in `{dear}`, the most of all"
        yield Card(f"{cost[dear]:.2f} ×", f"the tokens of {only.home}", what)
    if only.unused is not None:
        of_all = f"{percent(share(only.unused, only.size))} of {only.size:,}"
        yield Card(f"{only.unused:,}", of_all, "pieces used nowhere in this text")


def _table(measured: Sequence[Measured]) -> Table:
    several = len(measured) > 1
    rows: list[list[Entry]] = [
        [
            lang,
            *([Cell(each.name)] if several else []),
            _ratio(found.bytes_per_token),
            _ratio(found.tokens_per_word),
            _ratio(found.multiplier),
            percent_cell(found.unknown, found.tokens),
            percent_cell(found.partial, found.tokens),
            "spelt out; " * found.spelt_out + _advice(each, lang),
        ]
        for lang in measured[0].languages
        for each in measured
        for found in (each.languages[lang],)
    ]
    head = ["language", *(["tokenizer"] if several else []), "bytes per token", "tokens per word"]
    head += [f"tokens beside {measured[0].home}", "unknown", "cut", "advice"]
    return Table(head, rows)


def _ratio(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{value:.2f}", value)
