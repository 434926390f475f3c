"""The page of a corpus: what came in, what was dropped and why, every language by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from tongues.pages import (
    Block,
    Callout,
    Card,
    Cards,
    Cell,
    Details,
    Entry,
    Heading,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Table,
    Topics,
    check_folder,
    percent,
    percent_cell,
    share,
    write_page,
)
from tongues.quantities import show_bytes
from tongues.report.corpus.figures import corpus_figures
from tongues.report.corpus.summary import Amount, Language, Summary, copies, faults, read_summary
from tongues.report.tokenizer.measured import SAMPLE, Measured, measure_tokenizers
from tongues.report.tokenizer.texts import documents_on
from tongues.report.tokenizer.view import spelling, tokenizer_blocks, tokenizer_numbers
from tongues.text.signals import LIMIT, SIGNALS
from tongues.text.summary import show_dropped
from tongues.tokens.store import read_manifest

__all__ = ["about_languages", "write_corpus_report"]

_LIMIT = "read after the most that the recipe wants was there"
_FAULTS = {
    "archive cut off": "the archive ends early; what came before is read",
    "archive damaged": "the archive cannot be unpacked any further",
    "bad encoding": "no UTF-8",
    "bad name": "its id or group is no text and no number",
    "cut off": "the last line, half written",
    "damaged": "a part of the file that cannot be read",
    "empty": "nothing but white space",
    "no text": "no text column, or something else in it",
    "not JSON": "a line that is no JSON",
    "NUL bytes": "binary data, or a hole a crash left",
    "too long": "longer than a document can be",
    "unreadable": "the file cannot be opened or read on",
}
_ABOUT_COPIES = Paragraph(
    "A cluster holds documents that are near copies of one another, in whatever language; of those "
    "in one language the longest is kept. What is alike or of one group lies on one side of the "
    "split between training and held-out text.",
    "quiet",
)
_SHOWN = 12  # faults of a language
_UNITS: tuple[Literal["documents", "bytes"], ...] = ("documents", "bytes")


def write_corpus_report(
    place: Path,
    out: Path,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of the corpus at `place` to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. Where the tokens of
    the corpus lie in `tokens/` beside `corpus/`, the page says how their tokenizer does.
    """
    check_folder(out)
    progress("reading the corpus")
    summary = read_summary(place)
    measured = _measured(place, progress)
    title = title or f"Corpus {place.resolve().name}"
    return write_page(_page(title, summary, measured), out, progress)


def about_languages(summary: Summary, clauses: Mapping[str, str]) -> dict[str, str]:
    """What a person needs to know of each language first, in one sentence.

    clauses: how the tokenizer does on a language, in a few words, where that is known.
    """
    languages = summary["languages"].items()
    return {lang: _sentence(about, clauses.get(lang, "")) for lang, about in languages}


def _measured(place: Path, progress: Callable[[str], None]) -> list[Measured]:
    """The tokenizer that was made for the corpus, if it is there, tried on the corpus."""
    tokens = place.resolve().parents[1] / "tokens" / place.resolve().name
    if not (tokens / "tokens.json").is_file():
        return []
    (measured,) = measure_tokenizers([tokens], documents_on(place, SAMPLE), progress)
    counts = read_manifest(tokens)["languages"]
    languages = {
        lang: replace(found, prepared=counts[lang]["train"]["bytes_per_token"])
        for lang, found in measured.languages.items()
    }
    return [replace(measured, languages=languages)]


def _page(title: str, summary: Summary, measured: Sequence[Measured]) -> Page:
    """Most important first, then every language by itself."""
    languages = summary["languages"]
    sentences = about_languages(summary, spelling(measured[0]) if measured else {})
    topics = {f"[{lang}](#language-{lang})": [Paragraph(s)] for lang, s in sentences.items()}
    cautions = [f"{c['sentence']} ({c['code']})." for c in summary["cautions"]]
    numbers = {**summary, "sentences": sentences}
    return Page(
        title,
        [
            _cards(summary),
            Topics(topics, "languages"),
            *([Callout("To doubt", cautions)] if cautions else []),
            Section("languages", "Languages", [_language_table(summary)]),
            *corpus_figures(summary),
            Section("duplicates", "Duplicates", [_ABOUT_COPIES, _copies(summary)]),
            *(tokenizer_blocks(measured) if measured else []),
            *(
                Section(f"language-{lang}", lang, list(_language(lang, about)))
                for lang, about in languages.items()
            ),
        ],
        lead=[Paragraph(_about_corpus(summary), "lead")],
        versions={name: version(name) for name in ("tongues", "altair")},
        numbers=numbers | {"tokenizers": [tokenizer_numbers(each) for each in measured]},
    )


def _totals(summary: Summary) -> tuple[dict[str, int], dict[str, int]]:
    """Documents and bytes that were read and kept."""
    languages = summary["languages"].values()
    read, kept = (
        {unit: sum(about[fate][unit] for about in languages) for unit in _UNITS}
        for fate in ("read", "kept")
    )
    return read, kept


def _about_corpus(summary: Summary) -> str:
    read, kept = _totals(summary)
    count = len(summary["languages"])
    return (
        f"{count} language{'s' * (count != 1)} · {read['documents']:,} documents read, "
        f"{show_bytes(read['bytes'])} · {kept['documents']:,} kept, {show_bytes(kept['bytes'])}"
    )


def _sentence(about: Language, clause: str) -> str:
    read, kept = about["read"], about["kept"]
    if not read["documents"]:
        return "no document was read."
    clauses = [
        f"{kept['documents']:,} of {read['documents']:,} documents kept "
        f"({show_bytes(kept['bytes'])}, {percent(share(kept['bytes'], read['bytes']))})"
    ]
    if about["dropped"]:
        clauses.append(f"dropped: {show_dropped(about['dropped'])}")
    if about["foreign"] is not None and kept["documents"]:
        clauses.append(f"{percent(about['foreign'])} of what is kept is in other languages")
    if faults(about):
        clauses.append(f"{faults(about):,} places could not be read")
    return "; ".join([*clauses, clause] if clause else clauses) + "."


def _cards(summary: Summary) -> Cards:
    languages = summary["languages"]
    read, kept = _totals(summary)
    gone = sum(copies(about) for about in languages.values())
    size = f"{show_bytes(kept['bytes'])} of {show_bytes(read['bytes'])}"
    of_all = f"{percent(share(gone, read['documents']))} of the documents"
    cards = [
        Card(percent(share(kept["bytes"], read["bytes"])), size, "of the text kept"),
        Card(f"{gone:,}", of_all, "copies and near copies dropped"),
    ]
    foreign = {
        x: about["foreign"] for x, about in languages.items() if about["foreign"] is not None
    }
    if foreign:
        worst = max(foreign, key=lambda lang: foreign[lang])
        what = f"of `{worst}` is in other languages" + (", the most of all" * (len(foreign) > 1))
        cards.append(Card(percent(foreign[worst]), "of the bytes kept", what))
    unread = sum(faults(about) for about in languages.values())
    sources = sum(len(about["pieces"]) for about in languages.values())
    where = f"in {sources:,} source{'s' * (sources != 1)}"
    return Cards([*cards, Card(f"{unread:,}", where, "places that could not be read")])


def _language_table(summary: Summary) -> Table:
    """A row per language: what came in and what stayed."""
    rows: list[list[Entry]] = [
        [
            Cell(lang, link=f"#language-{lang}"),
            percent_cell(about["kept"]["bytes"], about["read"]["bytes"]),
            *_amount(about["kept"]),
            *_amount(about["read"]),
            Cell("not known") if about["foreign"] is None else percent_cell(about["foreign"]),
            faults(about),
            ", ".join(list(about["scripts"])[:3]),
        ]
        for lang, about in summary["languages"].items()
    ]
    head = ["language", "kept", "documents", "size", "documents read", "size", "in other languages"]
    return Table([*head, "unreadable", "scripts"], rows)


def _amount(amount: Amount) -> tuple[int, Cell]:
    return amount["documents"], Cell(show_bytes(amount["bytes"]), amount["bytes"])


def _copies(summary: Summary) -> Table:
    """A row per language: how many documents have near copies, and how large clusters are."""
    rows: list[list[Entry]] = []
    for lang, about in summary["languages"].items():
        gone = [about["dropped"].get(why) for why in ("copy", "near copy")]
        clusters = about["clusters"]
        largest = ", ".join(f"{size:,}" for size in clusters["largest"][:5])
        counts = [amount and amount["documents"] for amount in gone]
        rows.append([lang, *counts, clusters["clusters"], clusters["documents"], largest])
    head = ["language", "copies dropped", "near copies dropped", "clusters", "documents in them"]
    return Table([*head, "largest clusters"], rows)


def _language(lang: str, about: Language) -> list[Block]:
    documents = about["read"]["documents"]
    lines = [
        f"{what}: {_parts({word: share(count, documents) for word, count in counts.items()})}."
        for what, counts in (
            ("Scripts, by documents", about["scripts"]),
            ("Identified as, by documents", about["labels"]),
        )
        if counts
    ]
    if about["found"]:
        lines.append(f"Found inside what is kept, by bytes: {_parts(about['found'])}.")
    return [
        Items(lines, "plain"),
        *([_step_table(about)] if documents else []),
        Heading("Samples"),
        *(_samples(lang, why, about) for why in about["samples"]),
        Heading("Where it came from"),
        _source_table(about),
        *_unreadable(about),
    ]


def _parts(shares: Mapping[str, float]) -> str:
    """The largest of some shares in words."""
    return ", ".join(f"`{name}` {percent(part)}" for name, part in list(shares.items())[:6])


def _step_table(about: Language) -> Table:
    """A row per step: what it dropped, and the rule it went by."""
    read = about["read"]
    steps = [("read", "", read), *((w, _rule(w, about), n) for w, n in about["dropped"].items())]
    rows: list[list[Entry]] = [
        [
            Cell(name, strong=not rule),
            *_amount(amount),
            percent_cell(amount["bytes"], read["bytes"]),
            rule,
        ]
        for name, rule, amount in [*steps, ("kept", "", about["kept"])]
    ]
    return Table(["step", "documents", "size", "of the bytes", "what goes"], rows)


def _rule(why: str, about: Language) -> str:
    """Why a document is dropped, with the value it did not meet in this language."""
    signal = next((each for each in SIGNALS if each.rule and each.rule.reason == why), None)
    if signal is None or signal.rule is None:  # of a package that is not installed, perhaps
        return _LIMIT if why == LIMIT else why
    value = about["thresholds"].get(signal.key)
    return signal.rule.sentence.format("the least" if value is None else signal.show(value))


def _samples(lang: str, why: str, about: Language) -> Details:
    """The beginnings of some documents that were kept, or dropped for a reason."""
    samples, kept = about["samples"][why], why == "kept"
    there = about["kept"] if kept else about["dropped"][why]
    tag = "" if why == "other language" else lang  # what was dropped as that is not in this one
    quotes: list[Block] = []
    for sample in samples:
        quotes.append(Quote(sample["text"], tag))
        if like := sample.get("like"):
            quotes += [Paragraph("kept in its place:", "quiet"), Quote(like, tag)]
    head = "kept" if kept else f"{why}: {_rule(why, about)}"
    return Details(head, quotes, kept, f"{len(samples)} of {there['documents']:,}")


def _source_table(about: Language) -> Table:
    rows: list[list[Entry]] = [
        [
            Cell(piece["source"]),
            piece["documents"],
            Cell(show_bytes(piece["bytes"]), piece["bytes"]),
            sum(piece["faults"].values()) or None,
            "cut at the limit of the recipe" if piece["capped"] else "",
        ]
        for piece in about["pieces"]
    ]
    return Table(["source", "documents", "size", "unreadable", ""], rows)


def _unreadable(about: Language) -> list[Block]:
    """What could not be read of a language, and where."""
    counts: dict[str, int] = {}
    for piece in about["pieces"]:
        for reason, count in piece["faults"].items():
            counts[reason] = counts.get(reason, 0) + count
    if not counts:
        return []
    most_first = sorted(counts.items(), key=lambda item: -item[1])
    samples = islice((row for piece in about["pieces"] for row in piece["fault_samples"]), _SHOWN)
    kinds = Table(
        ["reason", "what it is", "places"],
        [[reason, _FAULTS.get(reason, ""), count] for reason, count in most_first],
    )
    where = Table(["reason", "file", "place", "begins"], [_fault(row) for row in samples])
    return [Details(f"{sum(counts.values()):,} places that could not be read", [kinds, where])]


def _fault(row: Mapping[str, Any]) -> list[Entry]:
    file = Cell(row["source"].rsplit("/", 1)[-1], title=row["source"])
    return [row["reason"], file, row["place"], Cell(row["sample"], code=True)]
