"""The numbers of a study: what came of every strategy on every target, and the laws behind it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.quantities import show_count
from tongues.core.significance.means import over_sizes
from tongues.laws import Curve, LawComparison, savings
from tongues.laws.observed import RunCurves, gather_runs, twin, usual_bases
from tongues.laws.targets import TargetLaws, compare_laws, fit_targets
from tongues.train.study.outcomes import LossChange, Outcome, Pair

Values = list[tuple[RunCurves, float]]


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the runs say.

    `targets` go from the most saved to the least, then from the largest share, base languages last.
    All but `runs` is about `usual`, those that continue from the usual base of their shape. `rows`
    are the outcomes as they compare with each other: of the sizes and lengths that all options of a
    target have; where there are none, of each by itself. `compared` are the fitting errors of every
    law, by target.
    """

    runs: tuple[RunCurves, ...]
    usual: tuple[RunCurves, ...] = ()
    base_languages: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ratios: tuple[float, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    rows: tuple[Outcome, ...] = ()
    laws: tuple[TargetLaws, ...] = ()
    compared: dict[str, LawComparison] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def outcome(self, target: str, replay: float = 0.0) -> Outcome | None:
        """What CPT with that share of replay came to on a target."""
        key = target, "cpt", replay
        return next((o for o in self.outcomes if (o.target, o.strategy, o.replay) == key), None)

    @property
    def only(self) -> RunCurves | None:
        """The run, where there is no other."""
        return self.runs[0] if len({run.name for run in self.runs}) == 1 else None

    @property
    def refused(self) -> list[str]:
        """Which laws were not fitted, and why."""
        return [sentence for fitted in self.laws for sentence in fitted.refused]

    @property
    def plain(self) -> list[Outcome]:
        """CPT without replay where it has twins, a target each."""
        return [o for o in self.outcomes if o.pairs and not o.replay]


def findings(rows: Iterable[Mapping[str, Any]]) -> Findings:
    """Everything the rows of `tongues.runs.record.run_rows` say; the rest is in `left_out`."""
    runs = gather_runs(rows)
    if not runs:
        raise UserError(
            "there is no finished run to report on",
            hint="`tongues report` without a place is the page of the whole folder; runs come from "
            "`tongues train` or `tongues study`",
        )
    usual = usual_bases(runs)
    continued = [run for run in usual if run.strategy == "cpt"]
    known = {run.forgettable: run for run in continued}
    if len(known) > 1:
        shown = "; ".join(" and ".join(langs) or "none" for langs in sorted(known))
        raise UserError(
            f"the runs continue from bases of different languages: {shown}",
            hint="report on the runs of one study at a time",
        )
    ratios = sorted({run.replay for run in continued})
    names = sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})
    outcomes = [
        _outcome(own, usual)
        for name in names
        for key in ((name, "scratch", 0.0), *((name, "cpt", ratio) for ratio in ratios))
        if (own := [run for run in usual if (run.target, run.strategy, run.replay) == key])
    ]
    saved = {o.target: o.saved.value for o in outcomes if o.saved and not o.replay}
    bases = next(iter(known), ())
    share = {run.target: run.shares.get(run.lang, 0.0) for run in continued}

    def order(target: str) -> tuple[bool, float, float, str]:
        most = -saved.get(target, float("-inf"))
        return target in bases, most, -share.get(target, 0.0), target

    targets = sorted(names, key=order)
    outcomes.sort(key=lambda o: targets.index(o.target))
    of_target = [[o for o in outcomes if o.target == target] for target in targets]
    shown = [row for own in of_target for row in _comparable(own, usual)]
    several = {o.target for o in outcomes if not o.replay and len(o.runs) > 1}
    laws = fit_targets([run for run in runs if run.target in several])
    laws.sort(key=lambda fitted: targets.index(fitted.target))
    of_laws = {fitted.target: [r for r in usual if r.target == fitted.target] for fitted in laws}
    compared = {fitted.target: compare_laws(fitted, of_laws[fitted.target]) for fitted in laws}
    return Findings(
        runs=tuple(runs),
        usual=tuple(usual),
        base_languages=bases,
        targets=tuple(targets),
        ratios=tuple(ratios),
        outcomes=tuple(outcomes),
        rows=tuple(shown),
        laws=tuple(laws),
        compared={target: comparison for target, comparison in compared.items() if comparison},
        left_out=tuple(_left_out(runs, [x for x in targets if x not in bases], outcomes, shown)),
    )


def _outcome(runs: Sequence[RunCurves], usual: Sequence[RunCurves]) -> Outcome:
    first = runs[0]
    pairs = [_pair(run, other) for run in runs if (other := twin(run, usual))]
    pairs = [pair for pair in pairs if pair.scratch.as_long_as(pair.cpt)] or pairs
    known = [run for run in runs if not run.new_tokens]
    gains = [(run, -value) for run, value in rise(known, first.lang)]
    about = Outcome(*(first.target, first.strategy, first.replay), tuple(runs))
    ends = [(run, end) for run in runs if (end := run.final(first.lang)) is not None]
    about = replace(about, loss=_change(first.lang, ends), gain=_change(first.lang, gains))
    if first.strategy != "cpt":
        return about
    plain = [r for r in usual if (r.target, r.strategy, r.replay) == (first.target, "cpt", 0.0)]
    both = [(a, b) for a in plain for b in runs if a.like(b)] if first.replay else []
    saved = over_sizes((p.cpt.unit, p.saved) for p in pairs if p.saved is not None)
    if saved and saved.high is not None:
        saved = replace(saved, high=min(saved.high, 1.0))  # no more than all
    rises, replayed = {}, {}
    for lang in first.forgettable:
        rises[lang] = _change(lang, rise(runs, lang))
    for lang in (first.lang, *first.forgettable):
        finals = [(a.unit, a.final(lang), b.final(lang)) for a, b in both]
        known = [(unit, b - a) for unit, a, b in finals if a is not None and b is not None]
        replayed[lang] = over_sizes(known)
    return replace(
        about,
        pairs=tuple(pairs),
        lead=_change(first.lang, [(pair.cpt, pair.ahead) for pair in pairs]),
        saved=saved,
        rises={lang: change for lang, change in rises.items() if change},
        replayed={lang: value for lang, value in replayed.items() if value},
    )


def _comparable(outcomes: Sequence[Outcome], usual: Sequence[RunCurves]) -> Iterator[Outcome]:
    """The options of one target on the sizes and lengths they share, or each of these apart.

    What comes from pairs of runs compares already, and is of all of them.
    """
    groups: list[list[RunCurves]] = []
    every = (run for o in outcomes for run in o.runs)
    for run in sorted(every, key=lambda run: (run.params, run.shape, run.tokens)):
        last = groups[-1][0] if groups else None
        if last and last.shape == run.shape and last.as_long_as(run):
            groups[-1].append(run)
        else:
            groups.append([run])
    names = [{run.name for run in group} for group in groups]
    shared = [own for own in names if all(own & {r.name for r in o.runs} for o in outcomes)]
    if len(shared) == len(groups):
        yield from outcomes
    elif shared:
        kept = set[str]().union(*shared)
        for o in outcomes:
            row = _outcome([run for run in o.runs if run.name in kept], usual)
            yield replace(o, runs=row.runs, loss=row.loss, gain=row.gain, rises=row.rises)
    else:
        sizes = {run.shape for group in groups for run in group}
        for group, own in zip(groups, names, strict=True):
            size = f"{group[0].shape}, " if len(sizes) > 1 else ""
            label = f"{size}{show_count(group[0].tokens)} tokens"
            parts = ([run for run in o.runs if run.name in own] for o in outcomes)
            yield from (replace(_outcome(runs, usual), group=label) for runs in parts if runs)


def rise(runs: Iterable[RunCurves], lang: str) -> Values:
    """By how much the loss on a language rose in runs that know it before their first step."""
    known = [(run, run.curves[lang]) for run in runs if lang in run.curves]
    return [(run, float(c.loss[-1] - c.loss[0])) for run, c in known if c.tokens[0] == 0]


def _change(lang: str, values: Values) -> LossChange | None:
    bits = [run.bits_per_byte[lang] / float(run.curves[lang].loss[-1]) for run, _ in values]
    nats = over_sizes((run.unit, value) for run, value in values)
    each = zip(values, bits, strict=True)
    mean = over_sizes((run.unit, value * factor) for (run, value), factor in each)
    return LossChange(nats, mean) if nats and mean else None


def _pair(cpt: RunCurves, scratch: RunCurves) -> Pair:
    own, other = cpt.learned, scratch.learned
    points = savings(other, own)
    saved = 1.0 - points[-1].tokens_cpt / points[-1].tokens_scratch if points else None
    tokens = min(cpt.tokens, scratch.tokens)
    ahead = _loss_at(other, tokens) - _loss_at(own, tokens)
    return Pair(cpt, scratch, saved, ahead, points)


def _loss_at(curve: Curve, tokens: float) -> float:
    """Between evaluations along a straight line in logarithms."""
    late = curve.tokens > 0
    logs = np.log(curve.tokens[late]), np.log(curve.loss[late])
    return float(np.exp(np.interp(np.log(tokens), *logs)))


def _left_out(
    runs: Sequence[RunCurves],
    targets: Sequence[str],
    outcomes: Sequence[Outcome],
    rows: Sequence[Outcome],
) -> Iterator[str]:
    """Why outcomes have no savings or no forgetting, and which runs the rows leave out."""
    if not targets:
        yield "No run learned a target language, so nothing is compared."
    options = {"scratch", "cpt"} & {run.strategy for run in runs if run.target in targets}
    for target in targets:
        own = [o for o in outcomes if o.target == target]
        yield from _apart(target, own, [row for row in rows if row.target == target])
        yield from _unpaired(target, own) if len(options) > 1 else ()
        continued = [o for o in own if o.strategy == "cpt"]
        if continued and not any(outcome.rises for outcome in continued):
            yield (
                f"No CPT run on `{target}` was evaluated at the start on a language of its base, "
                "so forgetting is not known."
            )


def _apart(target: str, outcomes: Sequence[Outcome], rows: Sequence[Outcome]) -> Iterator[str]:
    """Which runs are of another size or length than those they would be compared with."""
    if any(row.group for row in rows):
        yield f"Runs on `{target}` differ in size or length: compare rows of the same alone."
    shown = sum(len(row.runs) for row in rows)
    if more := sum(len(o.runs) for o in outcomes) - shown:
        those = "1 run is" if more == 1 else f"{more} runs are"
        where = "the losses are in the table of runs alone"
        yield f"{those} of a size or length that not all options on `{target}` have: {where}."


def _unpaired(target: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Why it is not known what CPT saves."""
    unknown = "so what CPT saves there is not known."
    continued = [o for o in outcomes if o.strategy == "cpt"]
    saved = [o.saved for o in continued if o.pairs]
    if not continued:
        yield f"No CPT run learned `{target}`, {unknown}"
    elif len(continued) == len(outcomes):
        yield f"No run learned `{target}` from scratch, {unknown}"
    elif not saved:
        twins = "a twin from scratch of its shape and seed"
        yield f"No CPT run on `{target}` has {twins}, {unknown}"
    elif None in saved:
        yield f"On `{target}`, CPT and scratch have no loss in common to compare at."
