"""Which ways the laws in hand speak of: from scratch, and continued from each base."""

import math
from collections.abc import Iterator
from dataclasses import replace

from tongues.errors import Caution
from tongues.laws import Law, preset
from tongues.laws.replay import Advice
from tongues.plan.amounts import USUAL_RATIO
from tongues.plan.budget import Question
from tongues.plan.keep import shares_to_keep
from tongues.plan.laws import LawsInHand, of_compute
from tongues.plan.repeats import Repeats, without_repeats
from tongues.plan.ways import Way

__all__ = ["comparison", "doubts", "starting_loss", "ways_of"]

_BORROWED = "muennighoff2023"  # whose value of repeats is used where no law in hand tells it
_REPLAY = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
_FAR = 2.0  # times that ratio beyond which a base is another kind of base


def ways_of(laws: LawsInHand, question: Question) -> list[Way]:
    """Every way of the laws in hand, continued ones from every base and at every replay share.

    A UserError when a share is sought that keeps the source language, and there is none.
    """
    found = [*_from_scratch(laws, question), *_continued(laws, question)]
    forgetting, kept = laws.find("forgetting"), {}
    shares = question.replay or (_REPLAY if forgetting else (0.0,))
    if question.keep is not None:
        kept = shares_to_keep(
            found,
            forgetting.law if forgetting else None,
            tolerance=question.keep,
            starting=starting_loss(laws, question),
            flops=question.flops,
            target_loss=question.target_loss,
        )
    return [whole for way in found for whole in _with_replay(way, shares, kept.get(way.name))]


def comparison(way: Way, ways: list[Way]) -> Way | None:
    """What a continued way is measured against: training from scratch, at its best sizes.

    At the same size where that was settled for both; a base's size is no such choice.
    """
    scratch = [one for one in ways if one.strategy == "scratch"]
    like = [one for one in scratch if one.of_compute == way.of_compute] or scratch
    if way.strategy == "scratch" or not like:
        return None
    settled = None if way.base else like[0].params
    return replace(like[0], params=settled, tokens=None)


def doubts(laws: LawsInHand, question: Question) -> Iterator[Caution]:
    """What about the laws and bases together a reader must know."""
    by_size, by_compute = laws.find("cpt"), laws.find("cpt by compute")
    if question.bases and not by_size:
        what = (
            f"`{by_compute.name}` knows compute alone, not the size of a base"
            if by_compute
            else "no law of continued training is in hand"
        )
        yield Caution("bases_unused", f"{what}; give a `cpt` law by `--law` to weigh the bases")
    for known in laws.known:
        if of_compute(known.law) and not math.isinf(question.available):
            yield Caution(
                "available_unused",
                f"`{known.name}` knows compute alone and not how often text is read; "
                "--available-tokens changes nothing about it",
            )
    if (by_size or by_compute) and not (by_size and question.bases):
        yield Caution(
            "base_presumed",
            "continued training presumes a base of that very size, trained on the source language; "
            "what the base cost is not counted. Name those you may start from by --base",
        )
    for base in question.bases if by_size else ():
        if base.ratio > _FAR * USUAL_RATIO:
            yield Caution(
                "overtrained_base",
                f"`{base.name}` has read {base.ratio:,.0f} tokens per parameter; laws of continued "
                f"training are fitted on bases at about {USUAL_RATIO:.0f}, and how one this far "
                "beyond learns another language is not known",
            )
    if question.replay and not laws.find("forgetting"):
        yield Caution(
            "no_forgetting_law",
            "what replay keeps of the source language is not told: no forgetting law is in hand",
        )
    if laws.find("forgetting") and (by_size or by_compute) and not question.source_loss:
        middle = starting_loss(laws, question)
        yield Caution(
            "source_loss_assumed" if middle else "source_loss_missing",
            f"assumed: the base starts from a loss of {middle:.3f} on its own language, the middle "
            "of what the forgetting law was fitted on; give yours by --source-loss"
            if middle
            else "what replay keeps is not told: give the base's loss on its own language by "
            "--source-loss",
        )


def starting_loss(laws: LawsInHand, question: Question) -> float | None:
    """The base's loss on its own language: as told, else the middle of the law's range."""
    forgetting = laws.find("forgetting")
    if question.source_loss or forgetting is None or "S" not in forgetting.law.range:
        return question.source_loss
    low, high = forgetting.law.range["S"]
    return math.sqrt(low * high)


def _from_scratch(laws: LawsInHand, question: Question) -> Iterator[Way]:
    known, repeats = laws.find("scratch"), laws.find("repetition")
    law = known.law if known else without_repeats(repeats.law) if repeats else None
    if law:
        name = (known or repeats or laws.known[0]).name
        yield _by_size("scratch", name, law, laws, question)
    if by_compute := laws.find("scratch by compute"):
        yield Way("scratch, by compute alone", "scratch", by_compute.name, by_compute.law)


def _continued(laws: LawsInHand, question: Question) -> Iterator[Way]:
    if known := laws.find("cpt"):
        way = _by_size("cpt", known.name, known.law, laws, question)
        for base in question.bases:
            yield replace(way, name=f"cpt from {base.name}", base=base, params=base.params)
        if not question.bases:
            yield way
    if by_compute := laws.find("cpt by compute"):
        yield Way("cpt, by compute alone", "cpt", by_compute.name, by_compute.law)


def _by_size(strategy: str, name: str, law: Law, laws: LawsInHand, question: Question) -> Way:
    return Way(
        strategy,
        strategy,
        name,
        law,
        params=question.params,
        tokens=question.tokens,
        repeats=_repeats(laws, question),
    )


def _repeats(laws: LawsInHand, question: Question) -> Repeats | None:
    """The rule for text read again, by the law in hand, else by a published one."""
    if math.isinf(question.available):
        return None
    known, scratch = laws.find("repetition"), laws.find("scratch")
    law = known.law if known else preset(_BORROWED)
    return Repeats(
        unique=question.available,
        R_D=law.params["R_D"],
        R_N=law.params["R_N"],
        draws={name: law.draws[name] for name in ("R_D", "R_N") if name in law.draws},
        fallback=scratch.law if scratch else without_repeats(law),
        borrowed="" if known else _BORROWED,
    )


def _with_replay(way: Way, shares: tuple[float, ...], advice: Advice | None) -> Iterator[Way]:
    if way.strategy == "scratch":
        yield way
        return
    wanted = {*shares, advice.share} if advice else set(shares)
    for share in sorted(wanted):
        name = f"{way.name}, {share * 100:g}% replay" if share else way.name
        sought = advice if advice and advice.share == share else None
        yield replace(way, name=name, replay=share, advice=sought)
