"""The numbers of a study: what CPT saves, what it forgets, and the laws behind both."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.laws import Curve, LawComparison, Saving, savings
from tongues.laws.observed import RunCurves, curve_of_ends, gather_runs, once, twin, usual_bases
from tongues.laws.targets import TargetLaws, compare_laws, fit_targets
from tongues.report.statistics import Unit, over_sizes
from tongues.roles import list_languages

__all__ = ["Findings", "Forgetting", "Pair", "ReplayEffect", "Transfer", "findings"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A CPT run and its twin from scratch, of the same target, shape, seed and number of tokens.

    Where no twin has that number of tokens, they are compared up to the end of the shorter.
    saved: the share of the twin's tokens, and of its compute, that CPT did without at the lowest
    loss both reached. reached: whether CPT got to the twin's final loss. ahead: how far CPT's final
    loss is below the twin's, nats per token. points: the savings through training. apart: the loss
    on the target of the base before its first step, as a share of that of random weights.
    """

    cpt: RunCurves
    scratch: RunCurves
    saved: float | None
    reached: bool
    ahead: float
    points: tuple[Saving, ...]
    apart: float | None

    @property
    def saturated(self) -> bool:
        """Whether the base had that loss before its first step: nothing more to save."""
        return bool(self.points) and self.points[-1].whole


@dataclass(frozen=True, slots=True)
class Transfer:
    """What CPT at one share of replay saved on one target, over its pairs.

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
        """The number of pairs in which all was saved, so that how much is unknown."""
        return sum(pair.saturated for pair in self.pairs)

    @property
    def measured(self) -> bool:
        """Whether any pair measures how much CPT saves."""
        return any(pair.saved is not None and not pair.saturated for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How far the final loss on a base language is above the base model's, nats per token.

    targets: what was learned. replay: share of all tokens. rises: of the single `runs`.
    """

    lang: str
    targets: tuple[str, ...]
    replay: float
    runs: tuple[RunCurves, ...]
    rises: tuple[float, ...]
    rise: Estimate

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
    usual: tuple[RunCurves, ...] = ()
    base_languages: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ratios: tuple[float, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    forgetting: tuple[Forgetting, ...] = ()
    replay_effects: tuple[ReplayEffect, ...] = ()
    bases: tuple[Pair, ...] = ()
    laws: tuple[TargetLaws, ...] = ()
    compared: dict[str, LawComparison] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def transfer(self, target: str, replay: float = 0.0) -> Transfer | None:
        """The transfer of that target and share of replay, if it was measured."""
        return next((t for t in self.transfers if (t.target, t.replay) == (target, replay)), None)

    def of(self, target: str, strategy: str, replay: float = 0.0) -> list[RunCurves]:
        """The runs of one target, strategy and share of replay, smallest first."""
        key = target, strategy, replay
        return [run for run in self.usual if (run.target, run.strategy, run.replay) == key]


def findings(rows: Iterable[Mapping[str, Any]]) -> Findings:
    """Everything the rows of `tongues.runs.table` say; what they cannot say is in `left_out`."""
    runs = gather_runs(rows)
    if not runs:
        raise UserError("there is no finished run to report on", hint="run `tongues study` first")
    usual = usual_bases(runs)
    continued = [run for run in usual if run.strategy == "cpt"]
    known = {run.forgettable: run for run in continued}
    if len(known) > 1:
        shown = "; ".join(" and ".join(langs) or "none" for langs in sorted(known))
        raise UserError(
            f"the runs continue from bases of different languages: {shown}",
            hint="report on the runs of one study at a time",
        )
    base_languages = next(iter(known), ())
    ratios = tuple(sorted({run.replay for run in continued}))
    names = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    transfers = [t for name in names for ratio in ratios if (t := _transfer(name, ratio, usual))]
    saved = {t.target: t.saved.value for t in transfers if t.saved and not t.replay}
    targets = sorted(names, key=lambda name: (-saved.get(name, float("-inf")), name))
    transfers.sort(key=lambda t: (targets.index(t.target), t.replay))
    views = sorted(once(continued), key=lambda run: targets.index(run.target))
    forgetting = [
        f
        for target in dict.fromkeys(run.target for run in views)
        for lang in base_languages
        for ratio in ratios
        if (f := _forgetting(lang, target, ratio, views))
    ]
    effects = (_replay_effect(name, r, continued) for name in targets for r in ratios if r)
    laws = sorted(fit_targets(runs), key=lambda fitted: targets.index(fitted.target))
    of_laws = {fitted.target: [r for r in usual if r.target == fitted.target] for fitted in laws}
    compared = {fitted.target: compare_laws(fitted, of_laws[fitted.target]) for fitted in laws}
    return Findings(
        runs=tuple(runs),
        usual=tuple(usual),
        base_languages=base_languages,
        targets=tuple(targets),
        ratios=ratios,
        transfers=tuple(transfers),
        forgetting=tuple(forgetting),
        replay_effects=tuple(effect for effect in effects if effect),
        bases=tuple(_of_bases(runs)),
        laws=tuple(laws),
        compared={target: comparison for target, comparison in compared.items() if comparison},
        left_out=(
            *_left_out(runs, targets, transfers, forgetting),
            *(sentence for fitted in laws for sentence in fitted.refused),
        ),
    )


def _transfer(target: str, replay: float, runs: Sequence[RunCurves]) -> Transfer | None:
    key = "cpt", target, replay
    continued = [run for run in runs if (run.strategy, run.target, run.replay) == key]
    pairs = [_pair(run, other) for run in continued if (other := twin(run, runs))]
    pairs = [pair for pair in pairs if pair.scratch.as_long_as(pair.cpt)] or pairs
    ahead = over_sizes((pair.cpt.unit, pair.ahead) for pair in pairs)
    if ahead is None:
        return None
    by_ends: list[tuple[Unit, float]] = []
    for unit in dict.fromkeys(run.unit for run in continued):  # with final losses at some lengths
        own = [run for run in continued if run.unit == unit]
        cpt = curve_of_ends(own)
        scratch = curve_of_ends(other for run in own if (other := twin(run, runs)))
        points = savings(scratch, cpt).points if cpt and scratch else ()
        by_ends += [(unit, points[-1].share)] if points else []
    saved = [(p.cpt.unit, p.saved) for p in pairs if p.saved is not None]
    return Transfer(target, replay, tuple(pairs), _share(saved), ahead, _share(by_ends))


def _share(shares: Iterable[tuple[Unit, float]]) -> Estimate | None:
    """The mean share saved; no more than all can be."""
    mean = over_sizes(shares)
    return replace(mean, high=min(mean.high, 1.0)) if mean and mean.high is not None else mean


def _pair(cpt: RunCurves, scratch: RunCurves) -> Pair:
    own, other = cpt.learned, scratch.learned
    points = savings(other, own).points
    saved = 1.0 - points[-1].tokens_cpt / points[-1].tokens_scratch if points else None
    tokens = min(cpt.tokens, scratch.tokens)
    measured = own.tokens[0] == other.tokens[0] == 0
    return Pair(
        cpt,
        scratch,
        saved,
        reached=bool(own.loss.min() <= other.loss[-1]),
        ahead=_loss_at(other, tokens) - _loss_at(own, tokens),
        points=points,
        apart=float(own.loss[0] / other.loss[0]) if measured else None,
    )


def _loss_at(curve: Curve, tokens: float) -> float:
    """Between evaluations along a straight line in logarithms."""
    late = curve.tokens > 0
    logs = np.log(curve.tokens[late]), np.log(curve.loss[late])
    return float(np.exp(np.interp(np.log(tokens), *logs)))


def _of_bases(runs: Sequence[RunCurves]) -> Iterator[Pair]:
    """The pairs of targets and shapes that several bases were continued to."""
    plain = [run for run in runs if run.strategy == "cpt" and not run.replay and run.base_tokens]
    for run in plain:
        place = run.target, run.shape
        several = {other.base_tokens for other in plain if (other.target, other.shape) == place}
        if len(several) > 1 and (other := twin(run, runs)):
            yield _pair(run, other)


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
    rise = over_sizes((run.unit, value) for run, value in zip(known, rises, strict=True))
    if rise is None:
        return None
    return Forgetting(lang, next(iter(known)).targets, replay, tuple(known), rises, rise)


def _replay_effect(
    target: str, replay: float, continued: Sequence[RunCurves]
) -> ReplayEffect | None:
    own = [run for run in continued if run.target == target]
    both = [
        (without, run)
        for without in own
        for run in own
        if (without.replay, run.replay) == (0.0, replay) and without.like(run)
    ]

    def change(lang: str) -> Estimate | None:
        ends = [(a.unit, a.final(lang), b.final(lang)) for a, b in both]
        known = [(unit, b - a) for unit, a, b in ends if a is not None and b is not None]
        return over_sizes(known)

    on_target = change(both[0][0].lang) if both else None
    if on_target is None:
        return None
    changes = {lang: change(lang) for lang in both[0][0].forgettable}
    on_base = {lang: value for lang, value in changes.items() if value}
    return ReplayEffect(target, replay, on_base, on_target)


def _left_out(
    runs: Sequence[RunCurves],
    targets: Sequence[str],
    transfers: Sequence[Transfer],
    forgetting: Sequence[Forgetting],
) -> Iterator[str]:
    """A sentence for each finding these runs cannot give."""
    if not targets:
        yield "No run learned a target language, so nothing is compared."
    measured = {run.name for f in forgetting for run in f.runs}
    for target in targets:
        own = [run for run in runs if run.target == target]
        strategies = {run.strategy for run in own}
        saved = [t.saved for t in transfers if t.target == target]
        unknown = "so what CPT saves there is not known."
        if "cpt" not in strategies:
            yield f"No CPT run learned `{target}`, {unknown}"
        elif "scratch" not in strategies:
            yield f"No run learned `{target}` from scratch, {unknown}"
        elif not saved:
            twins = "a twin from scratch of its shape and seed"
            yield f"No CPT run on `{target}` has {twins}, {unknown}"
        elif None in saved:
            yield f"On `{target}`, CPT and scratch have no loss in common to compare at."
        names = {run.name for run in own if run.strategy == "cpt"}
        if names and not names & measured:
            yield (
                f"No CPT run on `{target}` was evaluated at the start on a language of its base, "
                "so forgetting is not known."
            )
