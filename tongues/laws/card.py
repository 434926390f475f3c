"""The section of a model's card that laws give, as Markdown."""

from collections.abc import Iterator, Sequence

from tongues.laws.describe import law_title, parameter_rows, runs_line, sentences
from tongues.laws.forms import VARIABLES
from tongues.laws.law import Law
from tongues.pages import Table, as_markdown
from tongues.quantities import show_count

__all__ = ["laws_section"]

_COUNTS = ("N", "D", "U")


def laws_section(laws: Sequence[Law]) -> str:
    """Each law's form, its parameters with intervals, what it was fitted on, and its cautions."""
    said = "Of the loss of models that are trained likewise; this one need not be among those seen."
    return "\n".join(["## Laws", "", said, *(line for law in laws for line in _law(law))]) + "\n"


def _law(law: Law) -> Iterator[str]:
    told = law.strategy if law.strategy != law.form else ""
    yield from ("", f"### {law.form}{_of(told, law.target)}", "")
    meanings = ", ".join(f"{name} {VARIABLES[name]}" for name in law.equation.variables)
    yield f"`{law_title(law).partition(': ')[2]}`, in nats per token; {meanings}."
    yield from ("", as_markdown([Table.of(parameter_rows(law))]), "")
    if law.roles:
        yield f"- {runs_line(law)}"
    if law.source:
        yield f"- from {law.source}"
    if law.n_runs:
        yield from (f"- {line}" for line in sentences(law))
        yield f"- seen: {', '.join(_seen(law))}; beyond that it extrapolates"
    if law.warnings:
        yield from ("", "Cautions:", "", *(f"- {caution}" for caution in law.warnings))


def _of(strategy: str, target: str) -> str:
    told = " of ".join(filter(None, (strategy and f"{strategy} runs", target)))
    return f", {told}" if told else ""


def _seen(law: Law) -> Iterator[str]:
    for name, ends in law.range.items():
        show = show_count if name in _COUNTS else "{:.4g}".format
        yield f"{name} {' to '.join(map(show, ends))}"
