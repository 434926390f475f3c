"""Which option to take, why, how sure that is, and within what range it does not matter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tongues.plan.certainty import FLAT, certainty
from tongues.plan.options import Option
from tongues.plan.question import Question
from tongues.plan.ways import first_reached
from tongues.quantities import show_count

__all__ = ["ADVISED_REPLAY", "KEPT", "FlatRange", "Recommendation", "recommend"]

KEPT = 0.02  # rise of the source loss that counts as keeping the language where none is told
_ROUNDING = 1e-6  # of a share, and so of the rise it leads to
ADVISED_REPLAY = "5 to 30 %"  # by the published study (Zheng et al. 2024)
_ADVISED_SHARE = 0.1  # of it, where no law tells more
_SMALLER = 1.1  # times, from where a model is told to be smaller
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

    index: its place among the options. why, sure: in words. share: of the draws in which it is
    better than every option that is not as good as it; None where the laws have none, or there is
    nothing to win against. as_good: the others within `FLAT` of the best. replay: what to mix in.
    replay_share: of source text, for the recipe.
    rival: what laws of the other kind, by compute or by size, take instead.
    repeats_decide: whether a worse option would be as good or better, were no text read again.
    """

    index: int
    option: Option
    why: str
    sure: str
    share: float | None
    as_good: tuple[Option, ...]
    flat_range: FlatRange | None
    replay: str
    replay_share: float
    rival: Option | None
    repeats_decide: bool

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "option": self.index,
            "name": self.option.name,
            "why": self.why,
            "sure": self.sure,
            "share_of_draws": self.share,
            "as_good": [option.name for option in self.as_good],
            "flat_range": self.flat_range and self.flat_range.to_json(),
            "replay": self.replay or None,
            "replay_share": self.replay_share,
        }


def recommend(
    options: Sequence[Option], question: Question, starting: float | None
) -> Recommendation:
    """The option of the lowest loss, or of the fewest FLOPs to a target loss.

    Where a smaller model comes within `FLAT` of the lowest loss, the smallest such is taken. Among
    shares of replay the smallest that keeps the source language is; only laws of one kind are
    compared where both strategies have one. `starting` is the base's loss on its own language,
    nats per token.
    """
    ranked = _ranked(_one_kind(options), question, starting)
    near = [option for option in ranked if _hardly_worse(option, ranked[0], question)]
    best = _cheapest(near) if question.flops else ranked[0]
    others = [option for option in options if option.way.of_compute != best.way.of_compute]
    rival = _ranked(others, question, starting)[0] if _both_strategies(others) else None
    rival = rival if rival and rival.way.strategy != best.way.strategy else None
    as_good = tuple(option for option in near if option is not best)
    worse = [option for option in ranked if option not in near]
    repeats_decide = _repeats_decide(ranked, question)
    share, sure = certainty(best, as_good, worse, question, repeats_decide)
    if rival:
        kind = "compute" if rival.way.of_compute else "size"
        sure += f" The laws by {kind} take `{rival.name}` instead: the laws contradict each other."
    return Recommendation(
        index=next(i for i, option in enumerate(options) if option is best),
        option=best,
        why=_why(best, ranked, question),
        sure=sure,
        share=share,
        as_good=as_good,
        flat_range=_flat_range(best),
        replay=_about_replay(best, options, _allowed(question), starting),
        replay_share=_share_to_write(best, question),
        rival=rival,
        repeats_decide=repeats_decide,
    )


def _hardly_worse(option: Option, best: Option, question: Question) -> bool:
    """Whether its loss is within `FLAT` of that of the best, for the same FLOPs."""
    loss = option.loss if question.flops else float(option.way.loss(np.array(best.flops)))
    return loss <= best.loss * (1.0 + FLAT)


def _cheapest(near: Sequence[Option]) -> Option:
    """The smallest that is smaller than the best by more than a little, else the best.

    A projection stands in for nothing but a projection.
    """
    best = near[0]
    smaller = [
        option
        for option in near
        if option.params and best.params and option.params * _SMALLER < best.params
        if best.projection or not option.projection
    ]
    return min(smaller, key=lambda one: one.params or math.inf, default=best)


def _repeats_decide(ranked: Sequence[Option], question: Question) -> bool:
    """Whether any that is worse than the best would not be, were no text read again."""
    if not any(option.epochs and option.epochs > 1 for option in ranked):
        return False
    unlimited = [
        float(replace(option.way, repeats=None).loss(np.array(ranked[0].flops)))
        for option in ranked
    ]
    return any(
        loss <= unlimited[0] * (1.0 + FLAT)
        for option, loss in zip(ranked, unlimited, strict=True)
        if not _hardly_worse(option, ranked[0], question)
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
    rivals = _one_share_each(options, question, starting)
    return sorted(rivals, key=lambda one: one.loss if question.flops else one.flops)


def _one_share_each(
    options: Sequence[Option], question: Question, starting: float | None
) -> list[Option]:
    """Of every way the smallest share of replay that keeps the source language."""
    groups: dict[tuple[str, str, bool], list[Option]] = {}
    for option in options:
        base = option.way.base
        key = (option.way.strategy, base.name if base else "", option.way.of_compute)
        groups.setdefault(key, []).append(option)
    return [_least_replay(group, _allowed(question), starting) for group in groups.values()]


def _allowed(question: Question) -> float:
    """The rise of the source loss that counts as keeping the language."""
    return KEPT if question.keep is None else question.keep


def _least_replay(group: Sequence[Option], allowed: float, starting: float | None) -> Option:
    told = [option for option in group if option.source_loss is not None]
    if not told or starting is None:
        return group[0]
    kept = [one for one in told if _rise(one, starting) <= allowed + _ROUNDING]
    return kept[0] if kept else min(told, key=lambda one: _rise(one, starting))


def _rise(option: Option, starting: float) -> float:
    """The share by which the source loss rises, negative where it falls."""
    assert option.source_loss is not None
    return option.source_loss / starting - 1.0


def _why(best: Option, ranked: Sequence[Option], question: Question) -> str:
    first, others = ranked[0], [option for option in ranked if option is not best]
    said = f"{_in_words(best)}: "
    if question.target_loss is not None:
        said += f"{best.flops:.3g} FLOPs reach a loss of {question.target_loss:g}"
        if others:
            said += f", {others[0].flops:.3g} would by `{others[0].name}`"
    else:
        said += f"a loss of {best.loss:.4g} nats per token"
        if others:
            said += f", against {others[0].loss:.4g} by `{others[0].name}`"
            said += f" for {_flops_of(others[0], best)} FLOPs"
    said += "."
    if first is not best:
        more = f"{best.loss / first.loss - 1.0:.2%} more, which hardly matters"
        said += f" That is {more}, and a smaller model is cheaper to use."
    if best.compute_saved is not None and best.compute_saved > 0:
        needed = best.flops / (1.0 - best.compute_saved)
        said += f" From scratch the same loss takes {needed:.3g} FLOPs, so that "
        said += f"{best.compute_saved:.0%} {_between(best.compute_saved_interval)}is saved."
    if not others and not best.way.settled and best.params:
        said += " Of all sizes this one learns most from that compute."
    return said


def _flops_of(option: Option, best: Option) -> str:
    alike = abs(option.flops / best.flops - 1.0) < 0.01
    return "the same" if alike else f"{option.flops:.3g}"


def _in_words(option: Option) -> str:
    base = option.way.base
    start = f"Continue from `{base.name}`" if base else "Continue from a base"
    said = "Train from scratch" if option.way.strategy == "scratch" else start
    if option.way.replay:
        said += f" with {option.way.replay * 100:g}% replay"
    if option.params and option.tokens:
        size = f"{show_count(option.params)} parameters"
        said += f", {size} on {show_count(option.tokens)} tokens"
    return said


def _share_to_write(best: Option, question: Question) -> float:
    """The share of the option, else what the study advises where no law and nobody chose one."""
    unknown = best.way.strategy == "cpt" and best.source_loss is None and not question.replay
    return _ADVISED_SHARE if unknown else best.way.replay


def _about_replay(
    best: Option, options: Sequence[Option], allowed: float, starting: float | None
) -> str:
    """What share of source text to mix in, and why."""
    if best.way.strategy == "scratch":
        return ""
    if best.source_loss is None or starting is None:
        return (
            "No law in hand tells how much of the source language is lost; the published study "
            f"advises {ADVISED_REPLAY} of source text, at little cost to the target."
        )
    change, within = _rise(best, starting), f"within {allowed * 100:g}%"
    end = f"the source loss goes from {starting:.3f} to {best.source_loss:.3f} ({change:+.1%})"
    kept = change <= allowed + _ROUNDING
    sure = _about_share(best)
    if not best.way.replay and kept:
        return f"None is needed to keep the source language {within}: {end}.{sure}"
    share = f"{best.way.replay * 100:g}%"
    if not kept:
        return f"No share keeps the source language {within}; with {share}, {end}."
    cost = _cost_of_replay(best, options)
    return f"{share} is the smallest share that keeps it {within}: {end}{cost}.{sure}"


def _about_share(best: Option) -> str:
    """Between what the share lies that was sought."""
    advice = best.way.advice
    if advice is None:
        return ""
    if advice.interval is None:
        return " How sure that share is, is not known: the law has no intervals."
    low, high = advice.interval
    if math.isinf(high):
        return f" It may be as little as {low * 100:.2g}%, and no share may suffice (95 %)."
    return f" It lies between {low * 100:.2g}% and {high * 100:.2g}% (95 %)."


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


def _between(ends: tuple[float, float] | None) -> str:
    return f"(95 %: {ends[0]:.0%} to {ends[1]:.0%}) " if ends else ""
