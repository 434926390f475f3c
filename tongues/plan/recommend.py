"""Which option to take, why, how sure that is, and within what range it does not matter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.plan.budget import Question
from tongues.plan.options import Option
from tongues.plan.search import first_reached
from tongues.quantities import show_count

__all__ = ["ADVISED_REPLAY", "FLAT", "KEPT", "FlatRange", "Recommendation", "recommend"]

FLAT = 0.005  # a loss this little above the lowest is as good: laws are off by more beyond runs
KEPT = 0.02  # rise of the source loss that still counts as keeping the source language
ADVISED_REPLAY = "5 to 30 %"  # by the published study
_SURE = 0.95
_FAR = math.log(1e4)


@dataclass(frozen=True, slots=True)
class FlatRange:
    """The sizes whose loss lies within `FLAT` of the lowest for the same FLOPs, and their tokens.

    The smallest size goes with the most tokens.
    """

    params: tuple[float, float]
    tokens: tuple[float, float]
    flops: float

    def to_json(self) -> dict[str, Any]:
        """The two ranges, and what they hold for."""
        ranges = {"params": list(self.params), "tokens": list(self.tokens)}
        return ranges | {"flops": self.flops, "within": FLAT}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The option to take.

    index: its place among the options. why, sure: in words. share: of the draws in which it wins;
    None where the laws have none, or there is nothing to win against. replay: what to mix in.
    rival: what laws of the other kind, by compute or by size, take instead.
    """

    index: int
    option: Option
    why: str
    sure: str
    share: float | None
    flat_range: FlatRange | None
    replay: str
    rival: Option | None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "option": self.index,
            "name": self.option.name,
            "why": self.why,
            "sure": self.sure,
            "share_of_draws": self.share,
            "flat_range": self.flat_range and self.flat_range.to_json(),
            "replay": self.replay or None,
        }


def recommend(
    options: Sequence[Option], question: Question, starting: float | None
) -> Recommendation:
    """The option of the lowest loss, or of the fewest FLOPs to a target loss.

    Among shares of replay the smallest that keeps the source language is taken; only laws of one
    kind are compared where both strategies have one. `starting` is the base's loss on its own
    language, nats per token.
    """
    ranked = _ranked(_one_kind(options), question, starting)
    best = ranked[0]
    share = _share(ranked, question)
    others = [option for option in options if option.way.of_compute != best.way.of_compute]
    rival = _ranked(others, question, starting)[0] if _both_strategies(others) else None
    rival = rival if rival and rival.way.strategy != best.way.strategy else None
    return Recommendation(
        index=next(i for i, option in enumerate(options) if option is best),
        option=best,
        why=_why(ranked, question),
        sure=_sure(ranked, question, share, rival),
        share=share,
        flat_range=_flat_range(best),
        replay=_about_replay(best, options, starting),
        rival=rival,
    )


def _one_kind(options: Sequence[Option]) -> list[Option]:
    """Options of laws by size, or else of laws by compute, if they speak of both strategies."""
    for of_compute in (False, True):
        like = [option for option in options if option.way.of_compute == of_compute]
        if _both_strategies(like):
            return like
    return list(options)


def _both_strategies(options: Sequence[Option]) -> bool:
    return len({option.way.strategy for option in options}) == 2


def _ranked(options: Sequence[Option], question: Question, starting: float | None) -> list[Option]:
    """The best first: the lowest loss, or the fewest FLOPs to a loss; one of each way."""
    rivals = _one_share_each(options, starting)
    return sorted(rivals, key=lambda one: one.loss if question.flops else one.flops)


def _one_share_each(options: Sequence[Option], starting: float | None) -> list[Option]:
    """Of every way the smallest share of replay that keeps the source language."""
    groups: dict[tuple[str, str, bool], list[Option]] = {}
    for option in options:
        base = option.way.base
        key = (option.way.strategy, base.name if base else "", option.way.of_compute)
        groups.setdefault(key, []).append(option)
    return [_least_replay(group, starting) for group in groups.values()]


def _least_replay(group: Sequence[Option], starting: float | None) -> Option:
    told = [option for option in group if option.source_loss is not None]
    if not told or starting is None:
        return group[0]
    kept = [one for one in told if _rise(one, starting) <= KEPT]
    return kept[0] if kept else min(told, key=lambda one: _rise(one, starting))


def _rise(option: Option, starting: float) -> float:
    """The share by which the source loss rises, negative where it falls."""
    assert option.source_loss is not None
    return option.source_loss / starting - 1.0


def _share(ranked: Sequence[Option], question: Question) -> float | None:
    """The share of draws in which the first is the best, paired by their number."""
    if len(ranked) < 2 or not all(option.way.law.draws for option in ranked):
        return None
    if question.target_loss is None:
        draws = [option.way.loss_draws(np.array(option.flops)) for option in ranked]
    else:
        draws = [o.way.compute_draws(question.target_loss, near=o.flops) for o in ranked]
    count = min(len(values) for values in draws)
    table = np.stack([values[:count] for values in draws])
    return float(np.mean(table[0] <= table[1:].min(axis=0)))


def _why(ranked: Sequence[Option], question: Question) -> str:
    best, rest = ranked[0], ranked[1:]
    said = f"{_in_words(best)}: "
    if question.target_loss is not None:
        said += f"{best.flops:.3g} FLOPs reach a loss of {question.target_loss:g}"
        if rest:
            said += f", {rest[0].flops:.3g} would by `{rest[0].name}`"
    else:
        said += f"a loss of {best.loss:.4g} nats per token"
        if rest:
            said += f", against {rest[0].loss:.4g} by `{rest[0].name}`"
            said += f" for {'the same' if _alike(best, rest[0]) else f'{rest[0].flops:.3g}'} FLOPs"
    said += "."
    if best.compute_saved is not None and best.compute_saved > 0:
        needed = best.flops / (1.0 - best.compute_saved)
        said += f" From scratch the same loss takes {needed:.3g} FLOPs, so that "
        said += f"{best.compute_saved:.0%} {_between(best.compute_saved_interval)}is saved."
    if not rest and not best.way.settled and best.params:
        said += " Of all sizes this one learns most from that compute."
    return said


def _in_words(option: Option) -> str:
    base = option.way.base
    start = f"Continue from `{base.name}`" if base else "Continue from a base"
    said = "Train from scratch" if option.way.strategy == "scratch" else start
    if option.way.replay:
        said += f" with {option.way.replay:.0%} replay"
    if option.params and option.tokens:
        size = f"{show_count(option.params)} parameters"
        said += f", {size} on {show_count(option.tokens)} tokens"
    return said


def _sure(
    ranked: Sequence[Option], question: Question, share: float | None, rival: Option | None
) -> str:
    best, rest = ranked[0], ranked[1:]
    if not rest:
        said = "there is no other option to weigh it against"
        said += "" if best.way.law.draws else ", and the law has no intervals"
    elif share is not None:
        count = len(next(iter(best.way.law.draws.values())))
        found = f"in {share:.1%} of {count:,} resampled fits it comes out best"
        said = found if share >= _SURE else f"it cannot be told apart from the others: {found} only"
    else:
        gap = abs(rest[0].loss / best.loss - 1.0)
        said = "not known: the laws have no intervals"
        if question.flops and gap < FLAT:
            said += f", and the losses differ by {gap:.1%} only, which hardly matters"
    if best.params_interval:
        low, high = (show_count(end) for end in best.params_interval)
        said += f". The best size lies between {low} and {high} (95 %)"
    if best.beyond:
        factor = max(best.beyond.values())
        said += f". It is a projection, {factor:.3g} times beyond what its law was fitted on"
    if rival:
        kind = "compute" if rival.way.of_compute else "size"
        said += (
            f". The laws by {kind} take `{rival.name}` instead, so the laws contradict each other"
        )
    return f"{said[0].upper()}{said[1:]}."


def _about_replay(best: Option, options: Sequence[Option], starting: float | None) -> str:
    """What share of source text to mix in, and why."""
    if best.way.strategy == "scratch":
        return ""
    if best.source_loss is None or starting is None:
        return (
            "No law in hand tells how much of the source language is lost; the published study "
            f"advises {ADVISED_REPLAY} of source text, at little cost to the target."
        )
    change = best.source_loss / starting - 1.0
    end = f"the source loss goes from {starting:.3f} to {best.source_loss:.3f} ({change:+.1%})"
    if not best.way.replay and change <= KEPT:
        return f"None is needed to keep the source language within {KEPT:.0%}: {end}."
    share = f"{best.way.replay:.0%}"
    if change > KEPT:
        return f"No share keeps the source language within {KEPT:.0%}; with {share}, {end}."
    cost = _cost_of_replay(best, options)
    return f"{share} is the smallest share that keeps it within {KEPT:.0%}: {end}{cost}."


def _cost_of_replay(best: Option, options: Sequence[Option]) -> str:
    """How much the target loses to replay, against the option that has none."""
    without = [
        option
        for option in options
        if not option.way.replay
        and (option.way.strategy, option.way.base, option.way.law_name)
        == (best.way.strategy, best.way.base, best.way.law_name)
    ]
    if not best.way.replay or not without:
        return ""
    return f", and the target loss is {best.loss:.4g} instead of {without[0].loss:.4g}"


def _flat_range(option: Option) -> FlatRange | None:
    """The sizes about the best one that lose next to nothing; None where size is no choice."""
    if option.params is None or option.way.settled:
        return None
    way, middle, flops = option.way, math.log(option.params), option.flops

    def loss(x: np.ndarray) -> np.ndarray:
        N = np.exp(x)
        return way.loss_of(N, flops / (6.0 * N))

    level = option.loss * (1.0 + FLAT)
    least = math.exp(first_reached(loss, level, middle - _FAR, middle))
    most = math.exp(-first_reached(lambda x: loss(-x), level, -middle - _FAR, -middle))
    return FlatRange((least, most), (flops / (6.0 * most), flops / (6.0 * least)), flops)


def _alike(one: Option, other: Option) -> bool:
    return abs(one.flops / other.flops - 1.0) < 0.01


def _between(ends: tuple[float, float] | None) -> str:
    return f"(95 %: {ends[0]:.0%} to {ends[1]:.0%}) " if ends else ""
