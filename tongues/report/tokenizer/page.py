"""The page of tokenizers, and the part of it that a corpus's page has too."""

from collections.abc import Mapping, Sequence
from html import escape

from tongues.quantities import show_bytes
from tongues.report.charts import Figure
from tongues.report.html import figure, footer, items, number_card, prose, table, word
from tongues.report.shares import percent, share
from tongues.report.tokenizer.measured import Measured
from tongues.report.tokenizer.words import about_tokenizer, advice_on, spelling

__all__ = ["tokenizer_page", "tokenizer_section"]


def tokenizer_page(
    title: str, measured: Sequence[Measured], figures: Sequence[Figure], versions: Mapping[str, str]
) -> str:
    """The body of the page, in HTML."""
    sentences = [f"`{each.name}`: {about_tokenizer(each)}" for each in measured]
    hint = "Name text by `--on RECIPE` or `--on corpus/NAME` to see what it makes of languages."
    lead = (
        items(sentences, "plain") if measured[0].languages else items([*sentences, hint], "plain")
    )
    said = "".join(_sentences(each, several=len(measured) > 1) for each in measured)
    return (
        f"<header><h1>{escape(title)}</h1>{lead}</header>{_numbers(measured)}"
        f"{said}{tokenizer_section(measured, figures)}{footer(versions)}"
    )


def tokenizer_section(measured: Sequence[Measured], figures: Sequence[Figure]) -> str:
    """Figures and tables of tokenizers."""
    drawn = "".join(figure(each) for each in figures)
    if not measured[0].languages:
        return drawn
    size = sum(found.bytes for found in measured[0].languages.values())
    about = (
        f"On {show_bytes(size)} of text. A word is a run of letters and digits, in scripts that "
        "write no spaces a character; a token is cut where it begins or ends inside a character. "
        "Tokens are compared on documents of the same groups, where languages share any."
    )
    return (
        f'{drawn}<section id="tokens"><h2>Tokens by language</h2><p class="quiet">{about}</p>'
        f"{_table(measured)}</section>"
    )


def _sentences(measured: Measured, several: bool) -> str:
    said = "".join(
        f"<h3>{escape(lang)}</h3><p>{prose(sentence)}.</p>"
        for lang, sentence in spelling(measured).items()
    )
    head = f"<h2>{escape(measured.name)}</h2>" if several and said else ""
    return f'<section>{head}<div class="found languages">{said}</div></section>' if said else ""


def _numbers(measured: Sequence[Measured]) -> str:
    """The best and the worst language of a tokenizer alone."""
    if len(measured) > 1 or not measured[0].languages:
        return ""
    only = measured[0]
    ratio = {lang: found.bytes_per_token for lang, found in only.languages.items()}
    low, high = min(ratio, key=lambda x: ratio[x]), max(ratio, key=lambda x: ratio[x])
    ends = [("most", high), ("fewest", low)] if high != low else [("", low)]
    cards = [
        number_card(f"{ratio[lang]:.2f}", f"bytes per token, the {which}", f"on `{lang}`")
        for which, lang in ends
    ]
    cost = {x: f.multiplier for x, f in only.languages.items() if f.multiplier and x != only.home}
    if cost:
        dear = max(cost, key=lambda lang: cost[lang] or 0.0)
        what = f"for the same text in `{dear}`, the most of all"
        cards.append(number_card(f"{cost[dear]:.2f} ×", f"the tokens of {only.home}", what))
    if only.unused is not None:
        of_all = f"{percent(share(only.unused, only.size))} of {only.size:,}"
        cards.append(number_card(f"{only.unused:,}", of_all, "pieces used nowhere in this text"))
    return f'<div class="numbers">{"".join(cards)}</div>'


def _table(measured: Sequence[Measured]) -> str:
    rows = [
        [
            word(escape(lang)),
            *([word(escape(each.name))] if len(measured) > 1 else []),
            f"{found.bytes_per_token:.2f}",
            f"{found.tokens_per_word:.2f}",
            "" if found.multiplier is None else f"{found.multiplier:.2f}",
            percent(share(found.unknown, found.tokens)),
            percent(share(found.partial, found.tokens)),
            word(escape("spelt out; " * found.spelt_out + advice_on(each, lang))),
        ]
        for lang in measured[0].languages
        for each in measured
        for found in (each.languages[lang],)
    ]
    head = [word("language"), *([word("tokenizer")] if len(measured) > 1 else [])]
    head += ["bytes per token", "tokens per word", f"tokens beside {escape(measured[0].home)}"]
    return table([*head, "unknown", "cut", word("advice")], rows)
