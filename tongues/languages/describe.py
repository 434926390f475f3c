"""What is known of languages as blocks, for a terminal and the docs."""

from collections.abc import Mapping, Sequence

from tongues.core.estimate import Estimate
from tongues.core.magnitudes import show_bytes, show_count
from tongues.core.pages import blocks as b
from tongues.core.pages.numbers import estimate_cell, fixed, percent
from tongues.languages.donors import Donor
from tongues.languages.facts import LanguageFacts
from tongues.languages.fertility import TOKENIZERS
from tongues.languages.language import Language


def facts_blocks(facts: LanguageFacts) -> list[b.Block]:
    """What is known of one language, and what is not."""
    of = facts.language
    premium = facts.byte_premium
    measured = premium.method if premium.low is None else f"forecast {premium.method}"
    terms = {
        "names": ", ".join((of.name, *of.names)),
        "codes": ", ".join((of.tag, f"{of.code}_{of.script}", *of.other_codes)),
        "family": " › ".join(of.family),
        "script": ", ".join((of.script, *(f"{x.script} (`{x.tag}`)" for x in facts.scripts))),
        "place": ", ".join(filter(None, (of.macroarea, " ".join(of.countries)))),
        "speakers by CLDR": show_count(of.speakers) if of.speakers else "",
        "byte premium": "" if premium.reason else f"{premium.value:.2f} ({measured})",
        "identified by": ", ".join(of.identified_by),
        "easily confused with": ", ".join(f"{x.name} (`{x.tag}`)" for x in facts.confusable),
        "tasks": ", ".join(of.tasks),
    }
    sure = any((donor.score.low or 0.0) > 0.0 for donor in facts.donors)
    start = "Donors: languages to start from" + ("" if sure else "; every interval includes 0")
    return [
        b.Terms({name: value for name, value in terms.items() if value}),
        *_section("text", "Text", _text_rows(of)),
        *_section("tokens", "Bytes per token", _token_rows(facts)),
        _loss(facts),
        *_section("donors", start, _donor_rows(facts.donors)),
        b.Section("unknown", "Not known", [b.Items(facts.unknown)]) if facts.unknown else None,
    ]


def language_rows(languages: Sequence[Language]) -> list[Mapping[str, b.Entry]]:
    """A row for each of several languages."""
    return [
        {
            "tag": of.tag,
            "language": of.name,
            "family": of.family[0] if of.family else "",
            "script": of.script,
            "text": b.Cell(show_bytes(of.text_bytes), of.text_bytes) if of.text_bytes else "",
            "Bible": percent(of.bible) if of.bible is not None else "",
            "speakers": b.Cell(show_count(of.speakers), of.speakers) if of.speakers else "",
            "byte premium": f"{of.byte_premium:.2f}" if of.byte_premium else "",
            "tasks": str(len(of.tasks)),
        }
        for of in languages
    ]


def _section(place: str, title: str, rows: Sequence[Mapping[str, b.Entry]]) -> list[b.Block]:
    """A table in a section, without the columns that are empty."""
    empty = {name for name in (rows[0] if rows else {}) if not any(row[name] for row in rows)}
    kept = [{name: cell for name, cell in row.items() if name not in empty} for row in rows]
    return [b.Section(place, title, [b.Table.of(kept)])] if rows else []


def _text_rows(of: Language) -> list[Mapping[str, b.Entry]]:
    return [
        {
            "source": text.source,
            "bytes": show_bytes(text.bytes),
            "words": show_count(text.words) if text.words else "",
            "documents": show_count(text.documents) if text.documents else "",
            "Bible": percent(text.bible) if text.bible is not None else "",
            "Wikipedia": percent(text.wikipedia) if text.wikipedia is not None else "",
        }
        for text in of.texts
    ]


def _token_rows(facts: LanguageFacts) -> list[Mapping[str, b.Entry]]:
    return [
        {
            "vocabulary": TOKENIZERS[name],
            "bytes per token": _exact(token),
            "source": token.method if token.low is not None else "measured",
        }
        for name, token in facts.bytes_per_token.items()
        if not token.reason
    ]


def _loss(facts: LanguageFacts) -> b.Section:
    rows = [
        {"unique text": show_bytes(amount), "bits per byte": _exact(of.loss)}
        for amount, of in facts.forecasts.items()
    ]
    rests = "; ".join(dict.fromkeys(x for of in facts.forecasts.values() for x in of.rests_on))
    sentences = (
        "On clean sentences; 39M parameters at 10 MB, 125M from 100 MB on, ten epochs.",
        f"It rests on {rests}.",
    )
    title = "Loss of a model trained from scratch: a forecast"
    return b.Section("loss", title, [b.Table.of(rows), b.Items(sentences, "notes")])


def _exact(estimate: Estimate) -> b.Cell:
    return estimate_cell(estimate, fixed(2), after=True)


def _donor_rows(donors: Sequence[Donor]) -> list[Mapping[str, b.Entry]]:
    return [
        {
            "donor": donor.language.tag,
            "language": donor.language.name,
            "transfer": estimate_cell(donor.score, fixed(2), plus=True, after=True),
            "source": "measured (ATLAS)" if donor.measured else "forecast",
            "script": donor.language.script,
            "kinship": f"{donor.kinship:.2f}",
            "text": show_bytes(donor.language.text_bytes),
        }
        for donor in donors
    ]
