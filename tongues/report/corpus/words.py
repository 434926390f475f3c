"""A corpus in sentences: one for each language, and what to doubt."""

from collections.abc import Mapping

from tongues.quantities import show_bytes
from tongues.report.corpus.summary import Language, Summary, faults
from tongues.report.shares import percent, share

__all__ = ["about_corpus", "about_languages", "doubts", "parts", "threshold"]

# What a dropped document is, with the value of the threshold that it does not meet.
_SAID = {
    "beyond the limit": "read after the most that the recipe wants was there",
    "other language": "less than {} of it is in this language",
    "other script": "less than {} of its letters are in the language's main script",
    "short": "fewer than {} characters",
    "repetitive": "more than {} of it was said before in it",
    "repeated lines": "more than {} of it is lines said before in it",
    "symbols": "more than {} of it is symbols and punctuation",
    "digits": "more than {} of it is digits",
    "benchmark": "holds a passage of a benchmark",
    "copy": "the same as another",
    "near copy": "alike by {} and more to others, of which the longest is kept",
}
_THRESHOLDS = {"other language": "language", "other script": "script", "short": "characters"}
_THRESHOLDS |= {"repetitive": "repetition", "repeated lines": "repeated_lines"}
_THRESHOLDS |= {"symbols": "symbols", "digits": "digits", "near copy": "near"}


def about_corpus(summary: Summary) -> str:
    """All languages in one line."""
    languages = summary["languages"].values()
    read, kept = (
        {unit: sum(about[fate][unit] for about in languages) for unit in ("documents", "bytes")}
        for fate in ("read", "kept")
    )
    count = len(languages)
    return " · ".join(
        (
            f"{count} language{'s' * (count != 1)}",
            f"{read['documents']:,} documents read, {show_bytes(read['bytes'])}",
            f"{kept['documents']:,} kept, {show_bytes(kept['bytes'])}",
        )
    )


def about_languages(summary: Summary, spelling: Mapping[str, str]) -> dict[str, str]:
    """What a person needs to know of each language first, in one sentence.

    spelling: how the tokenizer does on a language, in a few words, where that is known.
    """
    return {
        lang: _sentence(about, spelling.get(lang, ""))
        for lang, about in summary["languages"].items()
    }


def doubts(summary: Summary) -> list[str]:
    """The cautions of the corpus."""
    return [f"{c['sentence']} ({c['code']})." for c in summary["cautions"]]


def threshold(why: str, about: Language) -> str:
    """Why a document is dropped, with the value it did not meet in this language."""
    value = about["thresholds"].get(_THRESHOLDS.get(why, ""))
    said = _SAID.get(why, why)
    if value is None:
        return said.format("the least") if "{}" in said else said
    return said.format(f"{value:,.0f}" if why == "short" else f"{value * 100:.3g} %")


def parts(shares: Mapping[str, float], most: int = 3) -> str:
    """The largest of some shares in words."""
    return ", ".join(f"`{name}` {percent(part)}" for name, part in list(shares.items())[:most])


def _sentence(about: Language, spelling: str) -> str:
    read, kept = about["read"], about["kept"]
    if not read["documents"]:
        return "no document was read."
    said = f"{kept['documents']:,} of {read['documents']:,} documents kept"
    said += f" ({show_bytes(kept['bytes'])}, {percent(share(kept['bytes'], read['bytes']))})"
    clauses = [said]
    gone = {why: amount["documents"] for why, amount in about["dropped"].items()}
    if gone:
        most = sorted(gone, key=lambda why: -gone[why])[:2]
        rest = f" and {len(gone) - 2} more reasons" if len(gone) > 3 else ""
        clauses.append("dropped: " + ", ".join(f"{why} {gone[why]:,}" for why in most) + rest)
    if about["foreign"] is not None and kept["documents"]:
        clauses.append(f"{percent(about['foreign'])} of what is kept is in other languages")
    if faults(about):
        clauses.append(f"{faults(about):,} places could not be read")
    if spelling:
        clauses.append(spelling)
    return "; ".join(clauses) + "."
