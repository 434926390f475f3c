"""The words of a corpus: what was read and kept, what to look at, and why nothing was kept.

Every sentence is a template here; what is true is decided elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.quantities import counted, show_bytes
from tongues.text.reading import type_of
from tongues.text.signals import large_others
from tongues.text.summary import MARKUP, CorpusSummary, LanguageSummary, TextSize, faults_by_reason

_NAMED = 5  # languages that text was identified as, the most frequent
SAID: dict[str, Any] = read_beside(__file__)


def selection_lines(summary: CorpusSummary) -> Iterator[str]:
    """What was read and kept of each language, and the cautions."""
    for lang, about in summary["languages"].items():
        yield (SAID["kept"] if about["dropped"] else SAID["read"]).format(
            lang=lang,
            documents=about["read"]["documents"],
            size=show_bytes(about["read"]["bytes"]),
            kept=about["kept"]["documents"],
            dropped=show_dropped(about["dropped"]),
        )
        if repaired := sum(source.get("repaired", 0) for source in about["sources"]):
            yield SAID["repaired"].format(lang=lang, repaired=repaired)
    for caution in summary["cautions"]:
        yield f"caution: {caution['sentence']} ({caution['code']})"


def show_dropped(dropped: Mapping[str, TextSize]) -> str:
    """The documents and bytes dropped by reason."""
    sizes = ((why, size["documents"], show_bytes(size["bytes"])) for why, size in dropped.items())
    return "; ".join(f"{why} {documents:,}, {size}" for why, documents, size in sizes)


def caution_sentence(code: str, lang: str, about: LanguageSummary, title: str = "") -> str:
    """What to look at in a language's text, and what helps; title: of a source it is about."""
    faults, aside = faults_by_reason(about), about["passed_over"]
    searched = ", ".join(sorted(large_others(lang)))
    label, labelled = next(iter(about["labels"].items()), ("", 0))
    sentence = SAID["cautions"][code].format(
        lang=lang,
        title=title,
        places=counted(sum(faults.values()), "place"),
        reasons=", ".join(f"{reason} {count}" for reason, count in sorted(faults.items())),
        lost=show_bytes(sum(sum(source["lost"].values()) for source in about["sources"])),
        files=counted(sum(each["files"] for each in aside.values()), "file"),
        kinds="; ".join(f"{x} {n['files']}, {show_bytes(n['bytes'])}" for x, n in aside.items()),
        read=about["read"]["documents"],
        label=label,
        labelled=labelled,
        marked_up=about["marked_up"],
        garbled=about["dropped"].get("mojibake", {"documents": 0})["documents"],
        markup=MARKUP,
        dropped=SAID["some" if searched else "none"].format(searched=searched),
        foreign=about["foreign"] or 0.0,
        identified=", ".join(f"{x} {s:.1%}" for x, s in [*about["identified"].items()][:_NAMED]),
    )
    samples = [row for source in about["sources"] for row in source["fault_samples"]]
    helps = _what_helps(lang, samples) if code == "unreadable_places" else []
    return "; ".join([sentence, *helps])


def nothing_kept_words(
    why: str, lang: str, fault: Mapping[str, Any], **named: object
) -> tuple[str, str]:
    """What keeps all text of a language out, and what to do.

    fault: the first place that could not be read, if that is why.
    """
    values = {"lang": lang, **fault, **named}
    what, hint = (words.format(**values) for words in SAID["nothing"][why])
    return what, "; ".join([hint, *_what_helps(lang, [fault] if fault else [])])


def _what_helps(lang: str, samples: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to do about files in another encoding, and about plain text too long for a document."""
    encoding = any(sample["reason"] == "bad encoding" for sample in samples)
    long = (type_of(each["source"]) for each in samples if each["reason"] == "too long")
    advice = [SAID["encoding"]] if encoding else []
    advice += [SAID["paragraphs"]] if any(kind and kind.name == "text" for kind in long) else []
    return [each.format(lang=lang) for each in advice]
