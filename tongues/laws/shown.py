"""Fitted laws as rows of text for a terminal, and as JSON."""

from collections.abc import Sequence
from typing import Any

from tongues.laws.allocation import allocate
from tongues.laws.targets import TargetLaws

__all__ = ["law_rows", "laws_as_json", "remarks"]

_NAMES = ("E", "A", "alpha", "B", "beta", "gamma")


def law_rows(fitted: Sequence[TargetLaws]) -> list[dict[str, str]]:
    """A row a parameter: its value and 95 % interval in every law of that target."""
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


def remarks(fitted: Sequence[TargetLaws]) -> list[str]:
    """Every caution and refusal, a sentence each."""
    said: list[str] = []
    for of_target in fitted:
        for strategy, law in of_target.laws.items():
            name = f"{of_target.target}, {strategy} law"
            said += [f"{name}: {caution.sentence} ({caution.code})" for caution in law.warnings]
        said += of_target.refused
    return said


def laws_as_json(fitted: Sequence[TargetLaws], draws: bool) -> dict[str, Any]:
    """All laws at full precision; `draws` tells whether the bootstrap draws come along."""
    laws: list[dict[str, Any]] = []
    for of_target in fitted:
        for strategy, law in of_target.laws.items():
            whole = law.to_json()
            if not draws:
                del whole["draws"]
            head = {"target": of_target.target, "pinned_down": not of_target.loose(strategy)}
            laws.append(head | whole)
    return {"laws": laws, "refused": [reason for f in fitted for reason in f.refused]}


def _between(value: float, ends: tuple[float, float] | None) -> str:
    return f"{value:.3g}" + (f" [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else "")
