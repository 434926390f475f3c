"""A law in words."""

import math

import numpy as np

from tongues.laws.law import Law, allocate
from tongues.magnitudes import counted, show_count

_BEYOND = 10.0  # how far past the runs a prediction goes that is printed
_DRAWS = 1000  # of it


def parameter_rows(law: Law) -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    rows: list[dict[str, str]] = []
    for name, of in law.parameters.items():
        ends = f"{of.low:.4g} to {of.high:.4g}" if of.low is not None else ""
        cell = f"{ends} ({of.reason})" if ends and of.reason else ends or of.reason
        rows.append({"parameter": name, "value": f"{of.value:.6g}", "95 % interval": cell})
    return rows


def sentences(law: Law, *, brief: bool = False) -> list[str]:
    """What the law gives and how far to trust it, a line each; `brief` leaves out the use."""
    runs = " ".join(filter(None, (str(law.n_runs), law.strategy, "runs")))
    lines = [f"fitted to {law.n_rows} rows of {runs}; mean Huber error {law.mean_huber:.3g}"]
    best, held = None if brief else allocate(law), law.holdout
    if best and law.loose:
        lines.append("best size for C FLOPs: not pinned down by these runs, see below")
    elif best:
        lines += [f"best {line}" for line in best.sentences]
    if held:
        lines.append(
            f"held out, compute above {held.above:.3g} ({counted(held.n_runs, 'run')}): off by "
            f"{held.error:.2%} on average ({held.bias:+.2%}), within the fit by "
            f"{held.error_within:.2%}"
        )
    return lines + ([] if brief else predicted(law))


def predicted(law: Law) -> list[str]:
    """What one run of ten times the most compute would end at."""
    variables = set(law.equation.variables)
    if law.rows is None or variables not in ({"N", "D"}, {"D"}):
        return []
    where = f"{_BEYOND:g} times the most"
    if variables == {"D"}:
        at = {"D": _BEYOND * law.range["D"][1]}
        where = f"{show_count(at['D'])} tokens, {where}"
    else:
        compute, best = _BEYOND * law.range["C"][1], None if law.loose else allocate(law)
        ratio = float(np.median(law.rows.variables["D"] / law.rows.variables["N"]))
        N = float(best.sizes(compute)[0]) if best else math.sqrt(compute / 6.0 / ratio)
        at = {"N": N, "D": compute / (6.0 * N)}
        shape = f"{show_count(at['N'])} parameters on {show_count(at['D'])} tokens"
        where = f"{where} compute, {shape}"
    of = law.predictor(_DRAWS)(**at).estimates[0]
    return [
        f"predicted for one run of {where}: {of.value:.4g}, 95 % of such runs {of.low:.4g} to "
        f"{of.high:.4g}"
    ]
