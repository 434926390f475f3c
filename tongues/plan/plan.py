"""A plan: the options that the laws in hand lay out for a question, and which one to take.

It prints in a few lines, and shows itself in a notebook as a table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError, nearest
from tongues.frames import html_table, text_table, to_frame
from tongues.pages import chart_of
from tongues.plan.laws import LawsInHand
from tongues.plan.options import MANY_EPOCHS, SLACK, Option, lay_out
from tongues.plan.question import Question
from tongues.plan.recommend import FLAT, Recommendation, recommend
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
        lines = [f"advice: {taken.why}", f"how sure: {taken.sure}"]
        if taken.flat_range:
            (least, most), (fewest, longest) = taken.flat_range.params, taken.flat_range.tokens
            lines.append(
                f"does not matter: from {show_count(least)} parameters on {show_count(longest)} "
                f"tokens to {show_count(most)} on {show_count(fewest)}, the same FLOPs come within "
                f"{FLAT:.1%} of that loss; a smaller model is cheaper to use."
            )
        if taken.replay:
            lines.append(f"replay: {taken.replay}")
        shown = [one for one in self.options if not one.way.replay or one is taken.option]
        return lines + [f"note: {one.name}: {note}." for one in shown for note in one.notes]

    def to_frame(self) -> Any:
        """A row an option with its numbers, as a data frame of pandas or polars."""
        taken = self.recommendation.option
        named = ((one, {"recommended": one is taken}) for one in self.options)
        return to_frame([first | one.to_json() | {"base": one.base} for one, first in named])

    def plot(self, name: str = "options") -> Any:
        """One of its figures as an altair chart: `options`, `flat-range` or `replay`."""
        from tongues.plan.figures import plan_figures

        charts = {figure.name: figure for figure in plan_figures(self)}
        if name not in charts:
            hint = nearest(name, charts)
            raise UserError(f"this plan has no figure `{name}`", where="plot", hint=hint)
        return chart_of(charts[name])

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return html_table(self.rows()) + lines

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, without the draws of the laws."""
        laws = [
            known.law.to_json(draws=False) | {"name": known.name, "strategy": known.strategy}
            for known in self.laws.known
        ]
        return {
            "law": laws[0],
            "laws": laws,
            "budget": self.question.to_json(),
            "options": [option.to_json() for option in self.options],
            "recommendation": self.recommendation.to_json(),
            "warnings": [asdict(caution) for caution in self.warnings],
        }


def make_plan(laws: LawsInHand, question: Question) -> Plan:
    """Lay out every way of spending the budget, and recommend one.

    A UserError when no law has an option: none reaches the loss, or none has a best size.
    """
    every = ways_of(laws, question)
    options = lay_out([way for way in every if not way.law.loose], laws, question)
    with_option = {option.way for option in options}
    missing = [_no_option(w, question) for w in every if w not in with_option and not w.replay]
    if not options:
        first = missing[0]
        where, hint = "", "give a size by --params, or a base by --base"
        if first.code == "not_pinned_down":
            where, hint = "--law", "train more runs, of other sizes and budgets, and fit again"
        elif question.target_loss is not None:
            more = "" if math.isinf(question.available) else ", or find more text"
            hint = f"ask for a higher loss{more}"
        raise UserError(first.sentence, where=where, code=first.code, hint=hint)
    taken = recommend(options, question, starting_loss(laws, question))
    cautions = (
        *question.warnings,
        *laws.cautions,
        *doubts(laws, question),
        *missing,
        *_about_options(options, question),
        *_about_taken(options, taken, laws),
    )
    return Plan(question, laws, tuple(options), taken, tuple(dict.fromkeys(cautions)))


def _no_option(way: Way, question: Question) -> Caution:
    """Why a way has no option."""
    if way.law.loose:
        reasons = "; ".join(dict.fromkeys(caution.sentence for caution in way.law.loose))
        what = f"the runs behind `{way.law_name}` do not pin it down, so it is left out ({reasons})"
        return Caution("not_pinned_down", what)
    floor = math.nan if question.target_loss is None else float(way.loss(np.array(_ENDLESS)))
    if math.isfinite(floor):
        on = "" if math.isinf(way.unique) else f" on {show_count(way.unique)} tokens of text"
        what = f"no compute reaches a loss of {question.target_loss:g} by `{way.name}`: its law "
        return Caution("loss_out_of_reach", f"{what}goes no lower than {floor:.4g}{on}")
    what = (
        f"by the law `{way.law_name}` no size is the best for `{way.name}`: the further from the "
    )
    return Caution("no_interior_optimum", what + "usual, the better, which no run bears out")


def _about_options(options: Sequence[Option], question: Question) -> Iterator[Caution]:
    """What to doubt in the options, told once a law or way."""
    cluster = question.cluster
    for option in reversed({option.way.key: option for option in reversed(options)}.values()):
        name = option.name
        if option.compute_saved is not None and option.compute_saved < 0:
            yield Caution(
                "negative_saving",
                f"by these laws `{name}` costs more than training from scratch, {option.flops:.3g} "
                f"FLOPs against {option.flops_from_scratch:.3g} for the same loss of "
                f"{option.loss:.4g}",
            )
        repeats, epochs = option.way.repeats, option.epochs or 0.0
        if repeats and repeats.borrowed and epochs > 1:
            what = f"what a repeat of text is worth is taken from {repeats.borrowed} (English), "
            yield Caution("borrowed_repeats", what + "since no law in hand tells")
        if epochs > MANY_EPOCHS:
            enough = option.way.compute(option.loss * (1.0 + FLAT))
            yield Caution(
                "many_epochs",
                f"`{name}` reads its text {epochs:,.4g} times, and each time teaches less than the "
                f"one before; {enough:.3g} FLOPs come within {FLAT:.1%} of its loss, so that "
                f"{option.flops / enough:,.3g} times as much is hardly worth its price",
            )
        if option.loss > _GUESSING:
            what = f"`{name}`: a loss of {option.loss:.4g} is more than blind guessing among "
            what += "100,000 pieces has; this law does not reach down to so little compute"
            yield Caution("worse_than_guessing", what)
        if option.farthest:
            yield Caution(
                "projection", f"`{name}` lies {option.farthest}: a projection, no prediction"
            )
        needed = option.memory_per_gpu
        if cluster and needed and option.params and needed > cluster.gpu.memory:
            each = f"{show_bytes(needed)} on each of {cluster.count}"
            what = f"`{name}`: {show_count(option.params)} parameters need about {each}; one "
            what += f"{cluster.gpu.name} has {show_bytes(cluster.gpu.memory)}: take more of them"
            yield Caution("out_of_memory", what)
    unknown = dict.fromkeys(f"`{o.way.law_name}`" for o in options if o.projection is None)
    if unknown:
        what = f"{', '.join(unknown)}: on what sizes and tokens it was fitted is not recorded, so "
        yield Caution(
            "range_unknown", what + "whether this is a projection beyond them cannot be told"
        )


def _about_taken(
    options: Sequence[Option], taken: Recommendation, laws: LawsInHand
) -> Iterator[Caution]:
    """Laws by size and by compute that differ or mix; a far source loss; repeats that decide."""
    option, forgetting = taken.option, laws.find("forgetting")
    other = [o for o in options if o.way.of_compute != option.way.of_compute]
    if len({option.way.strategy for option in other}) == 1:
        what = "laws by size and laws by compute stand side by side; they were fitted apart, and "
        yield Caution("two_kinds", what + "their losses need not agree")
    elif taken.rival:
        kind = "compute" if taken.rival.way.of_compute else "size"
        what = f"the laws by {kind} take `{taken.rival.name}` instead: these laws contradict each "
        yield Caution("laws_disagree", what + "other")
    if forgetting and option.source_loss is not None and option.tokens is not None:
        low, high = forgetting.law.range.get("D", (0.0, math.inf))
        factor = max(option.tokens / high, low / option.tokens)
        if factor > SLACK:
            what = f"the source loss of `{option.name}` lies {factor:.3g} times beyond what "
            what += f"`{forgetting.name}` was fitted on in tokens: a projection, no prediction"
            yield Caution("projection", what)
    if taken.repeats_decide:
        yield Caution(
            "repeats_decide",
            "with enough different text a worse option would be as good as the best, or "
            "better; the rule for repeated text decides: its numbers are of training from "
            "scratch, and a base's parameters count as filled by its own text",
        )


def _row(option: Option, taken: bool) -> dict[str, str]:
    loss, flops, saved = f"{option.loss:.4g}", f"{option.flops:.3g}", option.compute_saved
    if ends := option.interval:
        loss += f" [{ends[0]:.4g}, {ends[1]:.4g}]"
    if ends := option.flops_interval:  # where a loss was asked for
        flops += " [{}, {}]".format(*(f"{e:.3g}" if math.isfinite(e) else "∞" for e in ends))
    shown = "" if saved is None else f"{saved:.1%}"
    if saved is not None and saved < 0:
        shown = f"none, {1 - saved:.3g} times as much"
    elif ends := option.compute_saved_interval:
        shown += f" [{ends[0]:.0%}, {ends[1]:.0%}]"
    hours, cost = (
        "" if amount is None else f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"
        for amount in (option.hours, option.cost)
    )
    return {
        "": "→" if taken else " ",
        "option": option.name,
        "parameters": "" if option.params is None else show_count(option.params),
        "tokens": "" if option.tokens is None else show_count(option.tokens),
        "loss": loss,
        "source loss": "" if option.source_loss is None else f"{option.source_loss:.4g}",
        "FLOPs": flops,
        "epochs": "" if option.epochs is None else f"{option.epochs:,.4g}",
        "hours": hours,
        "US$": cost,
        "memory/GPU": "" if option.memory_per_gpu is None else show_bytes(option.memory_per_gpu),
        "compute saved": shown,
        "projection": "yes" if option.projection else "",
    }
