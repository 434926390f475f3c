"""Which option to take, why, how sure that is, and within what range it does not matter.

The rule, in order. What cannot be run has been left out. Laws that contradict each other or their
source, or that are of another kind of base, do not decide between training from scratch and
continuing; then published measurements do, if they agree. Among the options of the way decided on,
the cheapest whose loss is within `FLAT` of the lowest is taken.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.plan.options import FLAT, Layout, Option
from tongues.plan.published import Project, Verdict, usual_replay, verdict
from tongues.plan.question import Question
from tongues.plan.search import first_reached
from tongues.plan.strategies import KEPT, far_base, starting_loss
from tongues.plan.ways import FARTHEST, FARTHEST_RATIO
from tongues.quantities import show_count

_DECIDED = 0.8  # of the draws: from there laws decide between scratch and continuing
_WORTHWHILE = 0.8  # of the compute: stopping early must save a fifth, or hours are off by more
_ROUNDING = 1e-6  # of a share, and so of the rise it leads to
_SMALLER = 1.1  # times, from where a model counts as smaller
_FAR = 1e4  # times, from the best size or the budget
_SURE = 0.95
_NAMED = 4  # options named in one sentence
_THIN = "few_runs"  # caution of a law that rests on little


@dataclass(frozen=True, slots=True)
class FlatRange:
    """The sizes whose loss is within `FLAT` of the lowest for the same FLOPs, and their tokens.

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

    decided: False where neither laws nor published measurements decide; the option is then only
        the one that the laws put first.
    by: what decides: `laws` or `published`; empty where nothing does.
    why, sure: in words. share: of the draws in which it is better than every option that is not as
    good as it; None where there is nothing to win against. best: the option of the lowest loss.
    as_good: the others within `FLAT` of it. replay: what to mix in. verdict: what published
    projects say, where they were asked.
    """

    index: int
    option: Option
    decided: bool
    by: str
    why: str
    sure: str
    share: float | None
    best: Option
    as_good: tuple[Option, ...]
    flat_range: FlatRange | None
    replay: str
    verdict: Verdict | None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "option": self.index,
            "name": self.option.name,
            "decided": self.decided,
            "by": self.by or None,
            "why": self.why,
            "sure": self.sure,
            "share_of_draws": self.share,
            "best": self.best.name,
            "as_good": [option.name for option in self.as_good],
            "flat_range": self.flat_range and self.flat_range.to_json(),
            "replay": self.replay or None,
            "replay_share": self.option.way.replay,
            "projects": [str(one) for one in self.verdict.nearest] if self.verdict else [],
        }


def recommend(
    layout: Layout, options: Sequence[Option], projects: Sequence[Project]
) -> tuple[Recommendation, tuple[Option, ...]]:
    """The option to take, and all options: with it where it stops earlier than those laid out."""
    question, starting = layout.question, starting_loss(layout.laws)
    ranked = _ranked(options, question)
    decided, by, reason, judged = _strategy(ranked, question, projects)
    ranked = [one for one in ranked if by != "published" or one.way.strategy == "cpt"]
    best, flops = ranked[0], np.array(ranked[0].flops)
    most = best.loss * (1.0 + FLAT)
    near = [o for o in ranked if (o.loss if question.flops else o.way.loss(flops)) <= most]
    taken = _cheapest(layout, near, most) if question.flops else best
    every = list(options)
    if taken.early:
        every.insert(1 + next(i for i, o in enumerate(every) if o.way == taken.way), taken)
    as_good = tuple(o for o in near if o.way != taken.way)
    worse = [o for o in ranked if o not in near]
    share, sure = _certainty(taken, as_good, worse, question)
    taken_at = next(i for i, option in enumerate(every) if option is taken)
    return Recommendation(
        index=taken_at,
        option=taken,
        decided=decided,
        by=by,
        why=" ".join(filter(None, (_advice(taken, best, ranked, question, decided), reason))),
        sure=sure if by == "laws" else "",
        share=share,
        best=best,
        as_good=as_good,
        flat_range=_flat_range(taken) if decided else None,
        replay=_about_replay(taken, question, starting, projects),
        verdict=judged,
    ), tuple(every)


def _ranked(options: Sequence[Option], question: Question) -> list[Option]:
    """The best first: the lowest loss, or the fewest FLOPs to a loss.

    Of every way with the share of replay that was sought, or else the one that forgets least.
    """
    ways: dict[object, list[Option]] = {}
    for option in options:
        ways.setdefault(option.way.key, []).append(option)
    rivals = [
        min(group, key=lambda one: (one.way.advice is None, one.source_loss or 0.0))
        for group in ways.values()
    ]
    return sorted(rivals, key=lambda one: one.loss if question.flops else one.flops)


def _strategy(
    ranked: Sequence[Option], question: Question, projects: Sequence[Project]
) -> tuple[bool, str, str, Verdict | None]:
    if other := _other_text(ranked):
        return False, "", other, None
    first = {option.way.strategy: option for option in reversed(ranked)}
    judged = _judge(first["cpt"], question, projects) if "cpt" in first else None
    base = (first["cpt"].way.base or next(iter(question.bases), None)) if "cpt" in first else None
    if base and question.knows_already(base):
        what = f"`{base.name}` knows `{question.language}` already, and projects that continued on "
        what += "a language their base knew gained little or lost: measure the base first, and "
        what += f"give its loss on your text by --base-loss, in {question.unit}."
        return False, "", what, judged
    if question.bases and "cpt" not in first:
        what = "No base that was named can be taken, which does not make a model from scratch the "
        return False, "", f"{what}better one: look at why, and for another base.", None
    if len(first) == 1:
        if judged and (ranked[0].tokens or 0.0) > judged.overtaken[1]:
            return False, "", f"{judged.why[0].upper()}{judged.why[1:]}.", judged
        return True, "laws", "", None
    scratch, cpt = first["scratch"], first["cpt"]
    conflict = _conflict(scratch, cpt)
    share = float(_wins(cpt, [scratch], question)[0].mean())
    at = [float(one.way.loss(np.array(ranked[0].flops))) for one in (scratch, cpt)]
    similar = max(at) <= min(at) * (1.0 + FLAT)
    if not conflict and (similar or max(share, 1.0 - share) >= _DECIDED):
        return True, "laws", "", None
    if not conflict:
        conflict = f"continuing ends lower in {share:.0%} of their draws"
    if judged and judged.continues:
        return True, "published", f"The laws do not decide: {conflict}. {judged.why}.", judged
    what = f" Published projects do not either: {judged.why}." if judged else ""
    return False, "", f"{conflict[0].upper()}{conflict[1:]}.{what}", judged


def _other_text(ranked: Sequence[Option]) -> str:
    """Why laws of experts and of single models do not compare; empty where they do."""
    experts = {one.name: one.law.target for o in ranked if o.way.experts for one in o.way.laws}
    others = [one for o in ranked if not o.way.experts for one in o.way.laws]
    for one in others:
        if experts and (one.study or one.law.target not in experts.values()):
            names = f"`{next(iter(experts))}` and `{one.name}`"
            return f"{names} are of different text or tokenizers: their losses do not compare."
    return ""


def _judge(cpt: Option, question: Question, projects: Sequence[Project]) -> Verdict | None:
    base = cpt.way.base or next(iter(question.bases), None)
    if base is None or cpt.way.strategy == "scratch" or cpt.way.experts:
        return None
    return verdict(projects, base.params, cpt.tokens or cpt.flops / (6.0 * base.params))


def _conflict(scratch: Option, cpt: Option) -> str:
    laws = (*scratch.way.laws, *cpt.way.laws)
    reasons = [one.contradiction for one in laws if one.contradiction]
    if len({one.study for one in laws}) > 1:
        names = " and ".join(f"`{one.name}`" for one in laws)
        reasons.append(f"{names} are of different text and tokenizers")
    reasons += [
        f"`{one.name}` is a projection, {one.farthest}" for one in (scratch, cpt) if _far(one)
    ]
    if scratch.way.of_compute != cpt.way.of_compute:
        reasons.append("one law is of size and tokens, the other of compute alone")
    if cpt.way.base and far_base(cpt.way.base):
        reasons.append(far_base(cpt.way.base))
    return "; ".join(dict.fromkeys(reasons))


def _far(option: Option) -> bool:
    """Whether an option is so far from the runs of its law that this knows nothing of it."""
    beyond, within = option.beyond or {}, 0.99  # sizes that are held at an end count
    return (
        beyond.get("D/N", 0.0) > within * FARTHEST_RATIO or beyond.get("N", 0.0) > within * FARTHEST
    )


def _wins(best: Option, others: Sequence[Option], question: Question) -> np.ndarray:
    draws = [
        option.way.loss_draws(np.array(option.flops))
        if question.target_loss is None
        else option.way.compute_draws(question.target_loss, near=option.flops)
        for option in (best, *others)
    ]
    count = max(map(len, draws))
    own, rest = np.resize(draws[0], count), np.stack([np.resize(d, count) for d in draws[1:]])
    return np.isfinite(own) & (own <= rest)  # what never gets there does not win


def _cheapest(layout: Layout, near: Sequence[Option], most: float) -> Option:
    """The cheapest way to a loss of at most `most`, and of those similar the smallest model.

    A projection replaces nothing but a projection.
    """
    candidates: list[Option] = []
    for option in near:
        at_knee = not option.way.settled and option.flops < (layout.question.flops or 0.0)
        enough = math.inf if at_knee else option.enough(most)
        if enough < _WORTHWHILE * option.flops:
            option = layout.option(option.way, enough, early=True)
        candidates.append(option)
    best = candidates[0]
    candidates = [o for o in candidates if near[0].projection or not o.projection or o is best]
    least = min(option.flops for option in candidates) / _WORTHWHILE
    similar = [option for option in candidates if option.flops <= least]
    smallest = min(similar, key=lambda one: one.params or math.inf)
    if best in similar and (best.params or 0) <= (smallest.params or math.inf) * _SMALLER:
        return best
    return smallest


def _advice(
    taken: Option, best: Option, ranked: Sequence[Option], question: Question, decided: bool
) -> str:
    way, others = taken.way, [one for one in ranked if one.way != taken.way]
    base = f"Continue from {f'`{way.base.name}`' if way.base else 'a base'}"
    if way.experts:
        models = "one model on all languages" if way.experts == 1 else f"{way.experts} experts"
        base = f"Train {models} from {f'`{way.base.name}`' if way.base else 'a base'}"
    parts = ["Train from scratch" if way.strategy == "scratch" else base]
    parts = parts if decided else [f"Not decided by these laws, which put `{taken.name}` first"]
    parts += [f" with {way.replay * 100:g}% replay"] if way.replay and decided else []
    if taken.params and taken.tokens:
        parts.append(
            f", {show_count(taken.params)} parameters on {show_count(taken.tokens)} tokens"
        )
    if way.experts > 1 and taken.tokens:
        parts.append(f" in all, {show_count(taken.tokens / way.experts)} each")
    if taken.epochs and taken.epochs > 1:
        parts.append(f" ({taken.epochs:.3g} epochs)")
    unit = question.unit
    if question.target_loss is not None:
        loss = question.show_loss(question.target_loss)
        parts.append(f": {taken.flops:.3g} FLOPs reach a loss of {loss} {unit}")
        parts += [f", {o.flops:.3g} would by `{o.name}`" for o in others[:1]]
    else:
        parts.append(f": a loss of {question.show_loss(taken.loss)} {unit}")
        for other in others[:1]:
            similar = abs(other.flops / taken.flops - 1.0) < 0.01
            flops = "the same" if similar else f"{other.flops:.3g}"
            loss = question.show_loss(other.loss)
            parts.append(f", against {loss} by `{other.name}` for {flops} FLOPs")
    parts.append(".")
    if taken is not best and question.flops:
        more = best.flops / taken.flops
        costs = f"at {more:.2g} times the cost" if more > 1.01 else "with a larger model"
        lower = 1.0 - best.loss / taken.loss
        parts.append(
            f" `{best.name}` has the lowest loss, {question.show_loss(best.loss)}: {lower:.2%} "
            f"lower, {costs}."
        )
    if taken.compute_saved is not None and taken.compute_saved > 0 and decided:
        ends, needed = taken.compute_saved_interval, taken.flops_from_scratch
        between = f"(95 %: {ends[0]:.0%} to {ends[1]:.0%}) " if ends else ""
        parts.append(f" From scratch the same loss takes {needed:.3g} FLOPs, so that ")
        parts.append(f"{taken.compute_saved:.0%} {between}is saved.")
    return "".join(parts)


def _certainty(
    taken: Option, as_good: Sequence[Option], worse: Sequence[Option], question: Question
) -> tuple[float | None, str]:
    way, share, parts = taken.way, None, []
    thin = "; ".join(dict.fromkeys(c.sentence for c in way.law.warnings if c.code == _THIN))
    parts += [f"less than it looks: the law `{way.law_name}` is shaky ({thin})"] if thin else []
    if as_good:
        names = _listed([one.name for one in (taken, *as_good)])
        parts.append(f"{names} differ by less than {FLAT:.1%}, which does not matter")
    if worse:
        wins = _wins(taken, worse, question)
        share, draws = float(wins.all(0).mean()), f"(of {wins.shape[1]:,} draws of the laws)"
        better = f"`{taken.name}` has a lower {'loss' if question.target_loss is None else 'cost'}"
        unclear = {o.name: p for o, p in zip(worse, wins.mean(1), strict=True) if p < _SURE}
        if unclear:
            better += " than the closest of them" * (len(unclear) > 1)
            better += f" with probability {min(unclear.values()):.1%} {draws}"
            parts.append(f"there is no significant difference from {_listed([*unclear])}: {better}")
        else:
            rest = f"`{worse[0].name}`" if len(worse) == 1 else "each of the others"
            parts.append(f"{better} than {rest} with probability {share:.1%} {draws}")
    elif not as_good:
        parts.append("there is no other option to compare it with")
    if taken.params_interval:
        low, high = (show_count(end) for end in taken.params_interval)
        parts.append(f"the best size is between {low} and {high} (95 %)")
    if taken.farthest:
        parts.append(f"`{taken.name}` is a projection, {taken.farthest}")
    return share, " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[:_NAMED]]
    shown += [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _about_replay(
    taken: Option, question: Question, starting: float | None, projects: Sequence[Project]
) -> str:
    way, tolerance = taken.way, question.max_forgetting
    if way.strategy == "scratch" or way.experts or (way.base and not question.may_forget(way.base)):
        return ""
    if taken.source_loss is None or starting is None:
        share, replayed = usual_replay(projects)
        english = sorted(p.english for p in replayed if p.english is not None)
        limit = "" if tolerance is None else f"the limit of {tolerance * 100:g}% is NOT checked: "
        what = (
            f"{limit}no law here measures forgetting. {share:.0%} is the median of {len(replayed)} "
        )
        what += "published projects that replayed"
        if english:
            what += f"; English scores changed by {english[0]:+.0f} to {english[-1]:+.0f} points "
            what += f"(median {english[len(english) // 2]:+.0f})"
        if tolerance is not None:
            what += ". To check it, train small runs at two shares and fit `--law forgetting`"
        return f"{what}."
    allowed, change = KEPT if tolerance is None else tolerance, taken.source_loss / starting - 1.0
    within = f"within {allowed * 100:g}%"
    end = f"the source loss goes from {starting:.3f} to {taken.source_loss:.3f} ({change:+.1%})"
    if change > allowed + _ROUNDING:
        return f"{way.replay * 100:g}% does not keep the source language {within}: {end}."
    advice = way.advice
    if advice is None:
        return f"{way.replay * 100:g}% keeps the source language {within}: {end}."
    likely = f" with a probability of {advice.likely:.0%}"
    none = f"none is needed to keep the source language {within}{likely}"
    least = f"{way.replay * 100:g}% is the smallest share that keeps it {within}{likely}"
    outside = " It is outside the shares that the law was fitted on." if advice.outside else ""
    return f"{least if way.replay else none}: {end}.{outside}"


def _flat_range(option: Option) -> FlatRange | None:
    if option.params is None or option.way.settled:
        return None
    way, middle, flops = option.way, math.log(option.params), option.flops

    def loss(x: np.ndarray) -> np.ndarray:
        N = np.exp(x)
        return way.loss_of(N, flops / (6.0 * N))

    level = float(way.loss_of(np.array(option.params), flops / 6.0 / np.array(option.params)))
    level *= 1.0 + FLAT
    least = math.exp(first_reached(loss, level, middle - math.log(_FAR), middle))
    most = math.exp(-first_reached(lambda x: loss(-x), level, -middle - math.log(_FAR), -middle))
    return FlatRange((least, most), (flops / (6.0 * most), flops / (6.0 * least)), flops)
