"""The signals of every corpus, in the order of their columns."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from tongues.core.beside import read_beside
from tongues.core.quantities import Share, Threshold
from tongues.text.document import group_hash, hash64
from tongues.text.signals.close import counts_as, large_others, taken_for
from tongues.text.signals.near import BANDS, SIGNATURE
from tongues.text.signals.signal import SIGNALS, Batch, Rule, Signal

if TYPE_CHECKING:
    import pyarrow as pa


_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});")
_HIGH = f"[\x80-\xbf{bytes(range(0x80, 0xA0)).decode('cp1252', 'ignore')}]"
_MOJIBAKE = re.compile(f"[Â-ß]{_HIGH}|[à-ï]{_HIGH}{{2}}|[ð-ô]{_HIGH}{{3}}")
_FEWEST = 4  # such sequences; one or two occur in good text, as a letter before a quotation mark
_ABOUT = read_beside(__file__, "signals.toml")
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


def garbled(text: str) -> float:
    """The share of the characters beyond ASCII that are UTF-8 read as Latin-1 or cp1252."""
    found = () if text.isascii() else _MOJIBAKE.findall(text)
    if len(found) < _FEWEST:
        return 0.0
    return sum(map(len, found)) / (len(text) - len(text.encode("ascii", "ignore")))


def _signal(
    name: str,
    compute: Callable[[Batch], Sequence[float] | np.ndarray],
    level: Any = Threshold,
    kind: type[Signal] = Signal,
) -> Signal:
    about = dict(_ABOUT[name])
    rule = Rule(**about.pop("rule"), level=level) if "rule" in about else None
    return kind(name, compute=compute, rule=rule, **about)


def _measured(name: str) -> Signal:
    return _signal(name, lambda batch: batch.characters[name])


# A number of places.
_INT = Annotated[int, Field(ge=1)]
NEAR = _signal("signature", lambda batch: batch.near.signature, Share, _Near)
for _each in (
    _signal("bytes", lambda batch: [len(text.encode()) for text in batch.texts]),
    _signal("exact", lambda batch: np.array([hash64(text) for text in batch.texts], np.uint64)),
    _signal(
        "group_hash",
        lambda batch: np.array([group_hash(each.group) for each in batch.documents], np.uint64),
    ),
    *map(_measured, ("characters", "repeated_lines", "digits", "symbols")),
    _signal("markup", lambda batch: [_in_tags(text) for text in batch.texts]),
    _signal("mojibake", lambda batch: [garbled(text) for text in batch.texts]),
    _signal("script_share", lambda batch: batch.characters["script_share"], Share),
    _signal("language_share", _own_language, Share),
    _signal(
        "siblings",
        lambda batch: [max(each.shares.values(), default=0.0) for each in batch.languages],
        Share,
    ),
    _signal("repetition", lambda batch: batch.near.repetition),
    _signal("benchmark", lambda batch: batch.benchmarks.hits(batch.units), _INT),
    NEAR,
):
    SIGNALS.add(_each)
