"""Documents as tokens, where the text between two spaces is encoded once.

Most of the time of the `tokenizers` library goes into cutting text into words, again and again the
same ones. Where a tokenizer's words never reach over a space, the tokens of a text are those of its
stretches between spaces, one after the other.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.tokenizer import WORDS

_CUT = re.compile(r"(?<=\S)(?= \S)")
_KEPT = 20_000_000  # characters of stretches, from which they are forgotten: 100 MB or less
# Patterns of words that begin at a single space and never hold one inside: of tokenizers trained
# here, Llama 3 and Qwen 2. Those of GPT-2 are what `ByteLevel` does without another pattern.
_LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = (WORDS, _LLAMA, _LLAMA.replace("{1,3}", ""))
_BEGIN, _END = 0, 1  # keys and numbers of the frame's parts


class Encoder:
    """Encodes texts, each in its frame, and remembers the tokens of their stretches."""

    def __init__(self, tokenizer: Tokenizer, frame: TextFrame, dtype: np.dtype) -> None:
        """`dtype` must hold every id of the tokenizer."""
        self._tokenizer, self._dtype = tokenizer, dtype
        self._apart = apart_at_spaces(tokenizer)
        before = [] if frame.bos is None else [frame.bos]
        self._frame = np.array([*before, frame.end], dtype)
        self._forget()

    def __call__(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of all texts, end to end, and how many of each (int64), with the frame's."""
        if not texts:
            return np.empty(0, self._dtype), np.empty(0, np.int64)
        cut = [_CUT.split(text) if self._apart else [text] for text in texts]
        if self._size > _KEPT:
            self._forget()
        self._learn(list(set(chain.from_iterable(cut)).difference(self._known)))
        parts = [len(stretches) + 2 for stretches in cut]
        keys = chain.from_iterable(chain((_BEGIN,), each, (_END,)) for each in cut)
        numbers = np.fromiter(map(self._known.__getitem__, keys), np.int64, sum(parts))
        counts = np.diff(self._bounds)[numbers]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(self._bounds[numbers] - (ends - counts), counts)
        lengths = np.diff(ends[np.cumsum(parts) - 1], prepend=0)
        return self._tokens[places], lengths

    def _forget(self) -> None:
        self._known: dict[str | int, int] = {_BEGIN: _BEGIN, _END: _END}
        self._tokens = self._frame
        self._bounds = np.array([0, len(self._frame) - 1, len(self._frame)])
        self._size = 0

    def _learn(self, stretches: list[str]) -> None:
        found = self._tokenizer.encode_batch_fast(stretches, add_special_tokens=False)
        ids = [each.ids for each in found]
        new = np.fromiter(chain.from_iterable(ids), self._dtype)
        ends = self._bounds[-1] + np.cumsum(list(map(len, ids)), dtype=np.int64)
        self._known.update(zip(stretches, range(len(self._known), 2**62), strict=False))
        self._tokens = np.concatenate([self._tokens, new])
        self._bounds = np.concatenate([self._bounds, ends])
        self._size += sum(map(len, stretches))


def apart_at_spaces(tokenizer: Tokenizer) -> bool:
    """Whether a text's tokens are those of its stretches, cut before single spaces."""
    # added tokens may hold spaces; other normal forms than NFC may look beyond them
    added = tokenizer.get_added_tokens_decoder().values()
    normalizer = _settings(tokenizer.normalizer)
    steps = list(_steps(_settings(tokenizer.pre_tokenizer)))
    return (
        normalizer.get("type", "NFC") == "NFC"
        and all(token.special for token in added)
        and bool(steps)
        and all(map(_is_apart, steps))
        and any(map(_cuts_words, steps))
    )


def _settings(step: Any) -> dict[str, Any]:
    return json.loads(step.__getstate__()) if step else {}


def _steps(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in settings.get("pretokenizers", [settings] if settings else []):
        yield from _steps(each) if each["type"] == "Sequence" else [each]


def _is_apart(step: dict[str, Any]) -> bool:
    """Whether it does to a stretch what it does to it inside a text."""
    if step["type"] == "ByteLevel":
        return not step["add_prefix_space"]
    return step["type"] == "Digits" or _cuts_words(step)


def _cuts_words(step: dict[str, Any]) -> bool:
    if step["type"] == "ByteLevel":
        return step["use_regex"]
    cut = (step["type"], step.get("behavior"), step.get("invert"))
    return cut == ("Split", "Isolated", False) and step["pattern"].get("Regex") in PATTERNS
