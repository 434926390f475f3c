"""Which ways the laws in hand speak of: from scratch, and continued from each base."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws import preset
from tongues.laws.inverse import LeastReplay, find_replay
from tongues.plan.laws import LawsInHand, of_compute
from tongues.plan.question import USUAL_RATIO, Question
from tongues.plan.ways import Repeats, Way, without_repeats

__all__ = ["comparison", "doubts", "starting_loss", "ways_of"]

_BORROWED = "muennighoff2023"  # whose value of repeats is used where no law in hand has one
_REPLAY = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
_FAR = 2.0  # times the usual ratio beyond which a base is another kind of base
_ROUNDS = 50
_CLOSE = 1e-6
_DIGITS = 2  # of a share, which is rounded up to them


def ways_of(laws: LawsInHand, question: Question) -> list[Way]:
    """Every way of the laws in hand, continued ones from every base and at every replay share.

    A UserError when a share is sought that keeps the source language, and there is none.
    """
    ways = list(_plain_ways(laws, question))
    shares = question.replay or (_REPLAY if laws.find("forgetting") else (0.0,))
    kept = {} if question.keep is None else _shares_to_keep(ways, laws, question, question.keep)
    every: list[Way] = []
    for way in ways:
        if way.strategy == "scratch":
            every.append(way)
            continue
        advice = kept.get(way.name)
        wanted: set[float] = {*shares} | ({advice.share} if advice else set())
        for share in sorted(wanted):
            name = f"{way.name}, {share * 100:g}% replay" if share else way.name
            sought = advice if advice and advice.share == share else None
            every.append(replace(way, name=name, replay=share, advice=sought))
    return every


def _plain_ways(laws: LawsInHand, question: Question) -> Iterator[Way]:
    """Every way without replay."""
    repetition, scratch, cpt = (laws.find(role) for role in ("repetition", "scratch", "cpt"))
    unseen = scratch.law if scratch else without_repeats(repetition.law) if repetition else None
    repeats = None
    if not math.isinf(question.available):
        law = repetition.law if repetition else preset(_BORROWED)
        repeats = Repeats(
            unique=question.available,
            R_D=law.params["R_D"],
            R_N=law.params["R_N"],
            draws={name: law.draws[name] for name in ("R_D", "R_N") if name in law.draws},
            fallback=unseen or without_repeats(law),
            borrowed="" if repetition else _BORROWED,
        )
    settled = {"params": question.params, "tokens": question.tokens, "repeats": repeats}
    if unseen and (known := scratch or repetition):
        yield Way("scratch", "scratch", known.name, unseen, **settled)
    if known := laws.find("scratch by compute"):
        yield Way("scratch, by compute alone", "scratch", known.name, known.law)
    if cpt:
        way = Way("cpt", "cpt", cpt.name, cpt.law, **settled)
        for base in question.bases:
            yield replace(way, name=f"cpt from {base.name}", base=base, params=base.params)
        if not question.bases:
            yield way
    if known := laws.find("cpt by compute"):
        yield Way("cpt, by compute alone", "cpt", known.name, known.law)


def comparison(way: Way, ways: list[Way]) -> Way | None:
    """What a continued way is measured against: training from scratch, at its best sizes.

    At the same size where that was settled for both; a base's size is no such choice.
    """
    scratch = [one for one in ways if one.strategy == "scratch"]
    like = [one for one in scratch if one.of_compute == way.of_compute] or scratch
    if way.strategy == "scratch" or not like:
        return None
    return replace(like[0], params=None if way.base else like[0].params, tokens=None)


def doubts(laws: LawsInHand, question: Question) -> Iterator[Caution]:
    """What about the laws and bases together a reader must know."""
    by_size, by_compute = laws.find("cpt"), laws.find("cpt by compute")
    forgetting = laws.find("forgetting")
    if question.bases and not by_size:
        what = "no law of continued training is in hand"
        if by_compute:
            what = f"`{by_compute.name}` knows compute alone, not the size of a base"
        yield Caution("bases_unused", f"{what}; give a `cpt` law by `--law` to weigh the bases")
    for known in laws.known:
        if of_compute(known.law) and not math.isinf(question.available):
            what = f"`{known.name}` knows compute alone and not how often text is read; "
            yield Caution("available_unused", what + "--available-tokens changes nothing about it")
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
    if question.replay and not forgetting:
        what = "what replay keeps of the source language is not told: no forgetting law is in hand"
        yield Caution("no_forgetting_law", what)
    if forgetting and (by_size or by_compute) and not question.source_loss:
        middle = starting_loss(laws, question)
        if middle:
            yield Caution(
                "source_loss_assumed",
                f"assumed: the base starts from a loss of {middle:.3f} on its own language, the "
                "middle of what the forgetting law was fitted on; give yours by --source-loss",
            )
        else:
            what = "what replay keeps is not told: give the base's loss on its own language by "
            yield Caution("source_loss_missing", what + "--source-loss")


def starting_loss(laws: LawsInHand, question: Question) -> float | None:
    """The base's loss on its own language: as given, else the middle of the law's range."""
    forgetting = laws.find("forgetting")
    if question.source_loss or forgetting is None or "S" not in forgetting.law.range:
        return question.source_loss
    low, high = forgetting.law.range["S"]
    return math.sqrt(low * high)


def _shares_to_keep(
    ways: Sequence[Way], laws: LawsInHand, question: Question, tolerance: float
) -> dict[str, LeastReplay]:
    """For each continued way, by its name, the least share that keeps the source language.

    Ways that no share keeps are left out; a UserError when none is left, or what is missing.
    """
    known, starting = laws.find("forgetting"), starting_loss(laws, question)
    continued = [way for way in ways if way.strategy == "cpt" and not way.of_compute]
    if known is None:
        what, code = "no law in hand tells what replay keeps", "no_forgetting_law"
        hint = "fit one to your runs by `tongues fit --law forgetting`, and give it by `--law`"
        raise UserError(what, where="--keep", hint=hint, code=code)
    if starting is None:
        what, code = "the base's loss on its own language is not known", "source_loss_missing"
        raise UserError(what, where="--keep", hint="give it by --source-loss", code=code)
    if not continued:
        what = "no law by size and tokens tells of continued training"
        raise UserError(what, where="--keep", hint="give a `cpt` law by `--law`", code="no_cpt_law")
    kept: dict[str, LeastReplay] = {}
    refusals: list[UserError] = []
    for way in continued:
        advice = LeastReplay(0.0, None)
        try:
            for _ in range(_ROUNDS):  # the run's tokens themselves depend on the share
                mixed = replace(way, replay=advice.share)
                budget = question.flops or mixed.compute(question.target_loss or math.nan)
                tokens = float(mixed.sizes(np.array(budget))[1])
                if not math.isfinite(tokens):
                    what = f"`{way.name}` does not get there with {advice.share * 100:.2g}% of "
                    hint = "ask for a higher loss"
                    raise UserError(what + "replay", hint=hint, code="loss_out_of_reach")
                before, advice = advice, find_replay(known.law, tolerance, tokens, starting)
                if abs(advice.share - before.share) <= _CLOSE:
                    break
        except UserError as error:
            refusals.append(error)
            continue
        if advice.share:  # rounded up: 7.31 % is 7.4 %
            step = 10.0 ** (math.floor(math.log10(advice.share)) + 1 - _DIGITS)
            share = f"{math.ceil(advice.share / step - _CLOSE) * step:.{_DIGITS}g}"
            advice = replace(advice, share=float(share))
        kept[way.name] = advice
    if not kept:
        first = refusals[0]
        raise UserError(first.what, where="--keep", hint=first.hint, code=first.code)
    return kept
