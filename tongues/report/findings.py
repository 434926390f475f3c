"""The numbers of a study: what CPT saves, what it forgets, and the laws behind both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.laws import Comparison, Curve, Saving, savings
from tongues.laws.observed import RunCurves, curve_of_ends, gather, once, twin, usual_bases
from tongues.laws.targets import TargetLaws, compare_laws, fit_targets
from tongues.report.statistics import Unit, over_sizes
from tongues.roles import list_languages

__all__ = ["Findings", "Forgetting", "Nearer", "Pair", "ReplayEffect", "Transfer", "findings"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A CPT run and its twin from scratch, of the same target, shape, seed and number of tokens.

    Where no twin has that number of tokens, they are compared up to the end of the shorter.
    `saved` is the share of the twin's tokens that CPT did without, at the lowest loss both
    reached; one shape spends the same compute on every token, so it is the share of compute too.
    `ahead` is how far CPT's loss in the end lies below the twin's, in nats per token. `points` are
    the savings through training. `apart` is the loss on the target of the model it continues,
    before its first step, as a share of that of the twin's random weights: 1 where it knows no more
    than these. It knows nothing of how either run goes on.
    """

    cpt: RunCurves
    scratch: RunCurves
    saved: float | None
    reached: bool  # whether CPT got to the twin's final loss
    ahead: float
    points: tuple[Saving, ...]
    apart: float | None

    @property
    def saturated(self) -> bool:
        """Whether the source model had that loss before its first step: nothing more to save."""
        return bool(self.points) and self.points[-1].whole


@dataclass(frozen=True, slots=True)
class Transfer:
    """What CPT at one replay ratio saved on one target, over its pairs.

    by_ends: the share saved between final losses alone, where runs of several lengths allow it.
    """

    target: str
    replay: float
    pairs: tuple[Pair, ...]
    saved: Estimate | None
    ahead: Estimate
    by_ends: Estimate | None

    @property
    def equally_long(self) -> bool:
        """Whether each run is compared with a twin that ends where it does."""
        return all(pair.scratch.as_long_as(pair.cpt) for pair in self.pairs)

    @property
    def saturated(self) -> int:
        """Of how many pairs it cannot be told how much CPT saves, as there it saves all."""
        return sum(pair.saturated for pair in self.pairs)

    @property
    def measured(self) -> bool:
        """Whether any pair tells how much CPT saves."""
        return any(pair.saved is not None and not pair.saturated for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class Nearer:
    """By how much CPT (no replay) saved a larger share on `near` than on `far`, in paired runs.

    The source model had the lower loss on `near` before the first step (`Pair.apart`). saturated:
    of how many differences it cannot be told how large they are, as CPT saved all on both.
    """

    near: str
    far: str
    difference: Estimate
    saturated: int = 0


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How far the loss on a base language lies above the base model's, nats per token.

    targets: what was learned meanwhile. replay: share of all tokens that replayed base languages.
    `rise` is at the end of CPT, `peak` at its highest; `runs` are what they are means over.
    """

    lang: str
    targets: tuple[str, ...]
    replay: float
    runs: tuple[RunCurves, ...]
    rises: tuple[float, ...]
    rise: Estimate
    peak: Estimate

    @property
    def target(self) -> str:
        """All that was learned, in words."""
        return list_languages(self.targets)


@dataclass(frozen=True, slots=True)
class ReplayEffect:
    """Final losses with replay minus those without, in paired runs, nats per token."""

    target: str
    replay: float
    on_base: dict[str, Estimate]  # by base language
    on_target: Estimate


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the runs say. `targets` go from the most saved to the least.

    All but `bases` is about runs that continue from the usual base of their shape; `bases` are
    the pairs without replay of shapes that were continued from several. `compared` are the fitting
    errors of every law, by target.
    """

    runs: tuple[RunCurves, ...]
    usual: tuple[RunCurves, ...]
    base_languages: tuple[str, ...]
    targets: tuple[str, ...]
    ratios: tuple[float, ...]
    transfers: tuple[Transfer, ...]
    nearer: tuple[Nearer, ...]
    forgetting: tuple[Forgetting, ...]
    replay_effects: tuple[ReplayEffect, ...]
    bases: tuple[Pair, ...]
    laws: tuple[TargetLaws, ...]
    compared: dict[str, Comparison]
    left_out: tuple[str, ...]

    def transfer(self, target: str, replay: float = 0.0) -> Transfer | None:
        """The transfer of that target and replay ratio, if it was measured."""
        found = (t for t in self.transfers if (t.target, t.replay) == (target, replay))
        return next(found, None)

    def of(self, target: str, strategy: str, replay: float = 0.0) -> list[RunCurves]:
        """The runs of one target, strategy and replay ratio, smallest first."""
        wanted = (target, strategy, replay)
        return [run for run in self.usual if (run.target, run.strategy, run.replay) == wanted]


def findings(rows: Iterable[Mapping[str, Any]]) -> Findings:
    """Everything the rows of `tongues.runs.table` say; what they cannot say is in `left_out`."""
    runs = gather(rows)
    if not runs:
        raise UserError("there is no finished run to report on", hint="run `tongues study` first")
    usual = usual_bases(runs)
    continued = [run for run in usual if run.strategy == "cpt"]
    base_languages = _base_languages(continued)
    targets = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    ratios = tuple(sorted({run.replay for run in continued}))
    transfers = [
        t for target in targets for ratio in ratios if (t := _transfer(target, ratio, usual))
    ]
    saved = {t.target: t.saved.value for t in transfers if t.saved and not t.replay}
    targets.sort(key=lambda target: (-saved.get(target, float("-inf")), target))
    transfers.sort(key=lambda t: (targets.index(t.target), t.replay))
    laws = sorted(fit_targets(runs), key=lambda fitted: targets.index(fitted.target))
    views = sorted(once(continued), key=lambda run: targets.index(run.target))
    learned = dict.fromkeys(run.target for run in views)
    forgetting = [
        f
        for target in learned
        for lang in base_languages
        for ratio in ratios
        if (f := _forgetting(lang, target, ratio, views))
    ]
    return Findings(
        runs=tuple(runs),
        usual=tuple(usual),
        base_languages=base_languages,
        targets=tuple(targets),
        ratios=ratios,
        transfers=tuple(transfers),
        nearer=tuple(_nearer([t for t in transfers if not t.replay])),
        forgetting=tuple(forgetting),
        replay_effects=tuple(
            effect
            for target in targets
            for ratio in ratios
            if ratio and (effect := _replay_effect(target, ratio, continued))
        ),
        bases=tuple(_of_bases(runs)),
        laws=tuple(laws),
        compared={
            fitted.target: compared
            for fitted in laws
            if (compared := compare_laws(fitted, [r for r in usual if r.target == fitted.target]))
        },
        left_out=(
            *_left_out(runs, targets, transfers, forgetting),
            *(sentence for fitted in laws for sentence in fitted.refused),
        ),
    )


def _base_languages(continued: Sequence[RunCurves]) -> tuple[str, ...]:
    """What all bases know and is not learned further; a UserError where they know other things."""
    known = {run.forgettable: run for run in continued}
    if len(known) > 1:
        shown = "; ".join(" and ".join(langs) or "none" for langs in sorted(known))
        raise UserError(
            f"the runs continue from bases of different languages: {shown}",
            hint="report on the runs of one study at a time",
        )
    return next(iter(known), ())


def _transfer(target: str, replay: float, runs: Sequence[RunCurves]) -> Transfer | None:
    continued = [
        run for run in runs if (run.strategy, run.target, run.replay) == ("cpt", target, replay)
    ]
    pairs = _equally_long([_pair(run, other) for run in continued if (other := twin(run, runs))])
    ahead = over_sizes((pair.cpt.unit, pair.ahead) for pair in pairs)
    if ahead is None:
        return None
    saved = _at_most_all((p.cpt.unit, p.saved) for p in pairs if p.saved is not None)
    by_ends = _at_most_all(_saved_by_ends(continued, runs))
    return Transfer(target, replay, tuple(pairs), saved, ahead, by_ends)


def _equally_long(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of one length; where there is none, all."""
    return [pair for pair in pairs if pair.scratch.as_long_as(pair.cpt)] or list(pairs)


def _at_most_all(shares: Iterable[tuple[Unit, float]]) -> Estimate | None:
    """The mean share saved; nobody saves more than all."""
    found = over_sizes(shares)
    if found and found.high is not None:
        return replace(found, high=min(found.high, 1.0))
    return found


def _saved_by_ends(
    continued: Sequence[RunCurves], runs: Sequence[RunCurves]
) -> Iterable[tuple[Unit, float]]:
    """The share saved by each shape and seed that has final losses at several lengths."""
    for unit in dict.fromkeys(run.unit for run in continued):
        own = [run for run in continued if run.unit == unit]
        twins = [t for run in own if (t := twin(run, runs))]
        cpt, scratch = curve_of_ends(own), curve_of_ends(twins)
        points = savings(scratch, cpt).points if cpt and scratch else ()
        if points:
            yield unit, points[-1].share


def _pair(cpt: RunCurves, scratch: RunCurves) -> Pair:
    points = savings(scratch.learned, cpt.learned).points
    saved = 1.0 - points[-1].tokens_cpt / points[-1].tokens_scratch if points else None
    tokens = min(cpt.tokens, scratch.tokens)
    ahead = _loss_at(scratch.learned, tokens) - _loss_at(cpt.learned, tokens)
    reached = bool(cpt.learned.loss.min() <= scratch.learned.loss[-1])
    return Pair(cpt, scratch, saved, reached, ahead, points, _apart(cpt.learned, scratch.learned))


def _loss_at(curve: Curve, tokens: float) -> float:
    """Between evaluations along a straight line in logarithms."""
    late = curve.tokens > 0
    logs = np.log(curve.tokens[late]), np.log(curve.loss[late])
    return float(np.exp(np.interp(np.log(tokens), *logs)))


def _apart(cpt: Curve, scratch: Curve) -> float | None:
    measured = cpt.tokens[0] == scratch.tokens[0] == 0
    return float(cpt.loss[0] / scratch.loss[0]) if measured else None


def _of_bases(runs: Sequence[RunCurves]) -> Iterable[Pair]:
    """The pairs of targets and shapes that several bases were continued to."""
    plain = [run for run in runs if run.strategy == "cpt" and not run.replay and run.base_tokens]
    for run in plain:
        place = run.target, run.shape
        several = {other.base_tokens for other in plain if (other.target, other.shape) == place}
        if len(several) > 1 and (other := twin(run, runs)):
            yield _pair(run, other)


def _nearer(transfers: Sequence[Transfer]) -> Iterable[Nearer]:
    """Each target against the next further off."""
    known = {t.target: [p.apart for p in t.pairs if p.apart is not None] for t in transfers}
    ordered = sorted(
        (t for t in transfers if known[t.target]), key=lambda t: fmean(known[t.target])
    )
    for near, far in pairwise(ordered):
        both = [(a, b) for a in near.pairs for b in far.pairs if a.cpt.like(b.cpt)]
        difference = over_sizes(
            (here.cpt.unit, here.saved - there.saved)
            for here, there in both
            if here.saved is not None and there.saved is not None
        )
        if difference:
            saturated = sum(here.saturated and there.saturated for here, there in both)
            yield Nearer(near.target, far.target, difference, saturated)


def _forgetting(
    lang: str, target: str, replay: float, continued: Sequence[RunCurves]
) -> Forgetting | None:
    """A run counts when it was evaluated on the base language before the first step."""
    known = {
        run: curve.loss
        for run in continued
        if (run.target, run.replay) == (target, replay)
        and (curve := run.curves.get(lang))
        and curve.tokens[0] == 0
    }
    rises = tuple(float(loss[-1] - loss[0]) for loss in known.values())
    peaks = [(run.unit, float(loss.max() - loss[0])) for run, loss in known.items()]
    units = [run.unit for run in known]
    rise = over_sizes(zip(units, rises, strict=True))
    peak = over_sizes(peaks)
    if rise is None or peak is None:
        return None
    return Forgetting(lang, next(iter(known)).targets, replay, tuple(known), rises, rise, peak)


def _replay_effect(
    target: str, replay: float, continued: Sequence[RunCurves]
) -> ReplayEffect | None:
    without, with_replay = (
        [run for run in continued if (run.target, run.replay) == (target, ratio)]
        for ratio in (0.0, replay)
    )
    both = [(before, after) for before in without for after in with_replay if before.like(after)]
    if not both:
        return None
    on_target = over_sizes(_differences(both, both[0][0].lang))
    if on_target is None:
        return None
    on_base = {
        lang: found
        for lang in both[0][0].forgettable
        if (found := over_sizes(_differences(both, lang)))
    }
    return ReplayEffect(target, replay, on_base, on_target)


def _differences(
    pairs: Iterable[tuple[RunCurves, RunCurves]], lang: str
) -> Iterable[tuple[Unit, float]]:
    for without, with_replay in pairs:
        before, after = without.final(lang), with_replay.final(lang)
        if before is not None and after is not None:
            yield without.unit, after - before


def _left_out(
    runs: Sequence[RunCurves],
    targets: Sequence[str],
    transfers: Sequence[Transfer],
    forgetting: Sequence[Forgetting],
) -> Iterable[str]:
    """A sentence for each finding these runs cannot give."""
    if not targets:
        yield "No run learned a target language, so nothing is compared."
    for target in targets:
        strategies = {run.strategy for run in runs if run.target == target}
        if "cpt" not in strategies:
            yield f"No CPT run learned `{target}`, so what CPT saves there is not known."
        elif "scratch" not in strategies:
            yield f"No run learned `{target}` from scratch, so what CPT saves there is not known."
        elif not any(t.target == target for t in transfers):
            yield (
                f"No CPT run on `{target}` has a twin from scratch of its shape and seed, "
                "so what CPT saves there is not known."
            )
        elif any(t.target == target and not t.saved for t in transfers):
            yield f"On `{target}`, CPT and scratch have no loss in common to compare at."
        names = {run.name for run in runs if run.target == target and run.strategy == "cpt"}
        if names and not any(run.name in names for f in forgetting for run in f.runs):
            yield (
                f"No CPT run on `{target}` was evaluated at the start on a language of its base, "
                "so forgetting is not known."
            )
