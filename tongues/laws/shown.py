"""Fitted laws as rows of text for a terminal, in sentences, and as JSON."""

from collections.abc import Sequence
from typing import Any

from tongues.laws.allocation import allocate
from tongues.laws.compare import Comparison
from tongues.laws.implied import Implied
from tongues.laws.law import Law
from tongues.laws.targets import TargetLaws
from tongues.quantities import show_count

__all__ = [
    "comparison_rows",
    "law_as_json",
    "law_rows",
    "law_title",
    "laws_as_json",
    "parameter_rows",
    "remarks",
    "saved_sentences",
    "sentences",
]

_NAMES = ("E", "A", "alpha", "B", "beta", "gamma")
_MUCH = 1.0  # standard deviations a run must move a parameter to be named


def parameter_rows(law: Law) -> list[dict[str, str]]:
    """A row a parameter: its value, its 95 % interval, and whether it was fitted."""
    base = law.equation.taken_names
    rows: list[dict[str, str]] = []
    for name, value in law.params.items():
        ends = law.interval.get(name)
        note = "of the base" if name in base else ""
        note = "fixed" if name in law.fixed else note
        note = f"tied to {law.tied[name]}" if name in law.tied else note
        between = f"{ends[0]:.4g} to {ends[1]:.4g}" if ends else note
        between += f" ({note})" if ends and note else ""
        rows.append({"parameter": name, "value": f"{value:.6g}", "95 % interval": between})
    return rows


def law_title(law: Law) -> str:
    """Its name and formula."""
    return f"{law.form}: L = {law.equation.formula}"


def sentences(law: Law, *, brief: bool = False) -> list[str]:
    """What the law says, and how far it can be trusted, a line each; `brief` leaves out the use."""
    said = [
        f"fitted to {law.n_rows} rows of {law.n_runs} {law.strategy} runs".replace("  ", " ")
        + f"; mean Huber error {law.mean_huber:.3g}"
    ]
    best = None if brief else allocate(law)
    if best and law.loose:
        said.append("best size for C FLOPs: not pinned down by these runs, see below")
    elif best:
        a, b = (_between(getattr(best, name), best.interval.get(name)) for name in ("a", "b"))
        said.append(f"best size for C FLOPs: N = {best.N_coef:.3g} C^{a}")
        said.append(f"best tokens for C FLOPs: D = {best.D_coef:.3g} C^{b}")
    held = law.holdout
    if held:
        what = "sizes above" if held.variable == "N" else "compute above"
        said.append(
            f"held out, {what} {held.above:.3g} ({held.n_runs} runs): off by "
            f"{held.error:.2%} on average ({held.bias:+.2%}), within the fit by "
            f"{held.error_within:.2%}" + (", but its base saw them" if held.base_saw else "")
        )
    for one in law.leverage:
        if one.score >= _MUCH:
            moved = f", best size × {one.N_opt:.2f}" if one.N_opt else ""
            said.append(
                f"without run {one.run} a parameter moves by {one.score:.1f} standard deviations"
                f"{moved}"
            )
    return said


def saved_sentences(implied: Implied) -> list[str]:
    """What continuing saves against training from scratch, a line each."""
    said = [
        f"saved at the loss of {one.C:.2g} FLOPs from scratch, best sizes: {_percent(one.share)}"
        for one in implied.over_compute
    ]
    for one in (implied.by_size[0], implied.by_size[-1]) if implied.by_size else ():
        moved = one.transferred[0] if one.transferred else 0.0
        said.append(
            f"saved at {show_count(one.N or 0)} parameters after {show_count(one.D or 0)} tokens: "
            f"{_percent(one.share)}, or {show_count(moved)} tokens transferred"
        )
    return said


def _percent(ends: tuple[float, float | None, float | None]) -> str:
    value, low, high = ends
    return f"{value:.0%}" + (
        f" [{low:.0%}, {high:.0%}]" if low is not None and high is not None else ""
    )


def comparison_rows(found: Comparison) -> list[dict[str, str]]:
    """A row a law and strategy: its errors, fitted and on left-out runs."""
    return [
        {
            "rows of": entry.strategy,
            "law": entry.law,
            "runs": str(entry.n_runs),
            "fitting error": f"{entry.mean_huber:.3e}",
            "on left-out runs": f"{entry.validated:.3e}",
            "worse than the best by": "best"
            if entry.best
            else f"{entry.beyond[0]:.1e} [{entry.beyond[1]:.1e}, {entry.beyond[2]:.1e}]",
            "gamma": f"{entry.gamma[0]:.3f} [{entry.gamma[1]:.3f}, {entry.gamma[2]:.3f}]"
            if entry.gamma
            else "",
        }
        for entry in found.entries
    ]


def law_as_json(law: Law, *, draws: bool) -> dict[str, Any]:
    """A law at full precision; `draws` tells whether the bootstrap draws come along."""
    whole = law.to_json()
    return whole if draws else {name: value for name, value in whole.items() if name != "draws"}


def law_rows(fitted: Sequence[TargetLaws]) -> list[dict[str, str]]:
    """A row a law: every parameter with its 95 % interval."""
    rows: list[dict[str, str]] = []
    for of_target in fitted:
        for strategy, law in of_target.laws.items():
            shown = {
                name: _between(law.params[name], law.interval.get(name)) for name in law.params
            }
            best = None if of_target.loose(strategy) else allocate(law)
            optimum = "not pinned down"
            if best:
                optimum = f"N = {best.N_coef:.3g} C^{_between(best.a, best.interval.get('a'))}"
            head = {"target": of_target.target, "law": strategy, "runs": str(law.n_runs)}
            cells = {name: shown.get(name, "") for name in _NAMES}
            rows.append(head | cells | {"best size for compute C": optimum})
    return rows


def _called(law: Law) -> str:
    return law.form if law.equation.role == "forgetting" else law.strategy


def remarks(fitted: Sequence[TargetLaws]) -> list[str]:
    """Every caution and refusal, a sentence each."""
    said: list[str] = []
    for of_target in fitted:
        for law in of_target.all:
            name = f"{of_target.target}, {_called(law)} law"
            said += [f"{name}: {caution}" for caution in law.warnings]
        said += of_target.refused
    return said


def laws_as_json(fitted: Sequence[TargetLaws], *, draws: bool) -> dict[str, Any]:
    """All laws at full precision; `draws` tells whether the bootstrap draws come along."""
    laws = [law_as_json(law, draws=draws) for of_target in fitted for law in of_target.all]
    return {"laws": laws, "refused": [reason for f in fitted for reason in f.refused]}


def _between(value: float, ends: tuple[float, float] | None) -> str:
    return f"{value:.3g}" + (f" [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else "")
