"""The numbers of a study: what CPT saves, what it forgets, and the laws behind both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tongues.errors import UserError
from tongues.laws import Saving, savings
from tongues.laws.observed import Run, gather, twin
from tongues.laws.targets import TargetLaws, fit_targets
from tongues.report.statistics import Estimate, estimate

__all__ = ["Findings", "Forgetting", "Nearer", "Pair", "ReplayEffect", "Transfer", "findings"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A CPT run and its twin from scratch, of the same target, shape and seed.

    `saved` is the share of the twin's tokens that CPT did without, at the lowest loss both
    reached; one shape spends the same compute on every token, so it is the share of compute too.
    `ahead` is how far CPT's final loss lies below the twin's, in nats per token. `points` are the
    savings through training.
    """

    cpt: Run
    scratch: Run
    saved: float | None
    reached: bool  # whether CPT got to the twin's final loss
    ahead: float
    points: tuple[Saving, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """What CPT at one replay ratio saved on one target, over its pairs."""

    target: str
    replay: float
    pairs: tuple[Pair, ...]
    saved: Estimate | None
    ahead: Estimate


@dataclass(frozen=True, slots=True)
class Nearer:
    """By how much CPT (no replay) saved a larger share on `near` than on `far`, in paired runs."""

    near: str
    far: str
    difference: Estimate


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How far the loss on the source language lies above the source model's, nats per token.

    `rise` is at the end of CPT, `peak` at its highest; `runs` are what they are means over.
    """

    target: str
    replay: float
    runs: tuple[Run, ...]
    rises: tuple[float, ...]
    rise: Estimate
    peak: Estimate


@dataclass(frozen=True, slots=True)
class ReplayEffect:
    """Final losses with replay minus those without, in paired runs, nats per token."""

    target: str
    replay: float
    on_source: Estimate | None
    on_target: Estimate


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the runs say. `targets` go from the most saved to the least."""

    runs: tuple[Run, ...]
    source: str | None
    targets: tuple[str, ...]
    ratios: tuple[float, ...]
    transfers: tuple[Transfer, ...]
    nearer: tuple[Nearer, ...]
    forgetting: tuple[Forgetting, ...]
    replay_effects: tuple[ReplayEffect, ...]
    laws: tuple[TargetLaws, ...]
    left_out: tuple[str, ...]

    def transfer(self, target: str, replay: float = 0.0) -> Transfer | None:
        """The transfer of that target and replay ratio, if it was measured."""
        found = (t for t in self.transfers if (t.target, t.replay) == (target, replay))
        return next(found, None)

    def of(self, target: str, strategy: str, replay: float = 0.0) -> list[Run]:
        """The runs of one target, strategy and replay ratio, smallest first."""
        wanted = (target, strategy, replay)
        return [run for run in self.runs if (run.target, run.strategy, run.replay) == wanted]


def findings(rows: Iterable[Mapping[str, Any]]) -> Findings:
    """Everything the rows of `tongues.runs.table` say; what they cannot say is in `left_out`."""
    runs = gather(rows)
    if not runs:
        raise UserError("there is no finished run to report on", hint="run `tongues study` first")
    continued = [run for run in runs if run.strategy == "cpt"]
    source = _one_source(continued)
    targets = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    ratios = tuple(sorted({run.replay for run in continued}))
    transfers = [
        t for target in targets for ratio in ratios if (t := _transfer(target, ratio, runs))
    ]
    saved = {t.target: t.saved.mean for t in transfers if t.saved and not t.replay}
    targets.sort(key=lambda target: (-saved.get(target, float("-inf")), target))
    transfers.sort(key=lambda t: (targets.index(t.target), t.replay))
    laws = sorted(fit_targets(runs), key=lambda fitted: targets.index(fitted.target))
    forgetting = [
        f for target in targets for ratio in ratios if (f := _forgetting(target, ratio, continued))
    ]
    return Findings(
        runs=tuple(runs),
        source=source,
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
        laws=tuple(laws),
        left_out=(
            *_left_out(runs, targets, transfers, forgetting),
            *(sentence for fitted in laws for sentence in fitted.refused),
        ),
    )


def _one_source(continued: Sequence[Run]) -> str | None:
    sources = sorted({run.source for run in continued if run.source})
    if len(sources) > 1:
        raise UserError(
            f"the runs continue from {len(sources)} source languages: {', '.join(sources)}",
            hint="report on the runs of one study at a time",
        )
    return sources[0] if sources else None


def _transfer(target: str, replay: float, runs: Sequence[Run]) -> Transfer | None:
    pairs = [
        _pair(run, other)
        for run in runs
        if (run.strategy, run.target, run.replay) == ("cpt", target, replay)
        and (other := twin(run, runs))
    ]
    ahead = estimate(pair.ahead for pair in pairs)
    if ahead is None:
        return None
    saved = estimate(pair.saved for pair in pairs if pair.saved is not None)
    if saved and saved.high is not None:
        saved = replace(saved, high=min(saved.high, 1.0))  # nobody saves more than all
    return Transfer(target, replay, tuple(pairs), saved, ahead)


def _pair(cpt: Run, scratch: Run) -> Pair:
    points = savings(scratch.learned, cpt.learned).points
    saved = 1.0 - points[-1].tokens_cpt / points[-1].tokens_scratch if points else None
    ahead = float(scratch.learned.loss[-1] - cpt.learned.loss[-1])
    reached = bool(cpt.learned.loss.min() <= scratch.learned.loss[-1])
    return Pair(cpt, scratch, saved, reached, ahead, points)


def _nearer(transfers: Sequence[Transfer]) -> Iterable[Nearer]:
    """Each target against the next in the order of what was saved."""
    for near, far in pairwise(transfers):
        here, there = (
            {(p.cpt.shape, p.cpt.seed): p.saved for p in t.pairs if p.saved is not None}
            for t in (near, far)
        )
        both = sorted(here.keys() & there.keys())
        difference = estimate(here[key] - there[key] for key in both)
        if difference:
            yield Nearer(near.target, far.target, difference)


def _forgetting(target: str, replay: float, continued: Sequence[Run]) -> Forgetting | None:
    """A run counts when it was evaluated on its source language before the first step."""
    known = {
        run: curve.loss
        for run in continued
        if (run.target, run.replay) == (target, replay)
        and (curve := run.curves.get(run.source or ""))
        and curve.tokens[0] == 0
    }
    rises = tuple(float(loss[-1] - loss[0]) for loss in known.values())
    rise, peak = estimate(rises), estimate(float(loss.max() - loss[0]) for loss in known.values())
    if rise is None or peak is None:
        return None
    return Forgetting(target, replay, tuple(known), rises, rise, peak)


def _replay_effect(target: str, replay: float, continued: Sequence[Run]) -> ReplayEffect | None:
    without, with_replay = (
        {(r.shape, r.seed): r for r in continued if (r.target, r.replay) == (target, ratio)}
        for ratio in (0.0, replay)
    )
    both = [(without[key], with_replay[key]) for key in without.keys() & with_replay.keys()]
    on_target = estimate(_differences(both, target))
    if on_target is None:
        return None
    source = both[0][0].source
    on_source = estimate(_differences(both, source)) if source else None
    return ReplayEffect(target, replay, on_source, on_target)


def _differences(pairs: Iterable[tuple[Run, Run]], lang: str) -> Iterable[float]:
    for without, with_replay in pairs:
        before, after = without.final(lang), with_replay.final(lang)
        if before is not None and after is not None:
            yield after - before


def _left_out(
    runs: Sequence[Run],
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
        if "cpt" in strategies and not any(f.target == target for f in forgetting):
            yield (
                f"No CPT run on `{target}` was evaluated on its source language at the start, "
                "so forgetting is not known."
            )
