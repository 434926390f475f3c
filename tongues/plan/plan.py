"""A plan: the options that the laws in hand lay out for a question, and which one to take.

It prints in a few lines, and shows itself in a notebook as a table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError, nearest
from tongues.frames import html_table, text_table, to_frame
from tongues.pages import chart_of
from tongues.plan.certainty import FLAT
from tongues.plan.laws import LawsInHand
from tongues.plan.options import MANY_EPOCHS, SLACK, Option, lay_out
from tongues.plan.question import Question
from tongues.plan.recommend import Recommendation, recommend
from tongues.plan.strategies import doubts, starting_loss, ways_of
from tongues.plan.ways import Way
from tongues.quantities import show_bytes, show_count

__all__ = ["Plan", "make_plan"]

_GUESSING = math.log(100_000)  # nats per token of guessing among more pieces than most have
_ENDLESS = 1e40  # FLOPs; what is not reached by these is not reached


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, by which laws, the options, the one to take, and what to doubt."""

    question: Question
    laws: LawsInHand
    options: tuple[Option, ...]
    recommendation: Recommendation
    warnings: tuple[Caution, ...]

    def __str__(self) -> str:
        """The options in a table, and the advice."""
        return f"{text_table(self.rows())}\n\n{self.sentences()[0]}"

    __repr__ = __str__

    def summary(self) -> str:
        """All that `tongues plan` prints: the options, the advice, and every reason to doubt it."""
        return "\n".join([text_table(self.rows()), "", *self.sentences(), *map(str, self.warnings)])

    def rows(self) -> list[dict[str, str]]:
        """A row of text an option; columns that no option fills are left out."""
        rows = [_row(option, option is self.recommendation.option) for option in self.options]
        filled = [column for column in rows[0] if any(row[column] for row in rows)]
        return [{column: row[column] for column in filled} for row in rows]

    def sentences(self) -> list[str]:
        """The advice, how sure it is and what does not matter: a title and a sentence each."""
        taken = self.recommendation
        said = [f"advice: {taken.why}", f"how sure: {taken.sure}"]
        if taken.flat_range:
            (least, most), (fewest, longest) = taken.flat_range.params, taken.flat_range.tokens
            said.append(
                f"does not matter: from {show_count(least)} parameters on {show_count(longest)} "
                f"tokens to {show_count(most)} on {show_count(fewest)}, the same FLOPs come within "
                f"{FLAT:.1%} of that loss; a smaller model is cheaper to use."
            )
        if taken.replay:
            said.append(f"replay: {taken.replay}")
        shown = [one for one in self.options if not one.way.replay or one is taken.option]
        return said + [f"note: {one.name}: {note}." for one in shown for note in one.notes]

    def to_frame(self) -> Any:
        """A row an option with its numbers, as a data frame of pandas or polars."""
        taken = self.recommendation.option
        named = ((one, {"recommended": one is taken}) for one in self.options)
        return to_frame([first | one.to_json() | {"base": one.base} for one, first in named])

    def plot(self, name: str = "options") -> Any:
        """One of its figures as an altair chart: `options`, `flat-range` or `replay`."""
        drawn = import_module("tongues.report.plan_figures").plan_figures(self)
        charts = {figure.name: figure for figure in drawn}
        if name not in charts:
            hint = nearest(name, charts)
            raise UserError(f"this plan has no figure `{name}`", where="plot", hint=hint)
        return chart_of(charts[name])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return html_table(self.rows()) + said

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, without the draws of the laws."""
        laws = [
            known.law.to_json() | {"name": known.name, "strategy": known.strategy}
            for known in self.laws.known
        ]
        for law in laws:
            del law["draws"]
        return {
            "law": laws[0],
            "laws": laws,
            "budget": self.question.to_json(),
            "options": [option.to_json() for option in self.options],
            "recommendation": self.recommendation.to_json(),
            "warnings": [{"code": w.code, "sentence": w.sentence} for w in self.warnings],
        }


def make_plan(laws: LawsInHand, question: Question) -> Plan:
    """Lay out every way of spending the budget, and recommend one.

    A UserError when no law has an option: none reaches the loss, or none has a best size.
    """
    every = ways_of(laws, question)
    ways = [way for way in every if not way.law.loose]
    options = lay_out(ways, laws, question)
    told = {option.way for option in options}
    missing = [_no_option(way, question) for way in every if way not in told and not way.replay]
    if not options:
        first = missing[0]
        hint = "give a size by --params, or a base by --base"
        if first.code == "not_pinned_down":
            hint = "train more runs, of other sizes and budgets, and fit again"
            raise UserError(first.sentence, where="--law", code=first.code, hint=hint)
        if question.target_loss is not None:
            limited = not math.isinf(question.available)
            hint = "ask for a higher loss" + (", or find more text" if limited else "")
        raise UserError(first.sentence, code=first.code, hint=hint)
    starting = starting_loss(laws, question)
    recommendation = recommend(options, question, starting)
    warnings = [*question.warnings, *laws.cautions, *doubts(laws, question), *missing]
    warnings += [*_about_options(options, question), *_about_kinds(options, recommendation)]
    warnings += _about_source(recommendation.option, laws)
    if recommendation.repeats_decide:
        warnings.append(
            Caution(
                "repeats_decide",
                "with enough different text a worse option would be as good as the best, or "
                "better; the rule for repeated text decides: its numbers are of training from "
                "scratch, and a base's parameters count as filled by its own text",
            )
        )
    unique = {(caution.code, caution.sentence): caution for caution in warnings}
    return Plan(question, laws, tuple(options), recommendation, tuple(unique.values()))


def _no_option(way: Way, question: Question) -> Caution:
    """Why a way has no option."""
    if way.law.loose:
        reasons = "; ".join(dict.fromkeys(caution.sentence for caution in way.law.loose))
        what = f"the runs behind `{way.law_name}` do not pin it down, so it is left out ({reasons})"
        return Caution("not_pinned_down", what)
    if question.target_loss is not None:
        floor = float(way.loss(np.array(_ENDLESS)))
        if math.isfinite(floor):
            on = "" if math.isinf(way.unique) else f" on {show_count(way.unique)} tokens of text"
            return Caution(
                "loss_out_of_reach",
                f"no compute reaches a loss of {question.target_loss:g} by `{way.name}`: its law "
                f"goes no lower than {floor:.4g}{on}",
            )
    return Caution(
        "no_interior_optimum",
        f"by the law `{way.law_name}` no size is the best for `{way.name}`: the further from the "
        "usual, the better, which no run bears out",
    )


def _about_options(options: Sequence[Option], question: Question) -> Iterator[Caution]:
    """What to doubt in the options, told once a law or way."""
    first = {
        (option.way.strategy, option.way.base, option.way.law_name): option
        for option in reversed(options)
    }
    for option in reversed(first.values()):
        if option.compute_saved is not None and option.compute_saved < 0:
            needed = option.flops / (1.0 - option.compute_saved)
            yield Caution(
                "negative_saving",
                f"by these laws `{option.name}` costs more than training from scratch, "
                f"{option.flops:.3g} FLOPs against {needed:.3g} for the same loss of "
                f"{option.loss:.4g}",
            )
        yield from _about_repeats(option)
        if option.loss > _GUESSING:
            yield Caution(
                "worse_than_guessing",
                f"`{option.name}`: a loss of {option.loss:.4g} is more than blind guessing among "
                "100,000 pieces has; this law does not reach down to so little compute",
            )
        if option.farthest:
            yield Caution(
                "projection",
                f"`{option.name}` lies {option.farthest}: a projection, no prediction",
            )
        yield from _about_memory(option, question)
    unknown = dict.fromkeys(f"`{o.way.law_name}`" for o in options if o.projection is None)
    if unknown:
        yield Caution(
            "range_unknown",
            f"{', '.join(unknown)}: on what sizes and tokens it was fitted is not recorded, so "
            "whether this is a projection beyond them cannot be told",
        )


def _about_repeats(option: Option) -> Iterator[Caution]:
    """Text that is read again, and again."""
    repeats, epochs = option.way.repeats, option.epochs
    if repeats is None or epochs is None or epochs <= 1:
        return
    if repeats.borrowed:
        yield Caution(
            "borrowed_repeats",
            f"what a repeat of text is worth is taken from {repeats.borrowed} (English), since no "
            "law in hand tells",
        )
    if epochs > MANY_EPOCHS:
        enough = option.way.compute(option.loss * (1.0 + FLAT))
        yield Caution(
            "many_epochs",
            f"`{option.name}` reads its text {epochs:,.4g} times, and each time teaches less than "
            f"the one before; {enough:.3g} FLOPs come within {FLAT:.1%} of its loss, so that "
            f"{option.flops / enough:,.3g} times as much is hardly worth its price",
        )


def _about_source(option: Option, laws: LawsInHand) -> Iterator[Caution]:
    """A source loss told for more or fewer tokens than its law saw."""
    forgetting = laws.find("forgetting")
    if forgetting is None or option.source_loss is None or option.tokens is None:
        return
    low, high = forgetting.law.range.get("D", (0.0, math.inf))
    factor = max(option.tokens / high, low / option.tokens)
    if factor > SLACK:
        yield Caution(
            "projection",
            f"the source loss of `{option.name}` lies {factor:.3g} times beyond what "
            f"`{forgetting.name}` was fitted on in tokens: a projection, no prediction",
        )


def _about_memory(option: Option, question: Question) -> Iterator[Caution]:
    """An option that does not fit on the GPUs."""
    cluster, needed = question.cluster, option.memory_per_gpu
    if cluster and needed and option.params and needed > cluster.gpu.memory:
        each = f"{show_bytes(needed)} on each of {cluster.count}"
        yield Caution(
            "out_of_memory",
            f"`{option.name}`: {show_count(option.params)} parameters need about {each}; one "
            f"{cluster.gpu.name} has {show_bytes(cluster.gpu.memory)}: take more of them",
        )


def _about_kinds(options: Sequence[Option], taken: Recommendation) -> Iterator[Caution]:
    """Laws by size and laws by compute that answer differently, or that had to be mixed."""
    other = [o for o in options if o.way.of_compute != taken.option.way.of_compute]
    strategies = {option.way.strategy for option in other}
    if not other:
        return
    if len(strategies) < 2:
        yield Caution(
            "two_kinds",
            "laws by size and laws by compute stand side by side; they were fitted apart, and "
            "their losses need not agree",
        )
        return
    if taken.rival:
        kind = "compute" if taken.rival.way.of_compute else "size"
        yield Caution(
            "laws_disagree",
            f"the laws by {kind} take `{taken.rival.name}` instead: these laws contradict each "
            "other",
        )


def _row(option: Option, taken: bool) -> dict[str, str]:
    loss = f"{option.loss:.4g}"
    if option.interval:
        loss += f" [{option.interval[0]:.4g}, {option.interval[1]:.4g}]"
    return {
        "": "→" if taken else " ",
        "option": option.name,
        "parameters": _count(option.params),
        "tokens": _count(option.tokens),
        "loss": loss,
        "source loss": "" if option.source_loss is None else f"{option.source_loss:.4g}",
        "FLOPs": _compute(option),
        "epochs": "" if option.epochs is None else f"{option.epochs:,.4g}",
        "hours": "" if option.hours is None else _amount(option.hours),
        "US$": "" if option.cost is None else _amount(option.cost),
        "memory/GPU": "" if option.memory_per_gpu is None else show_bytes(option.memory_per_gpu),
        "compute saved": _saved(option),
        "projection": "yes" if option.projection else "",
    }


def _compute(option: Option) -> str:
    """The FLOPs, and between what they lie where a loss was asked for."""
    if option.flops_interval is None:
        return f"{option.flops:.3g}"
    low, high = (f"{end:.3g}" if math.isfinite(end) else "∞" for end in option.flops_interval)
    return f"{option.flops:.3g} [{low}, {high}]"


def _saved(option: Option) -> str:
    """The share of compute saved, or how many times as much it takes."""
    if option.compute_saved is None:
        return ""
    ends = option.compute_saved_interval
    between = f" [{ends[0]:.0%}, {ends[1]:.0%}]" if ends else ""
    if option.compute_saved < 0:
        return f"none, {1 - option.compute_saved:.3g} times as much"
    return f"{option.compute_saved:.1%}{between}"


def _count(number: float | None) -> str:
    return "" if number is None else show_count(number)


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
