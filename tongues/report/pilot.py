"""The page of a pilot, and the recipe of its real run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tongues.estimate import Estimate
from tongues.files import write_text
from tongues.laws.uncertainty import percentiles
from tongues.pages import estimate_cell, fixed, value_cell, write_page
from tongues.pages.blocks import Block, Entry, Items, Page, Paragraph, Section, Table
from tongues.quantities import show_count
from tongues.recipe import show_recipe
from tongues.report.plan import plan_answer
from tongues.study.pilot.next_steps import ExtraRun, changes, extra_runs, real_recipe
from tongues.study.pilot.rounds import Held, PilotState, hold_out
from tongues.study.pilot.selection import with_parents

__all__ = ["write_pilot"]

Row = dict[str, Entry]

_LOSSES = {
    "scratch": "from scratch, on the target",
    "cpt": "continued, on the target",
    "source": "its base, on the base language",
    "forgetting": "continued, on the base language",
}
_WIDE = 0.1  # half an interval, as a share of the loss, that asks for its reason
_BENT = 4.0  # drifts over a tenfold, in units of the scatter, that runs must have shown
_TRIED = 10.0  # times the largest small run's compute, up to which intervals were tested
_LOSS = fixed(4)


def write_pilot(pilot: PilotState, folder: Path) -> Path:
    """Write the page of a pilot and `real.yaml`, the recipe of the large run; returns the page."""
    assert pilot.advice
    held, extra = hold_out(pilot), extra_runs(pilot)
    (recipe, remarks), sentences = real_recipe(pilot), list(changes(pilot))
    ends = {role: _estimate(draws) for role, draws in pilot.advice.predicted.items()}
    more = {"Next run": _next(extra), "Test": _outside(held), "Recipe": list(remarks)}
    bring = Paragraph("Half the 95 % interval, to be expected.") if extra else None
    names = ", ".join(map(_last, pilot.lost))
    lost = f"Left out since they diverged, with others in their place: {names}." if names else ""
    few = None if held else Paragraph("Too few runs to hold one out.")
    sections = {
        "What the advice leaves open": [_taken(pilot)],
        "Predicted losses of the large run": _predicted(pilot, ends),
        "The largest runs, predicted from the smaller ones": [few, Table.of(map(_held_row, held))],
        "What would change the advice": [Items(sentences)],
        "What one more run would bring": [Table.of(_one_more(extra)), bring],
        "The small runs": [Table.of(_runs(pilot)), Paragraph(lost) if lost else None],
        "What it is based on": [Paragraph(_grounds(pilot))],
    }
    blocks = [Section("", title, inside) for title, inside in sections.items()]
    numbers = _as_json(pilot, ends, held, extra, sentences)
    title = f"Pilot of {pilot.recipe.name}"
    page = Page(title, [*plan_answer(pilot.advice.plan, more), *blocks], numbers=numbers)
    path = write_page(page, folder)
    write_text(folder / "real.yaml", show_recipe(recipe, short=True))
    return path


def _estimate(draws: np.ndarray) -> Estimate:
    low, high = percentiles(draws)
    return Estimate(float(np.median(draws)), float(low), float(high))


def _taken(pilot: PilotState) -> Table:
    assert pilot.advice
    advice, taken = pilot.advice, pilot.advice.taken
    per, sizes = advice.options[taken.way.strategy].flops / 6.0, taken.params_interval

    def row(name: str, value: float | None, ends: tuple[float, float] | None) -> list[Entry]:
        between = f"{show_count(ends[0])} to {show_count(ends[1])}" if ends else "settled"
        return [name, "" if value is None else show_count(value), between]

    rows: list[list[Entry]] = [
        ["strategy", taken.way.strategy, f"lower loss with probability {_certain(pilot):.1%}"],
        row("parameters", taken.params, sizes),
        row("tokens", taken.tokens, sizes and (per / sizes[1], per / sizes[0])),
    ]
    if taken.way.strategy == "cpt":
        wanted = taken.way.advice.interval if taken.way.advice else None
        ends = f"{wanted[0]:.1%} to {min(wanted[1], 1.0):.1%}" if wanted else "no share suffices"
        kept = ends if advice.kept else f"no share keeps the base language within {advice.keep:.2%}"
        rows.append(["replay", f"{taken.way.replay:.1%}", kept])
    return Table(["", "advised", "95 %"], rows)


def _certain(pilot: PilotState) -> float:
    """The probability that the advised strategy has the lower loss, as the advice says it."""
    assert pilot.advice
    continued, stated = pilot.advice.share, pilot.advice.plan.recommendation.share
    if stated is not None:  # else both strategies are about as good
        return stated
    return continued if pilot.advice.taken.way.strategy == "cpt" else 1.0 - continued


def _next(extra: Sequence[ExtraRun]) -> list[str]:
    """The run to train next, and how far it would narrow the intervals."""
    if not extra:
        return ["Every run that fits was trained."]
    run = extra[0]
    each = (
        f"{_LOSSES[role]} ± {of:.1%} → {run.after[role]:.1%}" for role, of in run.before.items()
    )
    narrows = f"would change the 95 % intervals: {'; '.join(each)}."
    return [f"`{_last(run.run)}`, {show_count(run.flops)} FLOPs, {narrows}"]


def _outside(held: Sequence[Held]) -> list[str]:
    outside = [one for one in held if one.rank < 0.05 / len(held)]
    if not outside:
        return [f"The largest runs are as predicted from the smaller ones ({len(held)} losses)."]
    which = ", ".join(_LOSSES[one.measured.point.role] for one in outside)
    return [
        f"**Not predicted from the smaller ones:** the largest small run ({which}). The laws do "
        "not hold here yet; longer small runs (a larger `pilot.share`) come first."
    ]


def _predicted(pilot: PilotState, ends: dict[str, Estimate]) -> list[Block]:
    assert pilot.advice
    rows, wide = list[Row](), list[str]()
    for role, of in ends.items():
        point, half = pilot.advice.points[role], ((of.high or 0.0) - (of.low or 0.0)) / 2 / of.value
        wide += [_LOSSES[role]] if half > _WIDE else []
        tokens = point.D / (1.0 - point.r) if role == "cpt" else point.D
        row: Row = {"loss, nats per token": _LOSSES[role]} | _size(point.N, tokens)
        rows.append(row | {"predicted": estimate_cell(of, _LOSS), "±": f"{half:.1%}"})
    beyond = pilot.means.real / max(run.flops for run in pilot.runs)
    lines = [
        f"The large run takes {show_count(pilot.means.real)} FLOPs, {beyond:.3g} times the largest "
        "small run. Each 95 % interval is for one run, not corrected for multiple predictions."
    ]
    if wide:  # the runs bend away from their laws, or leave the laws open
        bent = [
            name
            for name, one in pilot.beliefs.items()
            if np.median(one.drawn.drift / one.drawn.scatter) > _BENT
        ]
        why = "Few small runs, far from the large one, do not pin down the laws."
        why = f"The small runs bend away from their laws ({', '.join(bent)})." if bent else why
        lines.append(
            f"Wide, more than ± {_WIDE:.0%}: {', '.join(wide)}. {why} Longer small runs (a larger "
            "`pilot.share`) would narrow them."
        )
    if beyond > 1.5 * _TRIED:
        lines.append(
            f"Intervals were tested up to {_TRIED:g} times; further out they widen by the same "
            "rule, which nothing has confirmed there."
        )
    return [Table.of(rows), *map(Paragraph, lines)]


def _held_row(one: Held) -> Row:
    return {
        "loss": _LOSSES[one.measured.point.role],
        "run": _last(one.measured.run),
        "predicted": estimate_cell(Estimate(one.middle, one.low, one.high), _LOSS),
        "measured": f"{one.measured.loss:.4f}{'' if one.inside else ' (outside)'}",
        "off": f"{one.measured.loss / one.middle - 1.0:+.1%}",
    }


def _last(run: str) -> str:
    return run.rpartition("/")[2]


def _size(parameters: float, tokens: float) -> Row:
    return {"parameters": show_count(parameters), "tokens": show_count(tokens)}


def _one_more(extra: Sequence[ExtraRun]) -> Iterator[Mapping[str, Entry]]:
    without = [("without it", "", extra[0].before)] if extra else []
    more = ((_last(one.run), show_count(one.flops), one.after) for one in extra)
    for run, flops, halves in (*without, *more):
        each = {f"± {_LOSSES[role]}": f"{half:.2%}" for role, half in halves.items()}
        yield {"run": run, "FLOPs": flops} | each


def _runs(pilot: PilotState) -> Iterator[Row]:
    losses = {(one.run, one.point.role): one.loss for one in pilot.measured}
    for run in with_parents(pilot.runs):
        own, base = losses.get((run.name, run.plan.strategy)), losses.get((run.name, "forgetting"))
        yield (
            {"run": _last(run.name)}
            | _size(run.points[-1].N, run.points[-1].D)
            | {"FLOPs": show_count(run.flops), "loss learned": value_cell(own, _LOSS)}
            | {"on the base language": value_cell(base, _LOSS)}
        )


def _grounds(pilot: PilotState) -> str:
    scatter = {name: float(np.median(one.drawn.scatter)) for name, one in pilot.beliefs.items()}
    drift = {name: percentiles(one.drawn.drift) for name, one in pilot.beliefs.items()}
    drifts = ", ".join(f"{name} {low:.1%} to {high:.1%}" for name, (low, high) in drift.items())
    scatters = ", ".join(f"{name} {value:.2%}" for name, value in scatter.items())
    doubted = [pilot.known[name].name for name, one in pilot.beliefs.items() if one.doubted]
    known = [one.name for one in pilot.known.values() if one.name not in doubted]
    before = f", and on published runs by the prior of {' and '.join(known)}" if known else ""
    if doubted:
        before += f" (the runs are unlikely by the prior of {' and '.join(doubted)}: left out)"
    return (
        f"On final losses{before}. "
        "An interval adds up the uncertainty of the laws' parameters, the scatter "
        f"of single runs ({scatters}), and a drift away from the laws' forms, which grows with "
        f"distance (over the first tenfold, learned from the runs, 95 %: {drifts})."
    )


def _as_json(
    pilot: PilotState,
    ends: dict[str, Estimate],
    held: Sequence[Held],
    extra: Sequence[ExtraRun],
    sentences: Sequence[str],
) -> dict[str, Any]:
    advice, runs = pilot.advice, with_parents(pilot.runs)
    assert advice
    return {
        "name": pilot.recipe.name,
        "budget": {"real": pilot.means.real, "pilot": pilot.means.budget},
        "spent": sum(run.flops for run in runs),
        "strategy": advice.taken.way.strategy,
        "share_of_draws": _certain(pilot),
        "predicted": {
            role: {"params": at.N, "tokens": at.D, "flops": at.flops, "replay": at.r}
            | {"loss": ends[role].value, "interval": [ends[role].low, ends[role].high]}
            for role, at in ((role, advice.points[role]) for role in ends)
        },
        "held_out": [
            {"run": one.measured.run, "role": one.measured.point.role, "loss": one.measured.loss}
            | {"predicted": one.middle, "interval": [one.low, one.high]}
            for one in held
        ],
        "one_more_run": [asdict(one) for one in extra],
        "changes": list(sentences),
        "runs": [run.name for run in runs],
        "plan": advice.plan.to_json(),
    }
