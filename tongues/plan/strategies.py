"""Which ways the laws in hand speak of: from scratch, and continued from each base."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws import Law, preset
from tongues.laws.replay import Advice, advise_replay
from tongues.plan.laws import LawsInHand, of_compute
from tongues.plan.question import USUAL_RATIO, Question
from tongues.plan.repeats import Repeats, without_repeats
from tongues.plan.ways import Way

__all__ = ["comparison", "doubts", "starting_loss", "ways_of"]

_BORROWED = "muennighoff2023"  # whose value of repeats is used where no law in hand tells it
_REPLAY = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
_FAR = 2.0  # times that ratio beyond which a base is another kind of base
_ROUNDS = 50
_CLOSE = 1e-6
_DIGITS = 2  # of a share, which is rounded up to them


def ways_of(laws: LawsInHand, question: Question) -> list[Way]:
    """Every way of the laws in hand, continued ones from every base and at every replay share.

    A UserError when a share is sought that keeps the source language, and there is none.
    """
    found = [*_from_scratch(laws, question), *_continued(laws, question)]
    forgetting, kept = laws.find("forgetting"), {}
    shares = question.replay or (_REPLAY if forgetting else (0.0,))
    if question.keep is not None:
        kept = _shares_to_keep(
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


def _shares_to_keep(
    ways: Sequence[Way],
    law: Law | None,
    *,
    tolerance: float,
    starting: float | None,
    flops: float | None,
    target_loss: float | None,
) -> dict[str, Advice]:
    """For each continued way, by its name, the least share that keeps the source language.

    Ways that no share keeps are left out; a UserError when none is left, or nothing can be told.

    law: of forgetting. tolerance: rise of the source loss that is allowed. starting: that loss of
    the base, nats per token. flops, target_loss: what the ways are asked, as in a `Question`.
    """
    continued = [way for way in ways if way.strategy == "cpt" and not way.of_compute]
    if law is None:
        what, code = "no law in hand tells what replay keeps", "no_forgetting_law"
        hint = "fit one to your runs by `tongues fit --law forgetting`, and give it by `--law`"
        raise UserError(what, where="--keep", hint=hint, code=code)
    if starting is None:
        what, code = "the base's loss on its own language is not known", "source_loss_missing"
        raise UserError(what, where="--keep", hint="give it by --source-loss", code=code)
    if not continued:
        what = "no law by size and tokens tells of continued training"
        raise UserError(what, where="--keep", hint="give a `cpt` law by `--law`", code="no_cpt_law")
    found: dict[str, Advice] = {}
    refusals: list[UserError] = []
    for way in continued:
        try:
            found[way.name] = _least(way, law, tolerance, starting, flops, target_loss)
        except UserError as error:
            refusals.append(error)
    if not found:
        first = refusals[0]
        raise UserError(first.what, where="--keep", hint=first.hint, code=first.code)
    return found


def _least(
    way: Way,
    law: Law,
    tolerance: float,
    starting: float,
    flops: float | None,
    target_loss: float | None,
) -> Advice:
    """The share for the tokens of a run that itself depend on the share."""
    advice = Advice(0.0, None)
    for _ in range(_ROUNDS):
        mixed = replace(way, replay=advice.share)
        budget = flops or mixed.compute(target_loss or math.nan)
        tokens = float(mixed.sizes(np.array(budget))[1])
        if not math.isfinite(tokens):
            what = f"`{way.name}` does not get there with {advice.share * 100:.2g}% of replay"
            raise UserError(what, hint="ask for a higher loss", code="loss_out_of_reach")
        before, advice = advice, advise_replay(law, tolerance, tokens, starting)
        if abs(advice.share - before.share) <= _CLOSE:
            break
    return replace(advice, share=_rounded_up(advice.share))


def _rounded_up(share: float) -> float:
    """To two digits: 7.31 % is 7.4 %."""
    if share == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(share)) + 1 - _DIGITS)
    return float(f"{math.ceil(share / step - _CLOSE) * step:.{_DIGITS}g}")
