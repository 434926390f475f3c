"""Text from outside as HTML that only shows it: samples of documents, and what was unreadable."""

from collections.abc import Iterable
from html import escape
from itertools import islice
from typing import Any

from tongues.report.corpus.summary import Language
from tongues.report.corpus.words import threshold
from tongues.report.html import table, word

__all__ = ["fault_list", "sample_list"]

_FAULTS = 12  # shown of a language
_SAID = {
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


def sample_list(lang: str, about: Language) -> str:
    """The beginnings of some documents of a language, first of the kept, then by reason."""
    groups = []
    for why, samples in about["samples"].items():
        if why == "kept":
            there, head = about["kept"]["documents"], "kept"
        else:
            there, head = about["dropped"][why]["documents"], f"{why}: {threshold(why, about)}"
        # what was dropped as another language is not in this one
        tag = "" if why == "other language" else lang
        quotes = "".join(_pair(sample, tag) for sample in samples)
        count = f'<span class="quiet">{len(samples)} of {there:,}</span>'
        opened = " open" if why == "kept" else ""
        groups.append(
            f"<details{opened}><summary>{escape(head)} {count}</summary>{quotes}</details>"
        )
    return "".join(groups)


def fault_list(about: Language) -> str:
    """What could not be read of a language, and where."""
    counts: dict[str, int] = {}
    for piece in about["pieces"]:
        for reason, count in piece["faults"].items():
            counts[reason] = counts.get(reason, 0) + count
    if not counts:
        return ""
    rows = [
        [word(escape(reason)), word(escape(_SAID.get(reason, ""))), f"{count:,}"]
        for reason, count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    summary = f"{sum(counts.values()):,} places that could not be read"
    samples = [[*_place(row), word(_data(row["sample"]))] for row in _some(about["pieces"])]
    head = [word("reason"), word("what it is"), "places"]
    where = [word("reason"), word("file"), "place", word("begins")]
    return (
        f"<details><summary>{summary}</summary>{table(head, rows)}{table(where, samples)}</details>"
    )


def _some(pieces: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return islice((row for piece in pieces for row in piece["fault_samples"]), _FAULTS)


def _place(row: dict[str, Any]) -> list[str]:
    file = row["source"].rsplit("/", 1)[-1]
    name = f'<span title="{escape(row["source"])}">{escape(file)}</span>'
    return [word(escape(row["reason"])), word(name), f"{row['place']:,}"]


def _data(sample: str) -> str:
    return f'<code dir="auto">{escape(sample)}</code>'


def _pair(sample: dict[str, str], tag: str) -> str:
    """A sample, and the document that was kept in its place if there is one."""
    kept = sample.get("like")
    behind = f"<p class=quiet>kept in its place:</p>{_quote(kept, tag)}" if kept else ""
    return _quote(sample["text"], tag) + behind


def _quote(sample: str, lang: str) -> str:
    return f'<blockquote lang="{escape(lang)}" dir="auto">{escape(sample)}</blockquote>'
