"""The page of a pilot: `plan.md` for people, `plan.json` for programs, a recipe to run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tongues.estimate import Estimate
from tongues.files import write_json, write_text
from tongues.laws.uncertainty import percentiles
from tongues.pages import Block, Entry, Heading, Items, Paragraph, Section, Table, as_markdown
from tongues.quantities import show_count
from tongues.recipe import show_recipe
from tongues.study.pilot.design import with_parents
from tongues.study.pilot.further import Further, changes, one_more_run, real_recipe
from tongues.study.pilot.rounds import Held, PilotState, hold_out

__all__ = ["write_pilot"]

_LOSSES = {
    "scratch": "from scratch, on the target",
    "cpt": "continued, on the target",
    "source": "its base, on the base language",
    "forgetting": "continued, on the base language",
}
_WIDE = 0.1  # half an interval, as a share of the loss, that asks for its reason
_BENT = 4.0  # drifts over a tenfold, in units of the scatter, that runs must have shown
_TRIED = 10.0  # times the largest small run's compute, up to which intervals were put to the test


def write_pilot(pilot: PilotState, folder: Path) -> Path:
    """Write what a pilot advises into `folder`; returns the path of `plan.md`."""
    assert pilot.advice
    held, further = hold_out(pilot.measured, pilot.frame), one_more_run(pilot)
    (recipe, remarks), sentences = real_recipe(pilot), list(changes(pilot))
    ends = {role: _estimate(draws) for role, draws in pilot.advice.foretold.items()}
    sections = {
        "Advice": _advice(pilot, [*_doubts(held), *remarks]),
        "What the real run will end at": _predicted(pilot, ends),
        "The largest runs, predicted from the smaller ones": _held_out(held),
        "What would change the advice": [Items(sentences)],
        "What one more run would buy": _one_more(further),
        "The small runs": _runs(pilot),
        "What it rests on": [Paragraph(_grounds(pilot))],
    }
    text = as_markdown([Section("", title, blocks) for title, blocks in sections.items()])
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "real.yaml", show_recipe(recipe))
    write_json(folder / "plan.json", _as_json(pilot, ends, held, further, sentences))
    write_text(folder / "plan.md", f"# Pilot of {pilot.recipe.name}\n\n{text}\n")
    return folder / "plan.md"


def _estimate(draws: np.ndarray) -> Estimate:
    low, high = percentiles(draws)
    return Estimate(float(np.median(draws)), float(low), float(high))


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _advice(pilot: PilotState, remarks: Sequence[str]) -> list[Block]:
    advice = pilot.advice
    assert advice
    taken, recommended = advice.taken, advice.plan.recommendation
    per = advice.options[taken.way.strategy].flops / 6.0
    sizes = taken.params_interval

    def row(name: str, value: float | None, ends: tuple[float, float] | None) -> list[Entry]:
        between = f"{show_count(ends[0])} to {show_count(ends[1])}" if ends else "settled"
        return [name, "" if value is None else show_count(value), between]

    rows: list[list[Entry]] = [
        ["strategy", taken.way.strategy, f"{_sure(pilot):.0%} of draws"],
        row("parameters", taken.params, sizes),
        row("tokens", taken.tokens, sizes and (per / sizes[1], per / sizes[0])),
    ]
    if taken.way.strategy == "cpt":
        sought = taken.way.advice.interval if taken.way.advice else None
        ends = f"{sought[0]:.1%} to {min(sought[1], 1.0):.1%}" if sought else "no share suffices"
        rows.append(["replay", f"{taken.way.replay:.1%}", ends])
    replay = f"Replay: {recommended.replay}" if recommended.replay else ""
    if not advice.kept:
        replay = (
            f"No share of replay keeps the base language within {advice.keep:.2%} by the law of "
            f"forgetting; {taken.way.replay:.0%} is set out instead."
        )
    return [
        Paragraph(recommended.why),
        Table(["", "advised", "95 %"], rows),
        Paragraph(replay),
        Paragraph(f"How sure: {recommended.sure}"),
        Items([*remarks, *map(str, advice.plan.warnings)]),
        Heading("Options", 2),
        Table.of(advice.plan.rows()),
    ]


def _sure(pilot: PilotState) -> float:
    assert pilot.advice
    share = pilot.advice.share
    return share if pilot.advice.taken.way.strategy == "cpt" else 1.0 - share


def _doubts(held: Sequence[Held]) -> list[str]:
    outside = [one for one in held if one.rank < 0.05 / len(held)]
    if not outside:
        return []
    which = ", ".join(_LOSSES[one.measured.point.role] for one in outside)
    return [
        f"**Not predicted from the smaller ones:** the largest small run ({which}). The laws do "
        "not hold here yet; longer small runs (a larger `pilot.share`) come first."
    ]


def _predicted(pilot: PilotState, ends: dict[str, Estimate]) -> list[Block]:
    assert pilot.advice
    rows: list[list[Entry]] = []
    wide: list[str] = []
    for role, of in ends.items():
        point, half = pilot.advice.points[role], ((of.high or 0.0) - (of.low or 0.0)) / 2 / of.value
        wide += [_LOSSES[role]] if half > _WIDE else []
        counts = point.N, point.D / (1.0 - point.r) if role == "cpt" else point.D
        row = [_LOSSES[role], *map(show_count, counts), f"{of.value:.4f}"]
        rows.append([*row, _between(of.low, of.high), f"{half:.1%}"])
    beyond = pilot.means.real / max(run.flops for run in pilot.runs)
    lines = [
        f"The real run takes {show_count(pilot.means.real)} FLOPs, {beyond:.3g} times the largest "
        "small run. Each interval is to hold its own loss in 95 of 100 cases; all at once are held "
        "less often."
    ]
    if wide:  # the runs bend away from their laws, or leave the laws open
        bent = [
            name
            for name, one in pilot.beliefs.items()
            if np.median(one.drawn.drift / one.drawn.scatter) > _BENT
        ]
        why = "So few small runs, so far away, leave the laws that open."
        why = f"The small runs bend away from their laws ({', '.join(bent)})." if bent else why
        lines.append(
            f"Wide, more than ± {_WIDE:.0%}: {', '.join(wide)}. {why} Longer small runs (a larger "
            "`pilot.share`) would narrow them."
        )
    if beyond > 1.5 * _TRIED:
        lines.append(
            f"Intervals were put to the test up to {_TRIED:g} times; further out they widen by the "
            "same rule, which nothing has confirmed there."
        )
    head = ["loss, nats per token", "parameters", "tokens", "predicted", "95 % of one run", "±"]
    return [Table(head, rows), *map(Paragraph, lines)]


def _held_out(held: Sequence[Held]) -> list[Block]:
    if not held:
        return [Paragraph("Too few runs to hold one out.")]
    rows: list[list[Entry]] = [
        [
            _LOSSES[one.measured.point.role],
            _last(one.measured.run),
            f"{one.middle:.4f}",
            _between(one.low, one.high),
            f"{one.measured.loss:.4f}{'' if one.inside else ' (outside)'}",
            f"{one.measured.loss / one.middle - 1.0:+.1%}",
        ]
        for one in held
    ]
    note = "The advice opens with a doubt where one is outside at 95 % for all of them together."
    return [Table(["loss", "run", "predicted", "95 %", "measured", "off"], rows), Paragraph(note)]


def _last(run: str) -> str:
    return run.rpartition("/")[2]


def _one_more(further: Sequence[Further]) -> list[Block]:
    if not further:
        return [Paragraph("Every run that fits was trained.")]
    named = [(_last(one.run), show_count(one.flops), one.after) for one in further]
    rows: list[list[Entry]] = [
        [run, flops, *(f"{half:.2%}" for half in halves.values())]
        for run, flops, halves in [("without it", "", further[0].before), *named]
    ]
    table = Table(["run", "FLOPs", *(f"± {_LOSSES[role]}" for role in further[0].before)], rows)
    return [table, Paragraph("Half the 95 % interval, to be expected.")]


def _runs(pilot: PilotState) -> list[Block]:
    losses = {(one.run, one.point.role): f"{one.loss:.4f}" for one in pilot.measured}
    rows: list[list[Entry]] = []
    for run in with_parents(pilot.runs):
        point = run.points[-1]
        ends = (losses.get((run.name, role), "") for role in (run.plan.strategy, "forgetting"))
        rows.append([_last(run.name), *map(show_count, (point.N, point.D, run.flops)), *ends])
    head = ["run", "parameters", "tokens", "FLOPs", "loss learned", "loss on the base language"]
    names = ", ".join(map(_last, pilot.lost))
    lost = f"Left out since they diverged, with others in their place: {names}."
    return [Table(head, rows), *([Paragraph(lost)] if names else [])]


def _grounds(pilot: PilotState) -> str:
    scatter = {name: float(np.median(one.drawn.scatter)) for name, one in pilot.beliefs.items()}
    drift = {name: percentiles(one.drawn.drift) for name, one in pilot.beliefs.items()}
    drifts = ", ".join(f"{name} {low:.1%} to {high:.1%}" for name, (low, high) in drift.items())
    return (
        "Losses are those that runs end at. An interval adds up what the runs leave open about the "
        "laws' parameters, the scatter of single runs (target "
        f"{scatter['target']:.2%}, source {scatter['source']:.2%}, forgetting "
        f"{scatter['forgetting']:.2%}), and a drift away from the laws' forms, the faster the "
        f"further (over the first tenfold, learned from the runs, 95 %: {drifts})."
    )


def _as_json(
    pilot: PilotState,
    ends: dict[str, Estimate],
    held: Sequence[Held],
    further: Sequence[Further],
    sentences: Sequence[str],
) -> dict[str, Any]:
    advice, runs = pilot.advice, with_parents(pilot.runs)
    assert advice
    points = {role: advice.points[role] for role in ends}
    return {
        "name": pilot.recipe.name,
        "budget": {"real": pilot.means.real, "pilot": pilot.means.budget},
        "spent": sum(run.flops for run in runs),
        "strategy": advice.taken.way.strategy,
        "share_of_draws": _sure(pilot),
        "predicted": {
            role: {"params": at.N, "tokens": at.D, "flops": at.flops, "replay": at.r}
            | {"loss": ends[role].value, "interval": [ends[role].low, ends[role].high]}
            for role, at in points.items()
        },
        "held_out": [
            {"run": one.measured.run, "role": one.measured.point.role, "loss": one.measured.loss}
            | {"predicted": one.middle, "interval": [one.low, one.high]}
            for one in held
        ],
        "one_more_run": [
            {"run": one.run, "flops": one.flops, "before": one.before, "after": one.after}
            for one in further
        ],
        "changes": list(sentences),
        "runs": [run.name for run in runs],
        "plan": advice.plan.to_json(),
    }
