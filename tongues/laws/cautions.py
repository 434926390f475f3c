"""What a fit cannot be trusted for: typed cautions, never silence."""

from collections.abc import Iterator, Mapping

import numpy as np

from tongues.core.errors import Caution
from tongues.core.magnitudes import counted
from tongues.laws.forms import Form
from tongues.laws.law import Law
from tongues.laws.rows import FEWEST_RUNS, Rows
from tongues.laws.solver import FitProblem, Optimum
from tongues.laws.words import caution
from tongues.runs.tables.checks import name_rows

# Chosen; a law that these doubt gives no best size (few_sizes) or warns of its intervals.
_FEW_SIZES = 4  # sizes below which three parameters of size (E, A, alpha) fit anything
_FEW_RUNS = 6  # runs below which most resamples repeat few of them
_FEWEST_COUNTED = 1e4  # parameters or tokens of the smallest model anybody fits a law to
_TOGETHER = 0.98  # a correlation of log N and log D beyond which their terms blend
_ILL_CONDITIONED = 1e6  # healthy sets of published runs are between 1e3 and 2e4
_NOTHING = 1e-3  # an E below this share of the lowest loss is as good as zero
_OUTLYING, _APART = 8.0, 0.03  # robust standard deviations, and log loss, of an outlying run
_ROBUST = 1.4826  # a normal's standard deviation in its median absolute one
_TESTED = 12  # runs, for a test of the form
_NEAR = 0.1  # in log size and log tokens: runs that should end alike
_TWINS = 3  # pairs of such
_MIXED = 0.05  # of the loss; single experiments scatter by up to 2 %
_OF_TEST = 5.0  # robust standard deviations of the runs by which the form is tested
_BENT = 6.0  # of an F-statistic: rarer than 1 in 10,000 where the form is right
_SLIGHT = 1e-3  # of the loss; a smaller bend decides nothing
_DOUBTED = 0.025  # share of the draws without a best size: one end of a 95 % interval


def doubts_of_fit(
    law: Law, fitted: Rows, problem: FitProblem, optimum: Optimum, base: Law | None
) -> tuple[Caution, ...]:
    """Every caution about a law.

    fitted: the rows that the law was fitted to, of those that were given. base: the law below.
    """
    form = law.equation
    residual = np.log(fitted.loss) - np.log(form.loss(law.params, fitted.variables))
    return (
        *_about_rows(fitted, problem),
        *_about_residuals(fitted, residual),
        *_about_fit(fitted, residual),
        *(_about_base(fitted, form, base) if base else ()),
        *_about_optimum(problem, optimum),
        *about_allocation(form, law.params, law.draws),
    )


def _about_rows(rows: Rows, problem: FitProblem) -> Iterator[Caution]:
    """Too few sizes or runs, implausible counts, or sizes and tokens that only grew together."""
    N, D = (rows.variables.get(name) for name in "ND")
    sizes = _FEW_SIZES if N is None else len(np.unique(N))
    powers = problem.form.powers
    of_size = any(powers[name].variable == "N" for name in problem.names if name in powers)
    if sizes < _FEW_SIZES and of_size:
        yield caution("few_sizes", sizes=sizes)
    for counts, column, what in ((N, "params", "parameters"), (D, "tokens", "tokens")):
        if counts is not None and (median := float(np.median(counts))) < _FEWEST_COUNTED:
            yield caution("implausible_amounts.few", median=median, column=column, what=what)
    if N is not None and D is not None and (D < N).all():
        yield caution("implausible_amounts.swapped")
    if rows.n_runs < FEWEST_RUNS:
        yield caution("no_intervals", runs=counted(rows.n_runs, "run"))
    elif rows.n_runs < _FEW_RUNS:
        yield caution("few_runs", runs=rows.n_runs)
    if N is not None and D is not None:
        correlation = np.corrcoef(np.log(N), np.log(D))[0, 1]
        if abs(correlation) > _TOGETHER:
            yield caution("sizes_and_tokens_together", correlation=correlation)


def _about_residuals(rows: Rows, residual: np.ndarray) -> Iterator[Caution]:
    """Runs far from the law; residual: log measured − log law, a row each."""
    middle = np.array([np.median(residual[rows.run == run]) for run in range(rows.n_runs)])
    spread = _ROBUST * np.median(np.abs(middle - np.median(middle)))
    far = np.flatnonzero(np.abs(middle) > max(_OUTLYING * spread, _APART))
    if far.size:
        worst = far[np.argsort(-np.abs(middle[far]))].tolist()
        named = name_rows(rows.runs, worst, [f"{off:+.0%}" for off in np.expm1(middle)])
        yield caution("outlying_runs", far=far.size, runs=rows.n_runs, named=named)


def _about_fit(rows: Rows, residual: np.ndarray) -> Iterator[Caution]:
    """Runs that no law of this form could fit: of several experiments, or along another curve.

    residual: log measured − log law, a row each; the last row of each run counts.
    """
    if not {"N", "D"} <= rows.variables.keys() or rows.n_runs < _TESTED:
        return
    last = np.array([np.flatnonzero(rows.run == run)[-1] for run in range(rows.n_runs)])
    variables = {name: values[last] for name, values in rows.variables.items()}
    off = residual[last]
    spread = _ROBUST * float(np.median(np.abs(off - np.median(off))))
    twins = _between_twins(variables, off)
    if max(spread, twins) > _MIXED:
        case = "apart" if twins > _MIXED else "off"
        yield caution(f"mixed_experiments.{case}", spread=spread, twins=twins)
        return
    kept = np.abs(off - np.median(off)) <= _OF_TEST * spread
    n, d = np.log(variables["N"])[kept], np.log(variables["D"])[kept]
    if bend := _bend(n + d, d - n, off[kept]):
        explained, F, size = bend
        if F > _BENT and size > _SLIGHT:
            yield caution("lack_of_fit", explained=explained, F=F, size=size)


def _between_twins(variables: Mapping[str, np.ndarray], off: np.ndarray) -> float:
    """How far runs end apart that are alike in size and tokens; 0 where few are alike."""
    alike = np.ones((len(off), len(off)), bool)
    for name, values in variables.items():
        if name in ("N", "D"):
            alike &= np.abs(np.log(values)[:, None] - np.log(values)) < _NEAR
        else:
            alike &= values[:, None] == values
    apart = np.abs(off[:, None] - off)[np.triu(alike, 1)]
    return float(np.median(apart)) if len(apart) >= _TWINS else 0.0


def _bend(
    compute: np.ndarray, ratio: np.ndarray, off: np.ndarray
) -> tuple[float, float, float] | None:
    """A quadratic of logs through what is left: the share it explains, its F, and its size.

    None where runs are too few for it.
    """
    x, z = ((one - one.mean()) / max(one.std(), 1e-9) for one in (compute, ratio))
    columns = np.stack([np.ones(len(x)), x, z, x * x, z * z, x * z], axis=-1)
    curve = columns @ np.linalg.lstsq(columns, off, rcond=None)[0]
    rank, total = np.linalg.matrix_rank(columns), ((off - off.mean()) ** 2).sum()
    left, free = ((off - curve) ** 2).sum(), len(x) - rank
    if free < rank or not total > 0:
        return None
    F = (total - left) / max(rank - 1, 1) / max(left / free, 1e-300)
    return float(1.0 - left / total), float(F), float(curve.std())


def _about_base(rows: Rows, form: Form, base: Law) -> Iterator[Caution]:
    """Rows below what the base law allows, and a base that is loose or without draws."""
    below = np.flatnonzero(rows.loss <= form.known(base.params, rows.variables))
    if below.size:
        runs = list(dict.fromkeys(rows.runs[i] for i in rows.run[below]))
        named = name_rows(runs, range(len(runs)))
        yield caution("below_base", below=below.size, rows=len(rows.loss), named=named)
    if base.loose:
        codes = ", ".join(dict.fromkeys(one.code for one in base.loose))
        yield caution("loose_base", codes=codes)
    if not base.draws:
        yield caution("base_without_draws")


def _about_optimum(problem: FitProblem, optimum: Optimum) -> Iterator[Caution]:
    """Parameters at a bound, an E of nothing, a flat valley, a descent cut short."""
    theta, names, floor = optimum.theta[0], problem.names, problem.form.floor
    near = 1e-9 * (problem.high - problem.low)
    pressed = (theta <= problem.low + near) | (theta >= problem.high - near)
    point = problem.params(theta)
    for name in (names[index] for index in np.flatnonzero(pressed)):
        if name in problem.form.exponents:
            yield caution("at_bound.exponent", name=name, value=float(point[name]))
        elif name != floor:
            yield caution("at_bound.term", name=name)
    vanished = theta < problem.log_loss.min() + np.log(_NOTHING)
    if floor in names and vanished[names.index(floor)]:
        yield caution("zero_E", name=floor)
    values = np.linalg.eigvalsh(optimum.curvature[0][np.ix_(~pressed, ~pressed)])
    if values.size and values[0] * _ILL_CONDITIONED < values[-1]:
        yield caution("ill_conditioned")
    if optimum.gradient[0] > 1e-6 * problem.delta:
        yield caution("not_converged", gradient=optimum.gradient[0])


def about_allocation(
    form: Form, params: Mapping[str, float], draws: Mapping[str, np.ndarray]
) -> Iterator[Caution]:
    """Whether an optimum inside the plane exists at all, and in how many draws it does not."""
    split = form.split
    if split is None:
        return
    if not split.interior(params):
        named = {"A": split.A, "B": split.B, "alpha": split.alpha, "beta": split.beta}
        of = [f"{name} {value:.3g}" for name, value in params.items() if name != split.E]
        values = ", ".join(of)
        yield caution("no_interior_optimum", gamma=split.gamma or "gamma", values=values, **named)
        return
    outside = 1.0 - np.mean(split.interior(draws)) if draws else 0.0
    if outside > _DOUBTED:
        yield caution("optimum_in_doubt", outside=outside)
