"""The page of a corpus: most important first, then every language by itself."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Literal

from tongues.quantities import show_bytes
from tongues.report.charts import Figure
from tongues.report.corpus.samples import fault_list, sample_list
from tongues.report.corpus.summary import Language, Summary, copies, faults
from tongues.report.corpus.tables import copy_table, language_table, piece_table, step_table
from tongues.report.corpus.words import about_corpus, about_languages, doubts, parts
from tongues.report.html import figure, footer, items, number_card, prose
from tongues.report.shares import percent, share

__all__ = ["corpus_page"]

_UNITS: tuple[Literal["documents", "bytes"], ...] = ("documents", "bytes")


def corpus_page(
    title: str,
    summary: Summary,
    figures: Sequence[Figure],
    spelling: Mapping[str, str],
    tokenizer: str,
    versions: Mapping[str, str],
) -> str:
    """The body of the page, in HTML.

    spelling: how the tokenizer does on each language, in a few words, if there is one.
    tokenizer: the section about it, in HTML.
    """
    sentences = about_languages(summary, spelling)
    said = "".join(
        f'<h3><a href="#language-{escape(lang)}">{escape(lang)}</a></h3><p>{prose(sentence)}</p>'
        for lang, sentence in sentences.items()
    )
    cautions = doubts(summary)
    doubt = f'<div class="found"><h3>To doubt</h3>{items(cautions)}</div>' if cautions else ""
    languages = "".join(_language(lang, about) for lang, about in summary["languages"].items())
    return (
        f'<header><h1>{escape(title)}</h1><p class="lead">{prose(about_corpus(summary))}</p>'
        f"</header>{_numbers(summary)}"
        f'<div class="found languages">{said}</div>{doubt}'
        f'<section id="languages"><h2>Languages</h2>{language_table(summary)}</section>'
        f"{''.join(figure(drawn) for drawn in figures)}"
        f"{_copies(summary)}{tokenizer}{languages}{footer(versions)}"
    )


def _numbers(summary: Summary) -> str:
    languages = summary["languages"]
    read, kept = (
        {unit: sum(about[fate][unit] for about in languages.values()) for unit in _UNITS}
        for fate in ("read", "kept")
    )
    gone = sum(copies(about) for about in languages.values())
    cards = [
        number_card(
            percent(share(kept["bytes"], read["bytes"])),
            f"{show_bytes(kept['bytes'])} of {show_bytes(read['bytes'])}",
            "of the text kept",
        ),
        number_card(
            f"{gone:,}",
            f"{percent(share(gone, read['documents']))} of the documents",
            "copies and near copies dropped",
        ),
    ]
    foreign = {
        lang: about["foreign"] for lang, about in languages.items() if about["foreign"] is not None
    }
    if foreign:
        worst = max(foreign, key=lambda lang: foreign[lang])
        what = f"of `{worst}` is in other languages" + (", the most of all" * (len(foreign) > 1))
        cards.append(number_card(percent(foreign[worst]), "of the bytes kept", what))
    unread = sum(faults(about) for about in languages.values())
    sources = sum(len(about["pieces"]) for about in languages.values())
    where = f"in {sources:,} source{'s' * (sources != 1)}"
    cards.append(number_card(f"{unread:,}", where, "places that could not be read"))
    return f'<div class="numbers">{"".join(cards)}</div>'


def _copies(summary: Summary) -> str:
    about = (
        "A cluster holds documents that are near copies of one another, in whatever language; "
        "of those in one language the longest is kept. What is alike or of one group lies on one "
        "side of the split between training and held-out text."
    )
    head = f'<h2>Duplicates</h2><p class="quiet">{about}</p>'
    return f'<section id="duplicates">{head}{copy_table(summary)}</section>'


def _language(lang: str, about: Language) -> str:
    documents = about["read"]["documents"]
    lines = [
        f"{what}: {parts({word: share(count, documents) for word, count in counts.items()}, 6)}."
        for what, counts in (
            ("Scripts, by documents", about["scripts"]),
            ("Identified as, by documents", about["labels"]),
        )
        if counts
    ]
    if about["found"]:
        lines.append(f"Found inside what is kept, by bytes: {parts(about['found'], 6)}.")
    samples = sample_list(lang, about)
    return (
        f'<section id="language-{escape(lang)}"><h2>{escape(lang)}</h2>{items(lines, "plain")}'
        f"{step_table(about)}<h3>Samples</h3>{samples}"
        f"<h3>Where it came from</h3>{piece_table(about)}{fault_list(about)}</section>"
    )
