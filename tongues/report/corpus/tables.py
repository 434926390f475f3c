"""The tables of a corpus: languages, what each step dropped, duplicates, where it came from."""

from html import escape

from tongues.quantities import show_bytes
from tongues.report.corpus.summary import Amount, Language, Summary, faults
from tongues.report.corpus.words import threshold
from tongues.report.html import table, word
from tongues.report.shares import percent, share

__all__ = ["copy_table", "language_table", "piece_table", "step_table"]


def language_table(summary: Summary) -> str:
    """A row per language: what came in and what stayed."""
    rows = [
        [
            word(f'<a href="#language-{escape(lang)}">{escape(lang)}</a>'),
            percent(share(about["kept"]["bytes"], about["read"]["bytes"])),
            f"{about['kept']['documents']:,}",
            show_bytes(about["kept"]["bytes"]),
            f"{about['read']['documents']:,}",
            show_bytes(about["read"]["bytes"]),
            "not known" if about["foreign"] is None else percent(about["foreign"]),
            f"{faults(about):,}",
            word(escape(", ".join(list(about["scripts"])[:3]))),
        ]
        for lang, about in summary["languages"].items()
    ]
    head = [word("language"), "kept", "documents", "size", "documents read", "size"]
    return table([*head, "in other languages", "unreadable", word("scripts")], rows)


def step_table(about: Language) -> str:
    """A row per step: what it dropped, and the rule it went by."""
    read = about["read"]
    rows = [_step("read", "", read, read)]
    rows += [_step(why, threshold(why, about), n, read) for why, n in about["dropped"].items()]
    rows.append(_step("kept", "", about["kept"], read))
    head = [word("step"), "documents", "size", "of the bytes", word("what goes")]
    return table(head, rows) if read["documents"] else ""


def copy_table(summary: Summary) -> str:
    """A row per language: how many documents have near copies, and how large clusters are."""
    rows = []
    for lang, about in summary["languages"].items():
        gone = [about["dropped"].get(why) for why in ("copy", "near copy")]
        found = about["clusters"]
        largest = ", ".join(f"{size:,}" for size in found["largest"][:5])
        cells = [f"{amount['documents']:,}" if amount else "" for amount in gone]
        counts = [f"{found[name]:,}" for name in ("clusters", "documents")]
        rows.append([word(escape(lang)), *cells, *counts, word(largest)])
    head = [word("language"), "copies dropped", "near copies dropped", "clusters"]
    return table([*head, "documents in them", word("largest clusters")], rows)


def piece_table(about: Language) -> str:
    """A row per source of a language."""
    rows = [
        [
            word(escape(piece["source"])),
            f"{piece['documents']:,}",
            show_bytes(piece["bytes"]),
            f"{sum(piece['faults'].values()):,}" if piece["faults"] else "",
            word("cut at the limit of the recipe" if piece["capped"] else ""),
        ]
        for piece in about["pieces"]
    ]
    return table([word("source"), "documents", "size", "unreadable", word("")], rows)


def _step(name: str, rule: str, amount: Amount, read: Amount) -> list[str]:
    name = escape(name) if rule else f"<strong>{name}</strong>"
    of_all = percent(share(amount["bytes"], read["bytes"]))
    numbers = [f"{amount['documents']:,}", show_bytes(amount["bytes"]), of_all]
    return [word(name), *numbers, word(escape(rule))]
