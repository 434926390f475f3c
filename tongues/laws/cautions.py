"""What a fit cannot be trusted for: typed cautions, never silence."""

from collections.abc import Iterator

import numpy as np

from tongues.core.errors import Caution
from tongues.core.magnitudes import counted
from tongues.laws.allocation import about_allocation
from tongues.laws.forms import Form
from tongues.laws.law import Law
from tongues.laws.rows import Rows
from tongues.laws.solver import FitProblem, Optimum
from tongues.laws.uncertainty import FEWEST_RUNS

_FEW_SIZES = 4
_FEW_RUNS = 6
_FEWEST_COUNTED = 1e4  # parameters or tokens of the smallest model anybody fits a law to
_TOGETHER = 0.98  # a correlation of log N and log D beyond which their terms blend
_ILL_CONDITIONED = 1e6  # healthy sets of published runs are between 1e3 and 2e4
_NOTHING = 1e-3  # an E below this share of the lowest loss is as good as zero
_OUTLYING = 8.0  # robust standard deviations
_SHOWN = 5
_TESTED = 12  # runs, for a test of the form
_NEAR = 0.1  # in log size and log tokens: runs that should end alike
_TWINS = 3  # pairs of such
_MIXED = 0.05  # of the loss; single experiments scatter by up to 2 %
_BENT = 6.0  # of an F-statistic: rarer than 1 in 10,000 where the form is right
_SLIGHT = 1e-3  # of the loss; a smaller bend decides nothing


def doubts_of_fit(
    law: Law, fitted: Rows, problem: FitProblem, optimum: Optimum, rows: Rows, base: Law | None
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
        *(_about_base(rows, form, base) if base else ()),
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
        yield Caution("few_sizes", f"only {sizes} model sizes; the exponent of N is a guess")
    for column, things, name in ((N, "parameters", "params"), (D, "tokens", "tokens")):
        if column is not None and np.median(column) < _FEWEST_COUNTED:
            what = f"half of the rows have fewer than {float(np.median(column)):g} {things}"
            scaled = f"if a table has them in millions, name the column like `{name} (M)`"
            yield Caution("implausible_amounts", f"{what}; {scaled}")
    if N is not None and D is not None and (D < N).all():
        what = "every row has fewer tokens than parameters: too few, or are columns swapped?"
        yield Caution("implausible_amounts", what)
    if rows.n_runs < FEWEST_RUNS:
        yield Caution("no_intervals", f"{counted(rows.n_runs, 'run')} to resample: too few")
    elif rows.n_runs < _FEW_RUNS:
        what = f"only {rows.n_runs} runs to resample; intervals are too narrow"
        yield Caution("few_runs", what)
    if N is not None and D is not None:
        correlation = np.corrcoef(np.log(N), np.log(D))[0, 1]
        if abs(correlation) > _TOGETHER:
            what = f"log N and log D correlate at {correlation:.3f}; what is due to size and what "
            what += "to tokens cannot be separated"
            yield Caution("sizes_and_tokens_together", what)


def _about_residuals(rows: Rows, residual: np.ndarray) -> Iterator[Caution]:
    """Runs far from the law; residual: log measured − log law, a row each."""
    middle = np.array([np.median(residual[rows.run == run]) for run in range(rows.n_runs)])
    spread = 1.4826 * np.median(np.abs(middle - np.median(middle)))
    far = np.flatnonzero(np.abs(middle) > max(_OUTLYING * spread, 0.03))
    if far.size:
        worst = far[np.argsort(-np.abs(middle[far]))]
        names = _some([f"{rows.runs[i]} ({np.expm1(middle[i]):+.0%})" for i in worst])
        verb = "is" if far.size == 1 else "are"
        what = f"{far.size} of {rows.n_runs} runs {verb} far from the law: {names}; look whether "
        what += "they diverged or are in another unit, and fit without them"
        yield Caution("outlying_runs", what)


def _about_fit(rows: Rows, residual: np.ndarray) -> Iterator[Caution]:
    """Runs that no law of this form could fit: of several experiments, or along another curve.

    residual: log measured − log law, a row each; the last row of each run counts.
    """
    if not {"N", "D"} <= rows.variables.keys() or rows.n_runs < _TESTED:
        return
    last = np.array([np.flatnonzero(rows.run == run)[-1] for run in range(rows.n_runs)])
    N, D, off = rows.variables["N"][last], rows.variables["D"][last], residual[last]
    n, d = np.log(N), np.log(D)
    near = (np.abs(n[:, None] - n) < _NEAR) & (np.abs(d[:, None] - d) < _NEAR)
    for name in rows.variables.keys() - {"N", "D"}:
        near &= rows.variables[name][last][:, None] == rows.variables[name][last]
    apart = np.abs(off[:, None] - off)[np.triu(near, 1)]
    spread = 1.4826 * float(np.median(np.abs(off - np.median(off))))
    twins = float(np.median(apart)) if len(apart) >= _TWINS else 0.0
    if max(spread, twins) > _MIXED:
        what = f"runs are {spread:.0%} off the law"
        what += f", and of like size and tokens {twins:.0%} apart" if twins > _MIXED else ""
        what += "; they are of several experiments (text, tokenizer, unit), or follow no such law"
        yield Caution("mixed_experiments", f"{what}: fit each alone with --where")
        return
    kept = np.abs(off - np.median(off)) <= 5.0 * spread
    x, z = (n + d)[kept], (d - n)[kept]
    x, z = (x - x.mean()) / max(x.std(), 1e-9), (z - z.mean()) / max(z.std(), 1e-9)
    columns = np.stack([np.ones(len(x)), x, z, x * x, z * z, x * z], axis=-1)
    curve = columns @ np.linalg.lstsq(columns, off[kept], rcond=None)[0]
    rank, total = np.linalg.matrix_rank(columns), ((off[kept] - off[kept].mean()) ** 2).sum()
    left, free = ((off[kept] - curve) ** 2).sum(), len(x) - rank
    if free < rank or not total > 0:
        return
    F = (total - left) / max(rank - 1, 1) / max(left / free, 1e-300)
    size = float(curve.std())
    if F > _BENT and size > _SLIGHT:
        what = "the runs bend from this form: a curve over compute and tokens per parameter "
        what += f"explains {1.0 - left / total:.0%} of what is left (F {F:.0f}), {size:.1%} of the "
        what += "loss; predictions follow it, parameters and best sizes do not"
        yield Caution("lack_of_fit", what)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _about_base(rows: Rows, form: Form, base: Law) -> Iterator[Caution]:
    """Rows below what the base law allows, and a base that is loose or without draws."""
    below = np.flatnonzero(rows.loss <= form.known(base.params, rows.variables))
    if below.size:
        runs = _some(list(dict.fromkeys(rows.runs[i] for i in rows.run[below])))
        what = f"{below.size} of {len(rows.loss)} rows have a loss the base law's "
        what += f"E + A/N^alpha forbids, of runs {runs}; the base does not fit these runs"
        yield Caution("below_base", what)
    if base.loose:
        codes = ", ".join(dict.fromkeys(caution.code for caution in base.loose))
        yield Caution("loose_base", f"its base is not pinned down either ({codes})")
    if not base.draws:
        what = "the base law has no bootstrap draws; intervals leave out its uncertainty"
        yield Caution("base_without_draws", what)


def _about_optimum(problem: FitProblem, optimum: Optimum) -> Iterator[Caution]:
    """Parameters at a bound, an E of nothing, a flat valley, a descent cut short."""
    theta, names, floor = optimum.theta[0], problem.names, problem.form.floor
    near = 1e-9 * (problem.high - problem.low)
    pressed = (theta <= problem.low + near) | (theta >= problem.high - near)
    point = problem.params(theta)
    for name in (names[index] for index in np.flatnonzero(pressed)):
        if name in problem.form.exponents:
            what = f"{name} stopped at the edge of what is searched, {float(point[name]):.4g}"
            yield Caution("at_bound", what)
        elif name != floor:
            yield Caution(
                "at_bound", f"the term of {name} vanished; it has no effect in these runs"
            )
    vanished = theta < problem.log_loss.min() + np.log(_NOTHING)
    if floor in names and vanished[names.index(floor)]:
        what = f"{floor} is as good as zero; these runs do not show where loss levels off"
        yield Caution("zero_E", what)
    values = np.linalg.eigvalsh(optimum.curvature[0][np.ix_(~pressed, ~pressed)])
    if values.size and values[0] * _ILL_CONDITIONED < values[-1]:
        what = "very different parameters fit these runs equally well; "
        what += "trust the curve within its range, not the single parameters"
        yield Caution("ill_conditioned", what)
    if optimum.gradient[0] > 1e-6 * problem.delta:
        yield Caution("not_converged", f"the gradient is still {optimum.gradient[0]:.1e}")
