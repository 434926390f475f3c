"""A plan: the options for a question, and which one to take.

It prints in a few lines, and shows itself in a notebook as a table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from tongues.errors import Caution, UserError, nearest
from tongues.frames import html_table, text_table, to_frame
from tongues.pages import chart_of
from tongues.plan.donors import donor_sentences
from tongues.plan.language import LanguageLevel
from tongues.plan.laws import PlanLaws
from tongues.plan.options import FLAT, SLACK, Layout, Option
from tongues.plan.published import Project, published_projects
from tongues.plan.question import Question
from tongues.plan.recommend import Recommendation, recommend
from tongues.plan.strategies import law_cautions, ways_of
from tongues.plan.ways import LeftOut
from tongues.quantities import show_bytes, show_count

_CAVEATS = 5  # that the command prints
_PROJECTS = 3
_LEFT_OUT = 3
_LARGER = 1.5  # times the base's parameters, from where another is worth a look
_FAR = 2.0  # times beyond a law's range, from where a projection is worth a caveat
_UNSPENT = 0.9  # of the budget; from there on the rest is worth a line
_PILOT = 0.01  # of the compute, as `pilot.share` has it
_LEAST_PILOT = 1e13  # FLOPs of the smallest grid, at two tokens per parameter
_MOST_PILOT = 0.6  # of the compute, from where a pilot is not worth it
# What can change the decision, the gravest first; other cautions are shown on request.
_DECISIVE = (
    "not_nats",
    "implausible_amounts",
    "no_text",
    "placeholder_base",
    "placeholder_text",
    "larger_machine",
    "other_size",
    "smaller_batch",
    "no_replay",
    "few_runs",
    "bytes_per_token",
    "no_interior_optimum",
    "source_loss_missing",
    "source_loss_assumed",
    "projection",
    "borrowed_cpt",
    "base_presumed",
    "bases_unused",
    "borrowed_repeats",
    "available_unused",
    "negative_saving",
    "no_forgetting_law",
    "disputed",
)
_HINTS = {
    "not_pinned_down": "train more runs, of other sizes and budgets, and fit again",
    "loss_out_of_reach": "ask for a higher loss, or find more text",
    "too_many_epochs": "ask for fewer tokens, or find more text",
    "out_of_memory": "take a smaller size, or more or larger GPUs",
    "too_long": "give more GPUs by `--gpus`, or a smaller budget",
    "worse_than_guessing": "give more compute, or laws of runs as small as this one",
    "above_base": "give more compute, or leave the base as it is",
}


class NoOption(UserError):
    """The budget can be spent in no way; left_out: why, for each of them."""

    def __init__(self, what: str, *, left_out: Sequence[LeftOut], **about: str) -> None:
        super().__init__(what, **about)
        self.left_out = tuple(left_out)


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, by which laws, the options, the one to take, and the caveats.

    left_out: why other ways cannot be taken. largest: parameters that the GPUs can train. level: of
    its language, where no law is of it.
    """

    question: Question
    laws: PlanLaws
    options: tuple[Option, ...]
    recommendation: Recommendation
    left_out: tuple[LeftOut, ...]
    warnings: tuple[Caution, ...]
    largest: float
    level: LanguageLevel | None = None

    def __str__(self) -> str:
        """The options in a table, and the advice."""
        return f"{text_table(self.rows())}\n\n{self.sentences()[0]}"

    __repr__ = __str__

    def summary(self) -> str:
        """All that is known: the sentences, and every caveat."""
        lines = [*self.sentences(), *map(str, self.left_out), *map(str, self.warnings)]
        return "\n".join([text_table(self.rows()), "", *lines])

    @property
    def writable(self) -> bool:
        """Whether the advice is of one run, of a known size, that a recipe can have."""
        option, decided = self.recommendation.option, self.recommendation.decided
        return decided and bool(option.params and option.tokens) and not option.way.experts

    @property
    def caveats(self) -> tuple[Caution, ...]:
        """The gravest of the warnings that could change the decision."""
        by_laws = self.recommendation.by == "laws"
        able = [
            caution
            for caution in self.warnings
            if caution.code in _DECISIVE and (by_laws or caution.code != "negative_saving")
        ]
        return tuple(sorted(able, key=lambda one: _DECISIVE.index(one.code))[:_CAVEATS])

    def rows(self) -> list[dict[str, str]]:
        """A row of text an option; columns that no option fills are left out."""
        mark = "→" if self.recommendation.decided else "?"
        taken = self.recommendation.option
        rows = [{"": mark if o is taken else " "} | _row(o, self.question) for o in self.options]
        if self.recommendation.by != "laws":  # which contradict each other
            rows = [row | {"compute saved": ""} for row in rows]
        return filled(rows)

    def sentences(self) -> list[str]:
        """The advice, how sure it is, replay, and what published projects did: a line each."""
        taken, option = self.recommendation, self.recommendation.option
        lines = [f"advice: {taken.why}"]
        lines += [f"how sure: {taken.sure}"] if taken.sure else []
        lines += [self.level.sentence] if self.level else []
        if taken.flat_range:
            (least, most), (fewest, longest) = taken.flat_range.params, taken.flat_range.tokens
            lines.append(
                f"does not matter: from {show_count(least)} parameters on {show_count(longest)} "
                f"tokens to {show_count(most)} on {show_count(fewest)}, the same FLOPs come within "
                f"{FLAT:.1%} of that loss; a smaller model is cheaper to use."
            )
        lines += _unspent(option, self)
        if taken.replay:
            lines.append(f"replay: {taken.replay}")
        if taken.verdict:
            lines += [f"published: {one}" for one in taken.verdict.nearest[:_PROJECTS]]
        if self.question.language:
            bases = tuple({base.name: base for base in self.question.bases}.values())
            lines += donor_sentences(self.question.language, bases)
        known = any(map(self.question.knows_already, self.question.bases))
        if not known and (not taken.decided or taken.by == "published"):
            lines.append(_pilot(option, self.question))
        shown = [one for one in self.options if one is option or not one.way.replay]
        lines += [f"note: {one.name}: {note}." for one in shown for note in one.notes]
        return lines + [f"left out: {one.sentence}." for one in self.left_out[:_LEFT_OUT]]

    def to_frame(self) -> Any:
        """A row an option with its numbers, as a data frame of pandas or polars."""
        taken = self.recommendation.option
        named = ((one, {"recommended": one is taken}) for one in self.options)
        return to_frame([first | one.to_json() | {"base": one.base} for one, first in named])

    def plot(self, name: str = "options") -> Any:
        """One of its figures as an altair chart: `options` or `replay`."""
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
            "left_out": [{"code": one.code, "sentence": one.sentence} for one in self.left_out],
            "warnings": [asdict(caution) for caution in self.warnings],
            "prior": self.level and self.level.forecast.to_json(),
        }


def make_plan(
    laws: PlanLaws,
    question: Question,
    projects: Sequence[Project] | None = None,
    level: LanguageLevel | None = None,
) -> Plan:
    """Every way of spending the budget that can be taken, and recommend one.

    projects: what others did; the table that comes with the package by default. A NoOption where
    no way can be taken.
    """
    projects = published_projects() if projects is None else projects
    ways, refused = ways_of(laws, question, projects)
    layout = Layout(ways, laws, question)
    options, left_out = layout.options()
    left_out = [*left_out, *refused]
    if not options:
        first, *others = left_out
        hint = _HINTS.get(first.code, "give a size by --params, or a base by --base")
        loose = first.code == "not_pinned_down"  # and so are those that are based on it
        others = [one for one in others if not (loose and one.code == first.code)]
        what = "; ".join([first.sentence, *(one.sentence for one in others[: _LEFT_OUT - 1])])
        where = "--law" if loose else ""
        raise NoOption(what, where=where, code=first.code, hint=hint, left_out=left_out)
    taken, every = recommend(layout, options, projects)
    cautions = (
        *question.warnings,
        *(level.forecast.cautions if level else ()),
        *laws.cautions,
        *law_cautions(laws, question),
        *_about_options(every, projects, question),
        *_about_taken(taken, laws),
        *_about_experts(laws, question),
    )
    return Plan(
        question,
        laws,
        every,
        taken,
        tuple(left_out),
        tuple(dict.fromkeys(cautions)),
        layout.largest(),
        level,
    )


def _about_options(
    options: Sequence[Option], projects: Sequence[Project], question: Question
) -> Iterator[Caution]:
    for option in reversed({option.way.key: option for option in reversed(options)}.values()):
        name, repeats = f"`{option.name}`", option.way.repeats
        if option.compute_saved is not None and option.compute_saved < 0:
            held = question.params if option.base else None  # what it is compared with is not
            what = f"by these laws {name} costs more than training from scratch"
            what += f"{' at the best size' * bool(held)}, {option.flops:.3g} FLOPs against "
            what += f"{option.flops_from_scratch:.3g} for the same loss of "
            what += question.show_loss(option.loss)
            what += f"; the row `scratch` is held at {show_count(held)} parameters" if held else ""
            yield Caution("negative_saving", what)
        if repeats and repeats.borrowed and (option.epochs or 0.0) > 1:
            what = f"what a repeat of text is worth is taken from {repeats.borrowed} (English), "
            yield Caution("borrowed_repeats", what + "since no law here has it")
        if max((option.beyond or {}).values(), default=0.0) > _FAR:
            yield Caution("projection", f"{name} is a projection, {option.farthest}")
        way = option.way
        if question.may_forget(way.base) and not (way.replay or way.advice or way.experts):
            without = [p for p in projects if p.method != "scratch" and p.replay == 0]
            fell = "; ".join(f"{p.project} {p.english:+g}" for p in without if p.english)
            what = f"{name} replays nothing, and published projects that did lost English ({fell} "
            yield Caution("no_replay", what + "points)")
    unknown = dict.fromkeys(f"`{o.way.law_name}`" for o in options if o.projection is None)
    if unknown:
        what = f"{', '.join(unknown)}: the sizes and tokens it was fitted on are not recorded, so "
        yield Caution("range_unknown", what + "whether this is a projection is not known")


def _about_taken(taken: Recommendation, laws: PlanLaws) -> Iterator[Caution]:
    option, forgetting = taken.option, laws.find("forgetting")
    if forgetting and option.source_loss is not None and option.tokens is not None:
        low, high = forgetting.law.range.get("D", (0.0, math.inf))
        factor = max(option.tokens / high, low / option.tokens)
        if factor > SLACK:
            what = f"the source loss of `{option.name}` is {factor:.3g} times beyond what "
            yield Caution("projection", f"{what}`{forgetting.name}` was fitted on in tokens")


def _about_experts(laws: PlanLaws, question: Question) -> Iterator[Caution]:
    own = [one for one in laws.known if one.law.rows and one.law.target]
    if not own or laws.find("experts"):
        return
    flops = 2.0 * _PILOT * (question.flops or max(one.law.range["C"][1] for one in own))
    what = "whether experts do better is not known: train an ensemble and a dense model of several "
    what += f"languages from one base (`tongues experts train`), {flops:.2g} FLOPs"
    if cluster := question.cluster:
        hours = cluster.hours(flops)
        what += f", {hours:.2g} h and {cluster.cost(hours):,.2g} US$"
    yield Caution("no_experts_law", f"{what}, and fit again; this pilot would show it")


def _unspent(option: Option, plan: Plan) -> list[str]:
    """What is left of the budget where the text ends first, and what would use it."""
    budget = plan.question.flops
    if not budget or option.flops > _UNSPENT * budget or not (option.epochs and option.tokens):
        return []
    what = f"unspent: {1.0 - option.flops / budget:.0%} of the budget, since the text is short: "
    what += f"{show_count(option.way.unique)} tokens, read {option.epochs:.3g} times, and more "
    what += "epochs are not known to help."
    most = min(budget / 6.0 / option.tokens, plan.largest)
    if option.way.base and most > _LARGER * option.way.base.params:
        what += f" More text, or a base of up to {show_count(most)} parameters, would use more."
    return [what]


def _pilot(option: Option, question: Question) -> str:
    budget = question.flops or option.flops
    flops, cost = max(_PILOT * budget, _LEAST_PILOT), ""
    if flops > _MOST_PILOT * budget:
        return (
            f"to be sure: train both ways on your own text and tokenizer, {budget:.2g} FLOPs each: "
            "too few for a pilot to save any."
        )
    if cluster := question.cluster:
        hours = cluster.hours(flops)
        cost = f", {hours:.2g} h and {cluster.cost(hours):,.2g} US$"
    base = next(iter(question.bases), None)
    source = next(iter(base.languages), "…") if base else "…"
    target = question.language or option.way.law.target or "…"
    share = f", share: {flops / budget:.0%}" if flops > _PILOT * budget else ""
    return (
        f"to be sure: small runs of both ways on your own text and tokenizer, {flops:.2g} FLOPs"
        f"{cost}: a recipe with `pilot: {{source: {source}, target: {target}{share}}}`, and "
        "`tongues study`."
    )


def filled(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The rows without the columns that none of them fills."""
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


def _row(option: Option, question: Question) -> dict[str, str]:
    loss, flops, saved = (
        question.show_loss(option.loss),
        f"{option.flops:.3g}",
        option.compute_saved,
    )
    if ends := option.interval:
        loss += " [{}, {}]".format(*map(question.show_loss, ends))
    source = "" if option.source_loss is None else f"{option.source_loss:#.4g}"
    if ends := option.source_interval:
        source += " [{:#.4g}, {:#.4g}]".format(*ends)
    if ends := option.flops_interval:  # where a loss was asked for
        flops += " [{}, {}]".format(*(f"{e:.3g}" if math.isfinite(e) else "∞" for e in ends))
    shown = "" if saved is None else f"{saved:.1%}"
    if saved is not None and saved < 0:
        shown = f"none, {1 - saved:.3g} times as much"
    elif ends := option.compute_saved_interval:
        shown += f" [{ends[0]:.0%}, {ends[1]:.0%}]"
    memory = "" if option.memory_per_gpu is None else show_bytes(option.memory_per_gpu)
    hours, cost, energy, carbon = (
        "" if amount is None else f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"
        for amount in (option.hours, option.cost, option.energy, option.carbon)
    )
    return {
        "option": option.name,
        "parameters": "" if option.params is None else show_count(option.params),
        "tokens": "" if option.tokens is None else show_count(option.tokens),
        "epochs": "" if option.epochs is None else f"{option.epochs:,.3g}",
        question.loss_unit: loss,
        "source loss": source,
        "FLOPs": "" if question.cluster and question.flops else flops,
        "hours": hours,
        "US$": cost,
        "kWh": energy,
        "kg CO₂": carbon,
        "memory/GPU" if question.cluster else "memory": memory,
        "compute saved": shown,
        "projection": "yes" if option.projection else "",
    }
