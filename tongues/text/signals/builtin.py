"""The signals of every corpus, in the order of their columns."""

import re
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from tongues.core.quantities import Share
from tongues.text.document import group_hash, hash64
from tongues.text.signals.close import counts_as, large_others, taken_for
from tongues.text.signals.near import BANDS, SIGNATURE
from tongues.text.signals.signal import SIGNALS, Batch, Rule, Signal

if TYPE_CHECKING:
    import pyarrow as pa


_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});")
_SOME = 0.25  # share of a text; below it, passages in a close relative are foreign


class _Near(Signal):
    def columns(self, batch: Batch) -> dict[str, "pa.Array"]:
        import pyarrow as pa

        near = batch.near
        data = pa.py_buffer(np.ascontiguousarray(near.signature))
        kind = pa.binary(SIGNATURE * near.signature.itemsize)
        whole = pa.Array.from_buffers(kind, len(batch.texts), [None, data])
        bands = (pa.array(np.ascontiguousarray(near.bands[:, k])) for k in range(BANDS))
        return {self.name: whole} | {f"band_{k:02}": keys for k, keys in enumerate(bands)}


def _own_language(batch: Batch) -> list[float]:
    """What is in the language; of one that the identifier does not know, what may be in it.

    Where some of a text is in the language, so are its passages in one that it is taken for.
    """
    lang, known = batch.lang, batch.identifier.knows(batch.lang)
    if not known and not large_others(lang):
        return [np.nan] * len(batch.texts)
    near, shares = taken_for(lang), list[float]()
    for each in batch.languages:
        own = sum(share for label, share in each.shares.items() if counts_as(lang, label, known))
        close = sum(
            share
            for label, share in each.shares.items()
            if label in near and not counts_as(lang, label, known)
        )
        shares.append(own + close * (own >= _SOME))
    return shares


def _in_tags(text: str) -> float:
    if "<" not in text and "&" not in text:
        return 0.0
    return sum(end - start for start, end in (m.span() for m in _TAG.finditer(text))) / len(text)


def _measured(
    name: str,
    summary: str,
    dtype: str = "float32",
    rule: Rule | None = None,
) -> Signal:
    return Signal(name, summary, lambda batch: batch.characters[name], dtype, rule)


def _above(threshold: float, reason: str, sentence: str, order: int) -> Rule:
    """Thresholds that lose little clean text of many languages by `benchmarks/cleaning.py`."""
    return Rule(reason, sentence, default=threshold, order=order)


_SHORT = Rule("short", "fewer than {} characters", "at least", 20.0, order=3)
_LINES = "more than {} of it is lines that occurred before in it"
_NEAR = "alike by {} and more to others, of which the longest is kept"
_MAIN = "less than {} of its letters are in the language's main script"
_OWN = "less than {} of it is in this language, as far as it can be identified"
# A number of places.
_UNLIKE = "is identified as languages that less than {} of the language's own text is taken for"
_INT = Annotated[int, Field(ge=1)]
NEAR = _Near(
    "signature",
    "what near copies are found by",
    lambda batch: batch.near.signature,
    rule=Rule("near copy", _NEAR, "one of each", 0.7, Share, "near", order=10),
)
for _signal in (
    Signal("bytes", "bytes of UTF-8", lambda b: [len(t.encode()) for t in b.texts], "uint32"),
    Signal(
        "exact",
        "a hash of the text",
        lambda batch: np.array([hash64(text) for text in batch.texts], np.uint64),
        "uint64",
        Rule("copy", "the same as another", "one of each", always=True, order=9),
    ),
    Signal(
        "group_hash",
        "a hash of the name of its group",
        lambda batch: np.array([group_hash(each.group) for each in batch.documents], np.uint64),
        "uint64",
    ),
    _measured("characters", "characters", "uint32", _SHORT),
    _measured(
        "repeated_lines",
        "share of the characters in lines that occurred before",
        rule=_above(0.5, "repeated lines", _LINES, 5),
    ),
    _measured(
        "digits",
        "share of digits",
        rule=_above(0.18, "digits", "more than {} of it is digits", 7),
    ),
    _measured(
        "symbols",
        "share of symbols and punctuation",
        rule=_above(0.22, "symbols", "more than {} of it is symbols and punctuation", 6),
    ),
    Signal(
        "markup",
        "share of the characters in tags and entities of HTML and XML",
        lambda batch: [_in_tags(text) for text in batch.texts],
        rule=Rule("markup", "more than {} of it is in tags and entities", order=7),
    ),
    _measured(
        "script_share",
        "share of the letters in the script of most of them",
        rule=Rule("other script", _MAIN, "at least", "off", Share, "script", order=2),
    ),
    Signal(
        "language_share",
        "share of the bytes identified as the document's own language, or not as a large other one",
        _own_language,
        rule=Rule("other language", _OWN, "at least", 0.5, Share, "language", order=1),
    ),
    Signal(
        "siblings",
        "share of the bytes identified as the language of most of them",
        lambda batch: [max(each.shares.values(), default=0.0) for each in batch.languages],
        rule=Rule("unlike the rest", _UNLIKE, "at least", 0.03, Share, order=2),
    ),
    Signal(
        "repetition",
        "share of three words in a row that occurred before in about a thousand words",
        lambda batch: batch.near.repetition,
        rule=_above(0.6, "repetitive", "more than {} of it occurred shortly before in it", 4),
    ),
    Signal(
        "benchmark",
        "places that are text of a named benchmark",
        lambda batch: batch.benchmarks.hits(batch.units),
        "uint32",
        Rule("benchmark", "holds a passage of a benchmark", "below", 1, _INT, order=8),
    ),
    NEAR,
):
    SIGNALS.add(_signal)
