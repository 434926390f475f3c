"""Losses of documents: the windows that a long text is cut into, and what follows from sums."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from tokenizers import Tokenizer, models

from tongues.errors import Caution, UserError
from tongues.jsonable import from_plain, to_plain
from tongues.tokens.fertility import BYTEWISE

__all__ = ["DocumentLosses", "Policy", "Reading", "Spelling", "Window", "bits_per_segment"]
__all__ += ["mean_losses", "resolved", "spelling_cautions", "windows"]

_LACKING = 0.001  # share of a text's letters that a tokenizer lacks, from which it is told
_COLUMNS = ("nats", "tokens", "bytes", "missing")
_NAMES = ("ids", "segments", "of_experts")
_HIGHEST = 690.0  # nats of which the perplexity is over 1e299


@dataclass(frozen=True, slots=True)
class Policy:
    """The windows of a text.

    The first one scores as much as it sees, each further one the next `stride` tokens, the last
    one what is left. Hugging Face's sliding windows of M tokens are `window=M - 1`, since the last
    of them is only predicted; lm-eval's rolling ones have `back=True` and no overlap.
    """

    window: int | None = None  # tokens seen at once; None: what the model sees
    stride: int | None = None  # tokens scored a window; None: the window, so none is seen twice
    back: bool = False  # the last window reaches back, to see as much as the others


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens from `begin` to `stop` are seen, those from `start` on are scored."""

    begin: int
    start: int
    stop: int


def resolved(policy: Policy, context: int | None, name: str = "the model") -> Policy:
    """The policy in numbers for a model that sees `context` tokens; its own where it sees any.

    name: of the model, for errors.
    """
    window = context if policy.window is None else policy.window
    if window is None:
        if policy.stride is None:
            return policy
        hint = "name the window too"
        raise UserError("a stride without a window", where="stride", hint=hint)
    stride = window if policy.stride is None else policy.stride
    if window < 1:
        raise UserError("a window of no tokens", where="window", hint="1 token or more")
    if context is not None and window > context:
        what = f"a window of {window} tokens is longer than {name} sees ({context})"
        raise UserError(what, where="window", hint="name a shorter one, or none")
    if not 1 <= stride <= window:
        what = f"a stride of {stride} tokens with a window of {window}"
        raise UserError(what, where="stride", hint="from 1 to the window")
    return Policy(window, stride, policy.back)


def windows(policy: Policy, count: int) -> Iterator[Window]:
    """The windows of a text of `count` tokens, the one that stands before it included.

    Each token but the first is scored once. policy: in numbers, as `resolved` gives it.
    """
    window, stride = policy.window or count, policy.stride or count
    begin, start = 0, 1
    while start < count:
        whole = window + 1 if start == 1 else start + stride
        stop = min(whole, count)
        if start > 1:
            begin = max(0, (stop if policy.back else whole) - 1 - window)
        yield Window(begin, start, stop)
        start = stop


@dataclass(frozen=True, slots=True)
class Reading:
    """The cost of scoring documents."""

    experts_run: float  # tokens read by all experts
    seconds: float  # of processor time, to read and to choose among the experts
    memory: int  # bytes of the weights of all experts that one document needed, at most


@dataclass(frozen=True, slots=True, eq=False)
class DocumentLosses:
    """Documents of one language under a model; sums over sums, never means of means."""

    ids: tuple[str, ...]
    nats: np.ndarray  # of each document's scored tokens
    tokens: np.ndarray  # that were scored
    bytes: np.ndarray  # UTF-8, of the text that was scored
    segments: tuple[str, ...]  # the group of each: translations of one text have one
    missing: np.ndarray  # share of each one's letters that the tokenizer cannot spell
    cost: Reading = Reading(0, 0.0, 0)
    of_experts: tuple[float, ...] = ()  # nats of all documents by each, where all read everything
    of_members: tuple[float, ...] = ()  # nats per token of each, where this is their mean

    @property
    def loss(self) -> float:
        """Nats per token."""
        return _ratio(self.nats, self.tokens)

    @property
    def perplexity(self) -> float:
        """Of a token; comparable within one tokenizer and one text. Infinite where over 1e299."""
        return math.exp(self.loss) if self.loss < _HIGHEST else math.inf

    @property
    def bits_per_byte(self) -> float:
        """Comparable between tokenizers on one text, not between languages."""
        return _ratio(self.nats, self.bytes) / math.log(2)

    def to_json(self) -> dict[str, Any]:
        """As an evaluation keeps it."""
        columns = {name: getattr(self, name).tolist() for name in _COLUMNS}
        return columns | {name: to_plain(getattr(self, name)) for name in (*_NAMES, "cost")}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The losses that `to_json` gave."""
        columns: dict[str, Any] = {name: np.array(plain[name]) for name in _COLUMNS}
        columns |= {name: tuple(plain[name]) for name in _NAMES}
        return cls(**columns, cost=from_plain(Reading, plain["cost"]))


def mean_losses(members: Sequence[DocumentLosses]) -> DocumentLosses:
    """The losses of the same documents in the mean over models trained with several seeds."""
    if len(members) == 1:
        return replace(members[0], of_members=(members[0].loss,))
    count, costs = len(members), [one.cost for one in members]
    return replace(
        members[0],
        nats=np.mean([one.nats for one in members], axis=0),
        of_members=tuple(one.loss for one in members),
        of_experts=(),
        cost=Reading(
            experts_run=sum(cost.experts_run for cost in costs) / count,
            seconds=sum(cost.seconds for cost in costs) / count,
            memory=max(cost.memory for cost in costs),
        ),
    )


def bits_per_segment(losses: Mapping[str, DocumentLosses]) -> tuple[int, dict[str, float]]:
    """Bits of a segment in each language, over those that every language has; and how many.

    A segment is all of a language's documents of one group, of which each must have as many: then
    the same is said in each language, so languages compare, and tokenizers.
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
    """What a tokenizer that is ill fitted to a language does to its losses."""
    lacking = _ratio(losses.missing * losses.bytes, losses.bytes)
    rate = _ratio(losses.bytes, losses.tokens)  # not a number of no tokens
    if lacking >= _LACKING:
        count = int((losses.missing > 0).sum())
        what = f"`{language}`: the tokenizer lacks {lacking:.1%} of its letters (in {count} of "
        why = f"{len(losses.ids)} documents); what it cannot spell costs next to nothing"
        return [Caution("script_missing", f"{what}{why}, so its losses are too low")]
    if rate < BYTEWISE:
        what = f"`{language}`: the tokenizer spells it byte by byte ({rate:.2f} bytes a token)"
        return [Caution("spelt_out", f"{what}; compare it by bits per byte alone")]
    return []


def _ratio(above: np.ndarray, below: np.ndarray) -> float:
    total = float(below.sum())
    return float(above.sum()) / total if total else math.nan


class Spelling:
    """What of a text a tokenizer can spell; every letter is tried once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, bool] = {}
        model = tokenizer.model
        if isinstance(model, models.BPE):
            token = model.unk_token
            self._unknown = None if token is None else tokenizer.token_to_id(token)
        else:
            self._unknown = json.loads(tokenizer.to_str())["model"].get("unk_id")

    def missing(self, text: str) -> float:
        """The share of a text's letters and digits that have no token of their own or of bytes."""
        letters = [letter for letter in text if letter.isalnum()]
        return sum(not self._spells(letter) for letter in letters) / max(len(letters), 1)

    def _spells(self, letter: str) -> bool:
        if letter not in self._known:
            once, twice = (
                self._tokenizer.encode(text, add_special_tokens=False).ids
                for text in (letter, 2 * letter)
            )
            # A letter that is dropped leaves no more behind when it is there twice.
            self._known[letter] = once != twice and self._unknown not in once
        return self._known[letter]
