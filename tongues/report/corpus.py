"""The page of a corpus: how much was kept, what was dropped and why, and what is inside."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tongues.core.pages import blocks as b
from tongues.core.pages import fixed, percent, percent_cell, share, value_cell
from tongues.core.pages.axes import Row, categories, colour, linear
from tongues.core.pages.plots import bars
from tongues.core.quantities import counted, show_bytes
from tongues.languages import language_name
from tongues.report.words import SAID
from tongues.text.reading import REASONS
from tongues.text.signals import LIMIT, SIGNALS
from tongues.text.summary import (
    CorpusSummary,
    LanguageSummary,
    TextSize,
    faults_by_reason,
    read_summary,
)
from tongues.text.tokens.split import split_cautions
from tongues.text.tokens.store import Manifest, read_manifest, tokens_of

_Cells = Mapping[str, b.Entry]
_FAULTS = 12  # of a language, shown
_EXAMPLE = 90  # characters of a dropped document
_SOURCES = 12  # of a language, the largest, next to their part of the held-out text
_BARS = 12  # languages drawn, those that kept least
_LABELS = 5  # that text of a language has most often


def corpus_page(place: Path, progress: Callable[[str], None]) -> b.Page:
    """The page of the corpus at `place`; `progress` gets a line for each step."""
    progress("reading the corpus")
    manifests = [read_manifest(path) for path in tokens_of(place)]
    return _page(f"Corpus {place.resolve().name}", read_summary(place), manifests)


def _page(title: str, summary: CorpusSummary, manifests: Sequence[Manifest]) -> b.Page:
    languages = summary["languages"]
    abouts = languages.values()
    read, kept = (
        TextSize(
            documents=sum(about[fate]["documents"] for about in abouts),
            bytes=sum(about[fate]["bytes"] for about in abouts),
        )
        for fate in ("read", "kept")
    )
    cautions = [f"{c['sentence']} ({c['code']})." for c in summary["cautions"]]
    first = manifests[0] if manifests else None  # held-out text goes by the hashes of groups
    splits = first["splits"] if first else {}
    cautions += [f"{x}." for lang, split in splits.items() for x in split_cautions(lang, split)]
    reasons, labels = b.Table.of(_reasons(languages, read["bytes"])), identified_table(languages)
    parts = {x: (about["kept"], about["read"]) for x, about in languages.items()}
    worst = sorted(parts, key=lambda x: share(*(of["bytes"] for of in parts[x])))
    table = b.Table.of(_row(lang, languages[lang]) for lang in worst)
    every = SAID["all_kept"].format(languages=counted(len(languages), "language"))
    names = {x: SAID["least_kept"].format(name=language_name(x)) for x in worst[:2]}
    tiles = [*(_kept(name, *parts[x]) for x, name in names.items()), _kept(every, kept, read)]
    return b.Page(
        title,
        [
            b.Tiles(tiles),
            b.Details("What to fix", [b.Items(cautions)], count=str(len(cautions)))
            if cautions
            else None,
            _kept_and_dropped(worst, languages),
            b.Section("languages", "Languages", [table]),
            b.Section("reasons", "What was dropped", [reasons]) if reasons.rows else None,
            b.Section("held-out", "Held-out text", _of_split(first)) if first else None,
            b.Section("identified", "Identified as", [labels]) if labels.rows else None,
            *(
                b.Section(f"language-{x}", language_name(x), _language(x, about))
                for x, about in languages.items()
            ),
        ],
        numbers={**summary, "held_out": splits or None},
    )


def _kept(label: str, kept: TextSize, read: TextSize) -> b.Tile:
    """The share of bytes that is kept, with both and the documents."""
    sizes = {"kept": show_bytes(kept["bytes"]), "read": show_bytes(read["bytes"])}
    below = SAID["kept_of"].format(**sizes, documents=kept["documents"])
    return b.Tile(label, percent(share(kept["bytes"], read["bytes"])), below)


def _kept_and_dropped(
    worst: Sequence[str], languages: Mapping[str, LanguageSummary]
) -> b.Figure | None:
    """By language the share of bytes kept, and that dropped for each reason."""
    rows: list[Row] = [
        {"language": language_name(lang), "series": why, "order": why != "kept"}
        | {"share": share(size["bytes"], languages[lang]["read"]["bytes"])}
        for lang in worst[:_BARS]
        for why, size in {"kept": languages[lang]["kept"], **languages[lang]["dropped"]}.items()
    ]
    first, *others = dict.fromkeys(row["series"] for row in rows if row["order"]) or [""]
    drawn = bars(
        "",
        rows,
        linear("share", "share of the bytes read", low=0, high=1, format="~%"),
        categories(
            "language", list(dict.fromkeys(row["language"] for row in rows)), labelLimit=190
        ),
        colour([first, "kept", *others], rows, "square"),
        tooltip=("language", "series=reason", "share:.1%"),
        order="order",
    )
    return b.Figure.of("kept", SAID["kept_and_dropped"], SAID["about_kept"], [drawn], rows)


def identified_table(languages: Mapping[str, LanguageSummary]) -> b.Table:
    """What the documents read and the text kept of each language were identified as."""
    return b.Table.of(
        {"language": language_name(lang), "documents read": _largest(about["labels"])}
        | {"bytes kept": _largest(about["identified"])}
        for lang, about in languages.items()
        if about["labels"]
    )


def _largest(amounts: Mapping[str, float]) -> str:
    """The largest parts of a whole, with their shares."""
    order, whole = sorted(amounts, key=lambda x: -amounts[x]), sum(amounts.values())
    parts = ((language_name(x), percent(share(amounts[x], whole))) for x in order[:_LABELS])
    return ", ".join(f"{name} {part}" for name, part in parts)


def _of_split(manifest: Manifest) -> list[b.Block]:
    """What the held-out text of each language consists of, next to its training text."""
    rows, sources = list[_Cells](), list[_Cells]()
    for lang, split in manifest["splits"].items():
        counts, overlap = manifest["languages"][lang], split["overlap"]
        ratio = value_cell(counts["train"]["bytes_per_token"], fixed(2))
        rows.append(
            {
                "language": language_name(lang),
                "independent groups": split["groups"],
                **_amount(counts["valid"]),
            }
            | {"left out": overlap["documents"], "size left out": _size(overlap["bytes"])}
            | {"bytes per token to train on": ratio}
        )
        totals = {
            side: sum(each[side] for each in split["sources"].values())
            for side in ("train", "valid")
        }
        largest = sorted(split["sources"].items(), key=lambda each: -sum(each[1].values()))
        sources += [
            {"language": language_name(lang), "source": title}
            | {"of the held-out text": percent_cell(sizes["valid"], totals["valid"])}
            | {"of the training text": percent_cell(sizes["train"], totals["train"])}
            for title, sizes in largest[:_SOURCES]
        ]
    table = b.Table.of(sources)
    folded = b.Details("by source", [table], count=str(len(sources)))
    return [SAID["held_out"], b.Table.of(rows), table if len(sources) <= _SOURCES else folded]


def _reasons(languages: Mapping[str, LanguageSummary], read: int) -> Iterator[_Cells]:
    """A row for each reason, the largest first, with the beginning of a document, and the rest."""
    lost: dict[str, dict[str, tuple[int, int, str]]] = {}  # documents, bytes, example
    for lang, about in languages.items():
        for why, size in about["dropped"].items():
            samples = [each["text"] for each in about["samples"].get(why, [])]
            row = (size["documents"], size["bytes"], "".join(samples[:1]))
            lost.setdefault(why, {})[lang] = row
    order = sorted(lost, key=lambda why: -sum(size for _, size, _ in lost[why].values()))
    sizes = ((lang, about["kept"]) for lang, about in languages.items())
    kept = {lang: (size["documents"], size["bytes"], "") for lang, size in sizes}
    for why, each in [*((why, lost[why]) for why in order), ("kept", kept)] if lost else []:
        count, size = sum(row[0] for row in each.values()), sum(row[1] for row in each.values())
        most = max(each, key=lambda lang: each[lang][1])
        example = " ".join(each[most][2].split())[:_EXAMPLE]
        yield (
            {"reason": b.Cell(why, strong=why == "kept"), "documents": count}
            | {"size": _size(size), "of the bytes": percent_cell(size, read)}
            | {"mean size": _size(round(size / max(count, 1)))}
            | {"most in": b.Cell(language_name(most), link=f"#language-{most}")}
            | {"example": b.Cell(example, code=bool(example))}
        )


def _row(lang: str, about: LanguageSummary) -> _Cells:
    """What came in of a language and what stayed."""
    read, kept, foreign = about["read"], about["kept"], about["foreign"]
    return (
        {"language": b.Cell(language_name(lang), link=f"#language-{lang}")}
        | {"kept": percent_cell(kept["bytes"], read["bytes"]), **_amount(kept)}
        | {"documents read": read["documents"], "size read": _size(read["bytes"])}
        | {"other languages": "not known" if foreign is None else percent_cell(foreign)}
        | {"unreadable": sum(faults_by_reason(about).values())}
        | {"scripts": ", ".join(list(about["scripts"])[:3])}
    )


def _size(count: int) -> b.Cell:
    return b.Cell(show_bytes(count), count)


def _amount(size: Mapping[str, Any]) -> dict[str, b.Entry]:
    return {"documents": size["documents"], "size": _size(size["bytes"])}


def _language(lang: str, about: LanguageSummary) -> list[b.Block]:
    read, faults = about["read"], faults_by_reason(about)
    dropped = ((why, size, _rule(why, about)) for why, size in about["dropped"].items())
    table = b.Table.of(
        {"step": b.Cell(name, strong=not rule), **_amount(size)}
        | {"of the bytes": percent_cell(size["bytes"], read["bytes"]), "what goes": rule}
        for name, size, rule in [("read", read, ""), *dropped, ("kept", about["kept"], "")]
    )
    blocks: list[b.Block] = [table, b.Heading("Samples")]
    for why, samples in about["samples"].items():
        kept = why == "kept"
        known = "" if why == "other language" else lang  # what is in another is not in this one
        quotes = [b.Quote(sample["text"], known) for sample in samples]
        count = (about["kept"] if kept else about["dropped"][why])["documents"]
        head = why if kept else f"{why}: {_rule(why, about)}"
        blocks.append(b.Details(head, quotes, kept, f"{len(samples)} of {count:,}"))
    sources = b.Table.of(
        {"source": source["title"], **_amount(source), "repaired": source.get("repaired") or None}
        | {"unreadable": sum(source["faults"].values()) or None}
        | {"": "cut at the limit of the recipe" if source["capped"] else ""}
        for source in about["sources"]
    )
    blocks += [b.Heading("Where it came from"), sources]
    if faults:
        rows = [row for source in about["sources"] for row in source["fault_samples"]][:_FAULTS]
        places = b.Table.of(
            {"reason": row["reason"], "what it is": REASONS.get(row["reason"])}
            | {"file": b.Cell(row["source"].rsplit("/", 1)[-1], title=row["source"])}
            | {"place": row["place"], "begins": b.Cell(row["sample"], code=True)}
            for row in rows
        )
        blocks.append(
            b.Details(f"{sum(faults.values()):,} places that could not be read", [places])
        )
    return blocks


def _rule(why: str, about: LanguageSummary) -> str:
    signal = next((each for each in SIGNALS if each.rule and each.rule.reason == why), None)
    if signal is None or signal.rule is None:  # of a package that is not installed, perhaps
        return "read after the most that the recipe wants was there" if why == LIMIT else why
    value = about["thresholds"].get(signal.key)
    return signal.rule.sentence.format("the least" if value is None else signal.show(value))
