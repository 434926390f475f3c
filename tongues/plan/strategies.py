"""The ways of training that the laws describe: from scratch, and continued from each base."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws import Law, preset
from tongues.laws.uncertainty import percentiles
from tongues.plan.bases import BaseCheckpoint, known_bases
from tongues.plan.laws import Known, PlanLaws, of_compute, published_law
from tongues.plan.published import Project, usual_replay
from tongues.plan.question import USUAL_RATIO, Question
from tongues.plan.ways import LeftOut, Repeats, ReplayAdvice, Way, predictions, without_repeats

KEPT = 0.02  # rise of the source loss that counts as keeping the language where none is given
LIKELY = 0.9  # probability with which a share of replay must keep it
_BORROWED = "muennighoff2023"  # whose value of repeats is used where no law here has one
_BORROWED_CPT = "zheng2024-cpt"
# Epochs after which repeats no longer help: from scratch they are worth little after 16
# (Muennighoff et al. 2023), best are 15 to 20 in mixtures (arXiv 2605.12715); of the published
# projects that continued a base none read its text more than 5 times and gained by it.
_MOST_EPOCHS = {"scratch": 16.0, "cpt": 5.0}
_MOST_REPLAY, _SHARES = 0.95, 951  # in steps of 0.1 %
_ALIKE = math.log(1.25)  # tokens that count as the same length
_SCATTER = 0.004  # of the log loss of one run, as `tongues.laws.predict` presumes
_SAME = 0.05  # of its parameters, within which a base may be that of the experts
_FAR = 2.0  # times the usual ratio beyond which a base is another kind of base
_ROUNDS = 20
_CLOSE = 1e-6


def ways_of(
    laws: PlanLaws, question: Question, projects: Sequence[Project]
) -> tuple[list[Way], list[LeftOut]]:
    """Every way that the laws describe, continued ones from every base and with shares of replay.

    And why bases are left out: no share keeps the source language. A UserError where that is all.
    """
    forgetting, starting = laws.find("forgetting"), starting_loss(laws)
    ways: list[Way] = []
    refusals: list[tuple[LeftOut, UserError]] = []
    for way in _plain_ways(laws, question):
        if way.strategy == "scratch" or way.experts:
            ways.append(way)
            continue
        shares: dict[float, ReplayAdvice | None] = dict.fromkeys(question.replay)
        if forgetting and starting is not None and not way.of_compute:
            try:
                advice = _share_to_keep(way, forgetting, starting, question)
                shares = {0.0: None} | shares | {advice.share: advice}
            except UserError as error:
                left = LeftOut(error.code, way.name, way.strategy, error.what)
                refusals.append((left, error))
                if question.max_forgetting is not None:
                    continue
        if not shares:
            usual = question.may_forget(way.base) or question.max_forgetting is not None
            shares[usual_replay(projects)[0] if usual else 0.0] = None
        for share, advice in sorted(shares.items()):
            name = f"{way.name}, {share * 100:g}% replay" if share else way.name
            ways.append(replace(way, name=name, replay=share, advice=advice))
    if refusals and not any(way.strategy == "cpt" for way in ways):
        left, error = refusals[0]
        raise UserError(left.sentence, where=error.where, hint=error.hint, code=error.code)
    if question.max_forgetting is not None and not any(way.strategy == "cpt" for way in ways):
        hint = "name a base by --base, or give a `cpt` law by --law"
        what = "nothing is forgotten where nothing is continued"
        raise UserError(what, where="--max-forgetting", hint=hint, code="no_cpt_law")
    told = refusals if question.max_forgetting is not None else []
    return ways, [left for left, _ in told]


def _plain_ways(laws: PlanLaws, question: Question) -> Iterator[Way]:
    scratch, cpt = laws.all("scratch"), laws.all("cpt")
    by_compute = {name: laws.all(f"{name} by compute") for name in ("scratch", "cpt")}
    repetition = laws.find("repetition")
    if repetition and not scratch:
        unseen = replace(repetition, law=without_repeats(repetition.law), strategy="scratch")
        scratch = (unseen,)
    if question.bases and not (cpt or by_compute["cpt"] or laws.find("experts")):
        cpt = (published_law(_BORROWED_CPT),)
    free = question.params is None and question.tokens is None
    yield from _expert_ways(laws.find("experts"), question)
    if scratch:
        others = by_compute["scratch"] if free else ()
        repeats = _repeats(repetition, scratch[0].law, question, None, "scratch")
        way = Way("scratch", "scratch", (*scratch, *others), params=question.params)
        yield replace(way, tokens=question.tokens, repeats=repeats)
    elif by_compute["scratch"]:
        yield Way("scratch, by compute alone", "scratch", by_compute["scratch"])
    fallback = (scratch or cpt or (None,))[0]
    if cpt:
        for base in question.bases or (None,):
            others = by_compute["cpt"] if free and base is None else ()
            law = fallback.law if fallback else None
            repeats = _repeats(repetition, law, question, base, "cpt")
            way = Way("cpt", "cpt", (*cpt, *others), params=question.params, repeats=repeats)
            way = replace(way, tokens=question.tokens)
            if "S" in way.law.equation.variables:
                way = replace(way, start=question.base_loss or _middle(way.law, "S"))
                way = replace(way, params=way.params or _middle(way.law, "N"))
            if base:
                name = base.name.split("/")[-1] if base.name in known_bases() else base.name
                way = replace(way, name=f"cpt from {name}", base=base, params=base.params)
                way = replace(way, own_tokens=question.own_tokens(base))
            yield way
    elif by_compute["cpt"]:
        yield Way("cpt, by compute alone", "cpt", by_compute["cpt"])


def _middle(law: Law, variable: str) -> float | None:
    return math.sqrt(math.prod(law.range[variable])) if variable in law.range else None


def _expert_ways(known: Known | None, question: Question) -> Iterator[Way]:
    """One model and each number of experts that the runs had, from their base."""
    params = _middle(known.law, "N") if known else None
    if known is None or params is None or question.params not in (None, params):
        return
    like = [base for base in question.bases if abs(base.params / params - 1.0) < _SAME]
    if question.bases and not like:
        return
    base = like[0] if like else BaseCheckpoint("the base of the experts", params)
    rows, ends = known.law.rows, known.law.range["k"]
    for k in sorted({int(count) for count in (rows.variables["k"] if rows else ends)}):
        way = Way("dense" if k == 1 else f"{k} experts", "cpt", (known,), base=base, experts=k)
        start = question.base_loss or _middle(known.law, "S")
        yield replace(way, params=params, tokens=question.tokens, start=start)


def _repeats(
    repetition: Known | None,
    fallback: Law | None,
    question: Question,
    base: BaseCheckpoint | None,
    strategy: str,
) -> Repeats | None:
    unique = question.unique(base)
    if math.isinf(unique):
        return None
    law = repetition.law if repetition else preset(_BORROWED)
    most = _MOST_EPOCHS[strategy]
    for known in (repetition.law if repetition else None, fallback):
        if known and known.rows and _knows_repeats(known, strategy):
            epochs = known.rows.variables["D"] / known.rows.variables["U"]
            most = max(most, float(epochs.max()))  # as far as the law's own runs went
    return Repeats(
        unique=unique,
        R_D=law.params["R_D"],
        R_N=law.params["R_N"],
        most=most,
        fallback=fallback,
        borrowed="" if repetition or _knows_repeats(fallback, strategy) else _BORROWED,
    )


def _knows_repeats(law: Law | None, strategy: str) -> bool:
    return strategy == "scratch" and law is not None and "U" in law.equation.variables


def comparison(way: Way, ways: Sequence[Way]) -> Way | None:
    """What a continued way is measured against: training from scratch, at its best sizes.

    At the same size where that was settled for both; that of a base was not chosen.
    """
    scratch = [one for one in ways if one.strategy == "scratch"]
    other_text = way.experts and scratch and scratch[0].law.target != way.law.target
    if way.strategy == "scratch" or not scratch or other_text:
        return None
    return replace(scratch[0], params=None if way.base else scratch[0].params, tokens=None)


def law_cautions(laws: PlanLaws, question: Question) -> Iterator[Caution]:
    """Cautions about the combination of laws and bases."""
    by_size, by_compute = laws.find("cpt"), laws.find("cpt by compute")
    forgetting = laws.find("forgetting")
    if question.bases and by_compute and not by_size:
        what = f"`{by_compute.name}` knows compute alone, not the size of a base; give a `cpt` law "
        yield Caution("bases_unused", what + "by `--law` to weigh the bases")
    if question.bases and not (by_size or by_compute or laws.find("experts")):
        what = f"no law of continued training was given, so `{_BORROWED_CPT}` is taken; it is of "
        yield Caution("borrowed_cpt", what + "other text and another tokenizer")
    for known in laws.known:
        if of_compute(known.law) and not math.isinf(question.unique(None)):
            what = f"`{known.name}` knows compute alone and not how often text is read; "
            yield Caution("available_unused", what + "the available text changes nothing about it")
    if (by_size or by_compute) and not (by_size and question.bases):
        yield Caution(
            "base_presumed",
            "continued training presumes a base of that very size, trained on the source language; "
            "what the base cost is not counted. Name those you may start from by --base",
        )
    for base in question.bases:
        if far_base(base):
            yield Caution("overtrained_base", far_base(base))
    if any(question.replay) and not forgetting:
        what = "what replay keeps of the source language is not known without a forgetting law"
        yield Caution("no_forgetting_law", what)
    if forgetting and (by_size or by_compute):
        middle = starting_loss(laws)
        if middle:
            yield Caution(
                "source_loss_assumed",
                f"assumed: the base starts from a loss of {middle:.3f} on its own language, the "
                "middle of what the forgetting law was fitted on",
            )
        else:
            what = "what replay keeps is not known: the forgetting law does not say from which "
            yield Caution("source_loss_missing", what + "losses its runs began")


def far_base(base: BaseCheckpoint) -> str:
    """Why laws of continued training do not apply to a base; empty where they may."""
    if not base.ratio > _FAR * USUAL_RATIO:
        return ""
    return (
        f"`{base.name}` has read {base.ratio:,.0f} tokens per parameter, and laws of continued "
        f"training are fitted on bases at about {USUAL_RATIO:.0f}"
    )


def starting_loss(laws: PlanLaws) -> float | None:
    """The base's loss on its own language: the middle of those that the law's runs began with."""
    forgetting = laws.find("forgetting")
    if forgetting is None or "S" not in forgetting.law.range:
        return None
    low, high = forgetting.law.range["S"]
    return math.sqrt(low * high)


def _share_to_keep(
    way: Way, forgetting: Known, starting: float, question: Question
) -> ReplayAdvice:
    """The least share of replay with which a way keeps the source language, in steps of 0.1 %.

    With a probability of `LIKELY`. The run's tokens depend on the share.
    """
    tolerance = KEPT if question.max_forgetting is None else question.max_forgetting
    where, grid = "--max-forgetting", np.linspace(0.0, _MOST_REPLAY, _SHARES)
    advice = ReplayAdvice(0.0, 0.0, (0.0, 0.0), outside=False)
    for _ in range(_ROUNDS):
        mixed = replace(way, replay=advice.share)
        budget = question.flops or mixed.compute(question.target_loss or math.nan)
        tokens = float(mixed.sizes(np.array(min(budget, mixed.most_flops())))[1])
        if not math.isfinite(tokens):
            what = f"it does not get there with {advice.share * 100:.2g}% of replay"
            hint = "ask for a higher loss"
            raise UserError(what, where=where, hint=hint, code="loss_out_of_reach")
        losses, measured = _source_losses(forgetting, tokens, starting, grid)
        kept = losses <= (1.0 + tolerance) * starting
        likely = kept.mean(0)
        if not (likely >= LIKELY).any():
            best = int(np.argmax(likely))
            raise UserError(
                f"no share of replay keeps the source's loss of {starting:.3f} "
                f"within {tolerance * 100:g}% over {tokens:.3g} tokens by this law with a "
                f"probability of {LIKELY:.0%}; {grid[best]:.0%} does in {likely[best]:.0%}",
                where=where,
                hint="allow a higher rise, or fewer tokens",
                code="cannot_keep",
            )
        index = int(np.argmax(likely >= LIKELY))
        share, before = float(f"{grid[index]:.3f}"), advice.share
        low, high = percentiles(np.where(kept.any(1), grid[np.argmax(kept, axis=1)], np.inf))
        outside = not measured[0] <= share <= measured[1]
        advice = ReplayAdvice(share, float(likely[index]), (float(low), float(high)), outside)
        if abs(share - before) <= _CLOSE:
            break
    return advice


def _source_losses(
    forgetting: Known, tokens: float, starting: float, grid: np.ndarray
) -> tuple[np.ndarray, tuple[float, float]]:
    """Draws of the source loss at each share, and the least and largest share that runs had.

    Between shares at which runs have read about as many tokens, what these measured, interpolated;
    elsewhere what the law predicts.
    """
    law = forgetting.law
    at = {"D": np.full_like(grid, tokens), "r": grid, "S": np.full_like(grid, starting)}
    one, losses = predictions(forgetting, at)
    scatter = one[:, :1] / losses[:, :1]  # of one run, at whatever share
    if law.rows is None:
        return losses * scatter, law.range.get("r", (0.0, 1.0))
    D, r, S = (law.rows.variables[name] for name in "DrS")
    off = np.abs(np.log(D / tokens))
    closest = {
        share: np.log(law.rows.loss / S)[(r == share) & (off == off[r == share].min())].mean()
        for share in np.unique(r)
        if off[r == share].min() <= _ALIKE
    }
    losses = losses * scatter
    if len(closest) > 1:
        shares = list(closest)
        between = (grid >= shares[0]) & (grid <= shares[-1])
        rises = np.interp(grid[between], shares, list(closest.values()))
        noise = np.random.default_rng(0).normal(size=(len(losses), 1))
        losses[:, between] = starting * np.exp(rises + _SCATTER * noise)
    return losses, (float(r.min()), float(r.max()))
