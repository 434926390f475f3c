"""What documents cost a model, each kept apart, and what follows from their sums."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tongues.errors import Caution
from tongues.jsonable import from_plain, to_plain
from tongues.tokens.fertility import BYTEWISE

__all__ = ["DocumentLosses", "Reading", "bits_per_segment", "mean_losses", "spelling_cautions"]

_LACKING = 0.001  # share of a text's letters that a tokenizer lacks, from which it is told
_COLUMNS = ("nats", "tokens", "bytes", "missing")
_HIGHEST = 690.0  # nats of which the perplexity is over 1e299


@dataclass(frozen=True, slots=True)
class Reading:
    """What scoring documents took.

    experts_run: tokens read by all experts. seconds: of processor time, to read and to choose among
    the experts. memory: bytes of the weights of all experts that one document needed, at most.
    """

    experts_run: float
    seconds: float
    memory: int


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
        names = ("ids", "segments", "cost", "of_experts")
        return columns | {name: to_plain(getattr(self, name)) for name in names}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The losses that `to_json` gave."""
        nats, tokens, sizes, missing = (np.array(plain[name]) for name in _COLUMNS)
        return cls(
            ids=tuple(plain["ids"]),
            nats=nats,
            tokens=tokens,
            bytes=sizes,
            segments=tuple(plain["segments"]),
            missing=missing,
            cost=from_plain(Reading, plain["cost"]),
            of_experts=tuple(plain["of_experts"]),
        )


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
    sums, counts = {}, {}
    for lang, one in losses.items():
        sums[lang], counts[lang] = _by_segment(one)
    shared = set.intersection(*(set(own.items()) for own in counts.values())) if counts else set()
    if not shared or len(sums) < 2:
        return 0, {}
    bits = len(shared) * math.log(2)
    return len(shared), {
        lang: math.fsum(own[name] for name, _ in shared) / bits for lang, own in sums.items()
    }


def spelling_cautions(language: str, losses: DocumentLosses) -> list[Caution]:
    """What a tokenizer that is ill fitted to a language does to its losses."""
    found: list[Caution] = []
    lacking = _ratio(losses.missing * losses.bytes, losses.bytes)
    if lacking >= _LACKING:
        count = int((losses.missing > 0).sum())
        what = f"`{language}`: the tokenizer lacks {lacking:.1%} of its letters (in {count} of "
        why = f"{len(losses.ids)} documents); what it cannot spell costs next to nothing"
        found.append(Caution("script_missing", f"{what}{why}, so its losses are too low"))
    elif losses.tokens.sum() and _ratio(losses.bytes, losses.tokens) < BYTEWISE:
        rate = _ratio(losses.bytes, losses.tokens)
        what = f"`{language}`: the tokenizer spells it byte by byte ({rate:.2f} bytes a token)"
        found.append(Caution("spelt_out", f"{what}; compare it by bits per byte alone"))
    return found


def _by_segment(losses: DocumentLosses) -> tuple[dict[str, float], dict[str, int]]:
    """Of each segment the nats, and of how many documents they are."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for name, nats, tokens in zip(losses.segments, losses.nats, losses.tokens, strict=True):
        if tokens:
            sums[name] = sums.get(name, 0.0) + float(nats)
            counts[name] = counts.get(name, 0) + 1
    return sums, counts


def _ratio(above: np.ndarray, below: np.ndarray) -> float:
    """Of the sums; not a number where there is nothing."""
    total = float(below.sum())
    return float(above.sum()) / total if total else math.nan
