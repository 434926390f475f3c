"""Which option to take, why, how sure that is, and within what range it does not matter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tongues.plan.options import Option
from tongues.plan.question import Question
from tongues.plan.ways import first_reached
from tongues.quantities import show_count

__all__ = ["ADVISED_REPLAY", "FLAT", "KEPT", "FlatRange", "Recommendation", "recommend"]

FLAT = 0.005  # a loss this little above the lowest is as good: laws are off by more beyond runs
KEPT = 0.02  # rise of the source loss that counts as keeping the language where none is given
_ROUNDING = 1e-6  # of a share, and so of the rise it leads to
ADVISED_REPLAY = "5 to 30 %"  # by the published study (Zheng et al. 2024)
_ADVISED_SHARE = 0.1  # of it, where no law says more
_SMALLER = 1.1  # times, from where a model counts as smaller
_FAR = math.log(1e4)
_SURE = 0.95
_NAMED = 4  # options named in one sentence
_THIN = "few_runs"  # caution of a law that rests on little

_REPLAY = {
    "unknown": "No law in hand tells how much of the source language is lost; the published study "
    f"advises {ADVISED_REPLAY} of source text, at little cost to the target.",
    "none": "None is needed to keep the source language {within}: {end}.{sure}",
    "no share": "No share keeps the source language {within}; with {share}, {end}.",
    "least": "{share} is the smallest share that keeps it {within}: {end}{cost}.{sure}",
}


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
    ranked = _ranked(options, question, starting)
    most, flops = ranked[0].loss * (1.0 + FLAT), np.array(ranked[0].flops)
    near = [o for o in ranked if (o.loss if question.flops else o.way.loss(flops)) <= most]
    worse = [option for option in ranked if option not in near]
    # a projection stands in for nothing but a projection
    smaller = [
        option
        for option in near
        if option.params and (near[0].params or 0) > option.params * _SMALLER
        if near[0].projection or not option.projection
    ]
    best = near[0]
    if question.flops:
        best = min(smaller, key=lambda one: one.params or math.inf, default=best)
    as_good = tuple(option for option in near if option is not best)
    others = [option for option in options if option.way.of_compute != best.way.of_compute]
    rival = None
    if {one.way.strategy for one in others} == {"scratch", "cpt"}:
        first = _ranked(others, question, starting)[0]
        rival = first if first.way.strategy != best.way.strategy else None
    decide = False
    if any(option.epochs and option.epochs > 1 for option in ranked):
        unlimited = [
            replace(option.way, repeats=None).loss(flops) for option in (ranked[0], *worse)
        ]
        decide = any(loss <= unlimited[0] * (1.0 + FLAT) for loss in unlimited[1:])
    share, sure = _certainty(best, as_good, worse, question, decide)
    if rival:
        kind = "compute" if rival.way.of_compute else "size"
        sure += f" The laws by {kind} take `{rival.name}` instead: the laws contradict each other."
    unknown = best.way.strategy == "cpt" and best.source_loss is None and not question.replay
    return Recommendation(
        index=next(i for i, option in enumerate(options) if option is best),
        option=best,
        why=_why(best, ranked, question),
        sure=sure,
        share=share,
        as_good=as_good,
        flat_range=_flat_range(best),
        replay=_about_replay(best, options, question, starting),
        replay_share=_ADVISED_SHARE if unknown else best.way.replay,
        rival=rival,
        repeats_decide=decide,
    )


def _ranked(options: Sequence[Option], question: Question, starting: float | None) -> list[Option]:
    """The best first: the lowest loss, or the fewest FLOPs to a loss.

    Of laws by size, or else by compute, if they speak of both strategies; else of all. Of every way
    with the smallest share of replay that keeps the source language, or the one that loses least.
    """
    kinds = ([o for o in options if o.way.of_compute == kind] for kind in (False, True))
    ways: dict[object, list[Option]] = {}
    both = (like for like in kinds if len({o.way.strategy for o in like}) == 2)
    for option in next(both, options):
        ways.setdefault(option.way.key, []).append(option)
    rivals = []
    for group in ways.values():
        rises = {i: r for i, o in enumerate(group) if (r := _rise(o, starting)) is not None}
        kept = [i for i, rise in rises.items() if rise <= _allowed(question)]
        rivals.append(group[kept[0] if kept else min(rises, key=lambda i: rises[i], default=0)])
    return sorted(rivals, key=lambda one: one.loss if question.flops else one.flops)


def _allowed(question: Question) -> float:
    """The rise of the source loss that counts as keeping the language."""
    return (KEPT if question.keep is None else question.keep) + _ROUNDING


def _rise(option: Option, starting: float | None) -> float | None:
    """The share by which the source loss rises, negative where it falls; None: not known."""
    if option.source_loss is None or starting is None:
        return None
    return option.source_loss / starting - 1.0


def _why(best: Option, ranked: Sequence[Option], question: Question) -> str:
    first, others, way = ranked[0], [one for one in ranked if one is not best], best.way
    start = f"Continue from {f'`{way.base.name}`' if way.base else 'a base'}"
    parts = ["Train from scratch" if way.strategy == "scratch" else start]
    parts += [f" with {way.replay * 100:g}% replay"] if way.replay else []
    if best.params and best.tokens:
        parts.append(f", {show_count(best.params)} parameters on {show_count(best.tokens)} tokens")
    if question.target_loss is not None:
        parts.append(f": {best.flops:.3g} FLOPs reach a loss of {question.target_loss:g}")
        parts += [f", {o.flops:.3g} would by `{o.name}`" for o in others[:1]]
    else:
        parts.append(f": a loss of {best.loss:.4g} nats per token")
        for other in others[:1]:
            alike = abs(other.flops / best.flops - 1.0) < 0.01
            flops = "the same" if alike else f"{other.flops:.3g}"
            parts.append(f", against {other.loss:.4g} by `{other.name}` for {flops} FLOPs")
    parts.append(".")
    if first is not best:
        more = f"{best.loss / first.loss - 1.0:.2%} more, which hardly matters"
        parts.append(f" That is {more}, and a smaller model is cheaper to use.")
    if best.compute_saved is not None and best.compute_saved > 0:
        ends, needed = best.compute_saved_interval, best.flops_from_scratch
        between = f"(95 %: {ends[0]:.0%} to {ends[1]:.0%}) " if ends else ""
        parts.append(f" From scratch the same loss takes {needed:.3g} FLOPs, so that ")
        parts.append(f"{best.compute_saved:.0%} {between}is saved.")
    if not others and not way.settled and best.params:
        parts.append(" Of all sizes this one learns most from that compute.")
    return "".join(parts)


def _certainty(
    best: Option,
    as_good: Sequence[Option],
    worse: Sequence[Option],
    question: Question,
    repeats_decide: bool,
) -> tuple[float | None, str]:
    """The share of draws in which the best beats all of the worse, and how sure that is in words.

    The share is None without draws, or without a worse one.
    """
    way, share, parts = best.way, None, []
    thin = "; ".join(dict.fromkeys(c.sentence for c in way.law.warnings if c.code == _THIN))
    doubts = [f"the law `{way.law_name}` is shaky ({thin})"] if thin else []
    doubts += ["the rule for repeated text decides, which no share counts"] * repeats_decide
    if doubts:
        parts.append(f"less than it looks: {', and '.join(doubts)}")
    if as_good:
        names = _listed([one.name for one in (best, *as_good)])
        parts.append(f"{names} come within {FLAT:.1%}: it hardly matters which")
    if worse and all(option.way.law.draws for option in (best, *worse)):
        draws = [
            option.way.loss_draws(np.array(option.flops))
            if question.target_loss is None
            else option.way.compute_draws(question.target_loss, near=option.flops)
            for option in (best, *worse)
        ]
        count = min(len(values) for values in draws)
        own, others = draws[0][:count], np.stack([values[:count] for values in draws[1:]])
        wins = np.isfinite(own) & (own <= others)  # what never gets there does not win
        share = float(wins.all(0).mean())
        fits = f"{len(next(iter(way.law.draws.values()))):,} resampled fits"
        unclear = {
            o.name: p for o, p in zip(worse, wins.mean(1).tolist(), strict=True) if p < _SURE
        }
        if unclear:
            nearest = "against the nearest of them " if len(unclear) > 1 else ""
            parts.append(
                f"`{best.name}` cannot be told apart from {_listed(list(unclear))}: {nearest}"
                f"it comes out better in {min(unclear.values()):.1%} of {fits}"
            )
        else:
            rest = f"`{worse[0].name}`" if len(worse) == 1 else "each of the others"
            parts.append(f"in {share:.1%} of {fits} `{best.name}` comes out better than {rest}")
    elif worse:
        rest = "for the others it is " if as_good else ""
        parts.append(f"{rest}not known: the laws have no intervals")
    elif not as_good:
        none = "" if way.law.draws else ", and the law has no intervals"
        parts.append(f"there is no other option to weigh it against{none}")
    if best.params_interval:
        low, high = (show_count(end) for end in best.params_interval)
        parts.append(f"the best size lies between {low} and {high} (95 %)")
    if best.farthest:
        parts.append(f"it is a projection, {best.farthest}")
    return share, " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


def _listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`; of many the first few."""
    shown = [f"`{name}`" for name in names[:_NAMED]]
    shown += [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _about_replay(
    best: Option, options: Sequence[Option], question: Question, starting: float | None
) -> str:
    """What share of source text to mix in, and why."""
    way, change = best.way, _rise(best, starting)
    if way.strategy == "scratch":
        return ""
    if change is None:
        return _REPLAY["unknown"]
    kept, sure, cost = change <= _allowed(question), "", ""
    if way.advice and way.advice.interval is None:
        sure = " How sure that share is, is not known: the law has no intervals."
    elif way.advice and way.advice.interval:
        low, high = way.advice.interval
        sure = f" It lies between {low * 100:.2g}% and {high * 100:.2g}% (95 %)."
        if math.isinf(high):
            sure = f" It may be as little as {low * 100:.2g}%, and no share may suffice (95 %)."
    without = [one for one in options if not one.way.replay and one.way.key == way.key]
    if way.replay and without:
        cost = f", and the target loss is {best.loss:.4g} instead of {without[0].loss:.4g}"
    case = "no share" if not kept else "least" if way.replay else "none"
    end = f"the source loss goes from {starting:.3f} to {best.source_loss:.3f} ({change:+.1%})"
    within = f"within {(_allowed(question) - _ROUNDING) * 100:g}%"
    share = f"{way.replay * 100:g}%"
    return _REPLAY[case].format(within=within, end=end, share=share, cost=cost, sure=sure)


def _flat_range(option: Option) -> FlatRange | None:
    """The sizes about the best that lose next to nothing; None where size is no choice."""
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
