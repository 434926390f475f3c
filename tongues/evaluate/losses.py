"""Losses of documents: the windows of a long text, and losses per token, byte and segment."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from unicodedata import category, normalize

import numpy as np
from tokenizers import Tokenizer

from tongues.core.errors import Caution, UserError
from tongues.core.jsonable import from_plain, to_plain
from tongues.evaluate.words import WORDS
from tongues.text.tokens.fertility import BYTEWISE
from tongues.text.tokens.spelling import unknown_id

_MISSING = 0.001  # chosen; share of letters that are lost, from which a caution is due
_COLUMNS = ("nats", "tokens", "bytes", "missing")
_NAMES = ("ids", "segments", "of_experts")
_HIGHEST = 690.0  # nats of which the perplexity, over 1e299, is near the end of 64 bits


@dataclass(frozen=True, slots=True)
class Policy:
    """The windows of a text, which do not overlap; lm-eval's rolling windows have `back=True`."""

    window: int | None = None  # tokens of context; None: the model's
    back: bool = False  # the last window begins earlier, to be as long as the others


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens from `begin` to `stop` are read, those from `start` on are scored."""

    begin: int
    start: int
    stop: int


def resolved(policy: Policy, context: int | None, name: str = "the model") -> Policy:
    """The policy with the model's context filled in; context: None where it is unlimited.

    name: of the model, for errors.
    """
    window = context if policy.window is None else policy.window
    if context is not None and window is not None and window > context:
        what = f"a window of {window} tokens is longer than the context of {name} ({context})"
        raise UserError(what, where="--window", hint="set a shorter one, or none")
    return Policy(window, policy.back)


def windows(policy: Policy, count: int) -> Iterator[Window]:
    """The windows of a text of `count` tokens, including the token before the text.

    Each token but the first is scored once. policy: of `resolved`.
    """
    window = policy.window or count
    begin, start = 0, 1
    while start < count:
        end = start + window
        stop = min(end, count)
        if start > 1:
            begin = max(0, (stop if policy.back else end) - 1 - window)
        yield Window(begin, start, stop)
        start = stop


@dataclass(frozen=True, slots=True)
class Cost:
    """What scoring takes: of all documents, or of one token of them."""

    experts_run: float  # tokens read, summed over experts
    memory: int  # bytes of weights of the experts that one document needed, at most


@dataclass(frozen=True, slots=True, eq=False)
class DocumentLosses:
    """Losses of a model on the documents of a language."""

    ids: tuple[str, ...]
    nats: np.ndarray  # of each document's scored tokens
    tokens: np.ndarray  # that were scored
    bytes: np.ndarray  # UTF-8, of the text that was scored
    segments: tuple[str, ...]  # the group of each: translations of one text have one
    missing: np.ndarray  # share of each document's letters that the tokenizer cannot encode
    cost: Cost = Cost(0, 0)
    of_experts: tuple[
        float, ...
    ] = ()  # nats of all documents under each expert, where all read everything
    of_members: tuple[float, ...] = ()  # nats per token of each model in a mean over seeds

    @property
    def loss(self) -> float:
        """Nats per token."""
        return _ratio(self.nats, self.tokens)

    @property
    def perplexity(self) -> float:
        """Per token; comparable within one tokenizer and one text. Infinite above 1e299."""
        return math.exp(self.loss) if self.loss < _HIGHEST else math.inf

    @property
    def bits_per_byte(self) -> float:
        """Comparable between tokenizers on one text, not between languages."""
        return _ratio(self.nats, self.bytes) / math.log(2)

    def among(self, chosen: np.ndarray) -> Self:
        """Those of some documents, by a number of each; without what it cost."""
        columns: dict[str, Any] = {name: getattr(self, name)[chosen] for name in _COLUMNS}
        for name in ("ids", "segments"):
            columns[name] = tuple(getattr(self, name)[number] for number in chosen.tolist())
        return replace(self, **columns, cost=Cost(0, 0), of_experts=(), of_members=())

    def to_json(self) -> dict[str, Any]:
        """As an evaluation stores it."""
        columns = {name: getattr(self, name).tolist() for name in _COLUMNS}
        return columns | {name: to_plain(getattr(self, name)) for name in (*_NAMES, "cost")}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The losses that `to_json` gave."""
        columns: dict[str, Any] = {name: np.array(plain[name]) for name in _COLUMNS}
        columns |= {name: tuple(plain[name]) for name in _NAMES}
        return cls(**columns, cost=from_plain(Cost, plain["cost"]))


def mean_losses(members: Sequence[DocumentLosses]) -> DocumentLosses:
    """The mean losses of models trained with several seeds, by document."""
    if len(members) == 1:
        return replace(members[0], of_members=(members[0].loss,))
    count, costs = len(members), [one.cost for one in members]
    return replace(
        members[0],
        nats=np.mean([one.nats for one in members], axis=0),
        of_members=tuple(one.loss for one in members),
        of_experts=(),
        cost=Cost(
            experts_run=sum(cost.experts_run for cost in costs) / count,
            memory=max(cost.memory for cost in costs),
        ),
    )


def bits_per_segment(losses: Mapping[str, DocumentLosses]) -> tuple[int, dict[str, float]]:
    """The number of segments that all languages share, and bits per segment by language.

    A segment is all of a language's documents of one group, and is shared if every language has the
    same number of them. Segments are translations of each other, so bits per segment are comparable
    between languages and between tokenizers.
    """
    sums: dict[str, dict[str, float]] = {lang: {} for lang in losses}
    counts: dict[str, dict[str, int]] = {lang: {} for lang in losses}
    for lang, of in losses.items():
        for name, nats, tokens in zip(of.segments, of.nats.tolist(), of.tokens, strict=True):
            if tokens:
                sums[lang][name] = sums[lang].get(name, 0.0) + nats
                counts[lang][name] = counts[lang].get(name, 0) + 1
    shared = set.intersection(*(set(own.items()) for own in counts.values())) if counts else set()
    if not shared or len(sums) < 2:
        return 0, {}
    bits = len(shared) * math.log(2)
    return len(shared), {
        lang: math.fsum(own[name] for name, _ in shared) / bits for lang, own in sums.items()
    }


def spelling_cautions(language: str, losses: DocumentLosses) -> list[Caution]:
    """Cautions where the tokenizer does not cover the language's script."""
    missing = _ratio(losses.missing * losses.bytes, losses.bytes)
    rate = _ratio(losses.bytes, losses.tokens)  # NaN without tokens
    if missing >= _MISSING:
        documents = {"count": int((losses.missing > 0).sum()), "all": len(losses.ids)}
        line = WORDS["letters_lost"].format(language=language, share=missing, **documents)
        return [Caution("script_missing", line)]
    if rate < BYTEWISE:
        return [Caution("spelt_out", WORDS["byte_by_byte"].format(language=language, rate=rate))]
    return []


def _ratio(above: np.ndarray, below: np.ndarray) -> float:
    total = float(below.sum())
    return float(above.sum()) / total if total else math.nan


class Spelling:
    """What of a text's letters a tokenizer can encode; every letter is tried once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, bool] = {}
        self._unknown = unknown_id(tokenizer)

    def missing(self, text: str) -> float:
        """The share of a text's letters and digits that have no token of their own or of bytes."""
        letters = [letter for letter in text if letter.isalnum()]
        return sum(not self._spells(letter) for letter in letters) / max(len(letters), 1)

    def lost(self, text: str) -> float:
        """The share of a text's letters, digits and marks that its tokens do not hold.

        They are missing, or a normalizer drops or replaces them, as accents, vowel signs or
        capitals. What NFKC makes alike is held.
        """
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        decoded = self._tokenizer.decode(ids, skip_special_tokens=False)
        before, after = (
            Counter(x for x in normalize("NFKC", each) if category(x)[0] in "LMN")
            for each in (text, decoded)
        )
        return max(self.missing(text), (before - after).total() / max(before.total(), 1))

    def _spells(self, letter: str) -> bool:
        if letter not in self._known:
            once, twice = (
                self._tokenizer.encode(text, add_special_tokens=False).ids
                for text in (letter, 2 * letter)
            )
            # A letter that is dropped gives the same tokens once and twice.
            self._known[letter] = once != twice and self._unknown not in once
        return self._known[letter]
