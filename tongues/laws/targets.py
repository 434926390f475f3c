"""The laws of every target, fitted on its runs; a refusal becomes a sentence.

Laws are about where runs end, with the learning rate come down. Where runs of several lengths
suffice, laws are fitted on their final losses alone; otherwise on evaluations through training,
which in mid-schedule are above what a run of that length would end with.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.core.errors import UserError
from tongues.laws import words
from tongues.laws.compare import LawComparison, compare_observed
from tongues.laws.fit import fit_observed
from tongues.laws.forms import LINE
from tongues.laws.law import Law
from tongues.laws.observed import RunCurves, continued, once, usual_bases
from tongues.laws.transfer import Curve
from tongues.runs.tables import Observations

SETTLED = 0.1  # share of a run's tokens before which its losses are warm-up, not law
_LIKE = 0.05  # lengths nearer than this are one
_SPARE = 3  # final losses beyond the parameters to be found, for a law of final losses alone
_FREE = {"scratch": 5, "cpt": 3, "forgetting": 5}  # parameters of each law
_LENGTHS = {"scratch": 4, "cpt": 3, "forgetting": 3}  # one more than what they are to separate


@dataclass(frozen=True, slots=True)
class TargetLaws:
    """What could be fitted for one target, by strategy (`scratch`, `cpt`), and what was refused.

    `forgetting` is there where the target was continued with at least two shares of replay. Where
    nothing but runs of one base of one size is known, `cpt` is a line over log tokens.
    by_ends: whether `laws` and `powers` were fitted on final losses alone.
    """

    target: str
    laws: dict[str, Law]
    powers: dict[str, Law]
    forgetting: Law | None
    refused: tuple[str, ...]
    by_ends: bool = False

    @property
    def all(self) -> tuple[Law, ...]:
        """The laws a plan is made by."""
        return (*self.laws.values(), *filter(None, (self.forgetting,)))


def learned_targets(runs: Iterable[RunCurves]) -> list[str]:
    """The languages that were learned."""
    return sorted({run.target for run in runs if run.strategy in ("scratch", "cpt")})


def fit_targets(runs: Sequence[RunCurves], draws: int = 400) -> list[TargetLaws]:
    """Fit, for every language that was learned, loss over size and tokens, and the envelope.

    N counts all parameters, D all tokens of the run. CPT is fitted on the runs without replay, and
    on those of the usual base. Intervals come from `draws` resamples of shapes and seeds, the runs
    of one of them taken together.
    """
    return [
        _fit(target, [run for run in runs if run.target == target], draws)
        for target in learned_targets(runs)
    ]


def _fit(target: str, runs: Sequence[RunCurves], draws: int) -> TargetLaws:
    refused: list[str] = []

    def fitted(
        strategy: str, what: str, form: str, rows: Observations | None, base: Law | None = None
    ) -> dict[str, Law]:
        """The law by its strategy; nothing where it is refused."""
        try:
            if rows is None:
                raise UserError("no base language was evaluated before the first step")
            law = fit_observed(rows, form, base, draws=draws)
        except UserError as error:
            name = {"cpt": "CPT"}.get(strategy, strategy)
            named = f"{name} {what}"
            facts = {"target": target, "reason": error.what}
            refused.append(words.law_line("refused", law=named, **facts))
            return {}
        return {strategy: replace(law, strategy=strategy, target=target)}

    by_strategy, ended = law_rows(runs)
    laws: dict[str, Law] = {}
    powers: dict[str, Law] = {}
    forgetting: dict[str, Law] = {}
    line = None if "scratch" in by_strategy else line_rows(runs)
    for strategy, rows in by_strategy.items():
        if strategy == "cpt" and line:
            continue
        form, base = ("cpt", laws.get("scratch")) if strategy == "cpt" else ("chinchilla", None)
        laws |= fitted(strategy, "law", form, rows, base)
        by_unit = replace(rows, runs=rows.units, units=None)
        powers |= fitted(strategy, "envelope", "power", by_unit)
    if line:
        laws |= fitted("cpt", "law", LINE.name, line)
    replayed = continued(runs)
    if len({run.replay for run in replayed}) > 1:
        forgetting = fitted("cpt", "law of forgetting", "forgetting", base_losses(replayed))
    return TargetLaws(target, laws, powers, forgetting.get("cpt"), tuple(refused), ended)


def compare_laws(
    fitted: TargetLaws, runs: Sequence[RunCurves], draws: int = 400
) -> LawComparison | None:
    """The fitting errors of the forms with and without gamma on the runs of one target.

    On the very losses its laws were fitted on; None where there is too little to compare. Runs of
    one shape and seed are resampled and left out together, and count as one.
    """
    try:
        return compare_observed(law_rows(runs)[0], fitted.laws.get("scratch"), draws)
    except UserError:
        return None


def law_rows(runs: Sequence[RunCurves]) -> tuple[dict[str, Observations], bool]:
    """What the laws of one target are fitted on, by strategy, and whether on final losses alone.

    Runs without replay, on the language they learn; continued ones from the usual base. Of scratch
    and CPT both the same kind of loss, as one law takes parameters of the other.
    """
    plain = [run for run in usual_bases(runs) if not run.replay]
    of = {name: [run for run in plain if run.strategy == name] for name in ("scratch", "cpt")}
    of = {name: own for name, own in of.items() if own}
    ended = all(_ends_tell(name, own) for name, own in of.items())
    names = ("N", "D", "C")
    observed = {
        name: _observations(
            names, [(r, (float(r.params), *p)) for r in own for p in _late(r, r.learned, ended)]
        )
        for name, own in of.items()
    }
    return observed, ended and bool(of)


def line_rows(runs: Sequence[RunCurves]) -> Observations | None:
    """Tokens and final loss of continued runs of one target and one size.

    Of the share of replay that most runs have; None where they have fewer than four lengths.
    """
    every = continued(runs)
    shares = Counter(run.replay for run in every)
    same = [run for run in every if run.replay == shares.most_common(1)[0][0]]
    lengths = {round(np.log(run.tokens) / _LIKE) for run in same}
    if len({run.params for run in same}) != 1 or len(lengths) < 4:
        return None
    rows = [(run, (run.tokens, float(run.learned.loss[-1]))) for run in same]
    return replace(_observations(("D",), rows), units=None)


def _ends_tell(law: str, runs: Iterable[RunCurves]) -> bool:
    """Whether final losses suffice: more than a law needs, of enough lengths.

    Two sizes, or for the law of forgetting two shares of replay, must have several lengths.
    """
    lengths: dict[float, set[int]] = defaultdict(set)
    for run in runs:
        place = run.replay if law == "forgetting" else run.params
        lengths[place].add(round(np.log(run.tokens) / _LIKE))
    several = sum(len(of_one) > 1 for of_one in lengths.values())
    distinct = set().union(*lengths.values())
    ends = sum(map(len, lengths.values()))
    return several > 1 and len(distinct) >= _LENGTHS[law] and ends >= _FREE[law] + _SPARE


def _late(run: RunCurves, curve: Curve, ended: bool) -> Iterator[tuple[float, float, float]]:
    """Tokens, compute and loss of the evaluations that count: the last, or all past the warm-up."""
    late = curve.tokens >= (curve.tokens[-1] if ended else max(SETTLED * run.tokens, 1.0))
    columns = (values[late].tolist() for values in (curve.tokens, curve.compute, curve.loss))
    return zip(*columns, strict=True)


def base_losses(runs: Sequence[RunCurves]) -> Observations | None:
    """Tokens, share of its replay, loss at the start and loss of each base language of a run.

    Final losses alone, or all past the warm-up, as for what they learn. Base languages that were
    not evaluated before the first step are left out; None where that leaves nothing.
    """
    ended = _ends_tell("forgetting", runs)
    rows: list[tuple[RunCurves, tuple[float, ...]]] = []
    for run, lang in ((each, lang) for each in once(runs) for lang in each.forgettable):
        curve = run.curves[lang]
        if curve.tokens[0] > 0 or len(curve.tokens) < 2:
            continue
        start, share = float(curve.loss[0]), run.shares[lang]
        rows += [(run, (D, share, start, loss)) for D, _, loss in _late(run, curve, ended)]
    return _observations(("D", "r", "S"), rows) if rows else None


def _observations(
    names: Sequence[str], rows: Sequence[tuple[RunCurves, tuple[float, ...]]]
) -> Observations:
    """Rows of variables and a loss; all of a shape and seed are resampled as one."""
    *variables, loss = np.array([row for _, row in rows]).T
    return Observations(
        dict(zip(names, variables, strict=True)),
        loss,
        runs=[run.name for run, _ in rows],
        units=[f"{run.shape}, seed {run.seed}" for run, _ in rows],
    )
