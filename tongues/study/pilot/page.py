"""The plan of a pilot on paper: `plan.md` for people, `plan.json` for programs, a recipe to run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tongues.files import write_json, write_text
from tongues.laws.uncertainty import percentiles
from tongues.pages import Block, Entry, Heading, Items, Paragraph, Section, Table, as_markdown
from tongues.quantities import show_count
from tongues.recipe import show_recipe
from tongues.study.pilot.design import with_parents
from tongues.study.pilot.further import Further, changes, one_more_run, real_recipe
from tongues.study.pilot.rounds import Held, Pilot, hold_out

__all__ = ["write_plan"]

_LOSSES = {
    "scratch": "from scratch, on the target",
    "cpt": "continued, on the target",
    "source": "its base, on the source",
    "forgetting": "continued, on the source",
}
_WIDE = 0.1  # half an interval, as a share of the loss, that asks for its reason
_BENT = 4.0  # drifts over a tenfold, in units of the scatter, that runs must have told
_TRIED = 10.0  # times the largest small run's compute, up to which intervals were put to the test


def write_plan(pilot: Pilot, folder: Path) -> Path:
    """Write what a pilot advises into `folder`; returns the path of `plan.md`."""
    assert pilot.advice
    held, further = hold_out(pilot.measured, pilot.frame), one_more_run(pilot)
    recipe, remarks = real_recipe(pilot)
    sentences = changes(pilot)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "real.yaml", show_recipe(recipe))
    write_json(folder / "plan.json", _as_json(pilot, held, further, sentences))
    title = "The largest runs, foretold from the smaller ones"
    sections = [
        Section("", "Advice", _advice(pilot, [*_doubts(held), *remarks])),
        Section("", "What the real run will end at", _foretold(pilot)),
        Section("", title, _held_out(held)),
        Section("", "What would change the advice", [Items(sentences)]),
        Section("", "What one more run would buy", _one_more(further)),
        Section("", "The small runs", _runs(pilot)),
        Section("", "What it rests on", [Paragraph(_grounds(pilot))]),
    ]
    page = f"# Pilot of {pilot.recipe.name}\n\n{as_markdown(sections)}\n"
    write_text(folder / "plan.md", page)
    return folder / "plan.md"


def _advice(pilot: Pilot, remarks: Sequence[str]) -> list[Block]:
    advice, taken = pilot.advice, pilot.advice and pilot.advice.taken
    assert advice
    assert taken
    recommended = advice.plan.recommendation
    per = advice.options[taken.way.strategy].flops / 6.0
    sizes = taken.params_interval
    rows: list[list[Entry]] = [
        ["strategy", taken.way.strategy, f"{_sure(pilot):.0%} of draws"],
        ["parameters", *_range(taken.params, sizes)],
        ["tokens", *_range(taken.tokens, sizes and (per / sizes[1], per / sizes[0]))],
    ]
    if taken.way.strategy == "cpt":
        sought = taken.way.advice.interval if taken.way.advice else None
        ends = f"{sought[0]:.1%} to {min(sought[1], 1.0):.1%}" if sought else "no share suffices"
        rows.append(["replay", f"{taken.way.replay:.1%}", ends])
    replay = f"Replay: {recommended.replay}" if recommended.replay else ""
    if not advice.kept:
        replay = (
            f"No share of replay keeps the source within {advice.keep:.2%} by the law of "
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


def _doubts(held: Sequence[Held]) -> list[str]:
    """What stands first of all where the laws failed already: at 95 % for all of them together."""
    outside = [one for one in held if one.rank < 0.05 / len(held)]
    if not outside:
        return []
    which = ", ".join(f"{_LOSSES[one.measured.point.role]}" for one in outside)
    return [
        f"**Not foretold from the smaller ones:** the largest small run ({which}). The laws do not "
        "hold here yet; longer small runs (a larger `pilot.share`) come first."
    ]


def _foretold(pilot: Pilot) -> list[Block]:
    assert pilot.advice
    rows: list[list[Entry]] = []
    wide: list[str] = []
    for role, draws in pilot.advice.foretold.items():
        point, (low, high), middle = pilot.advice.points[role], percentiles(draws), np.median(draws)
        half = (high - low) / 2 / middle
        wide += [_LOSSES[role]] if half > _WIDE else []
        tokens = point.D / (1.0 - point.r) if role == "cpt" else point.D
        counts = show_count(point.N), show_count(tokens)
        ends = f"{low:.4f} to {high:.4f}"
        rows.append([_LOSSES[role], *counts, f"{middle:.4f}", ends, f"{half:.1%}"])
    beyond = pilot.means.real / max(run.flops for run in pilot.runs)
    said = [
        f"The real run takes {show_count(pilot.means.real)} FLOPs, {beyond:.3g} times the largest "
        "small run. Each interval is to hold its own loss in 95 of 100 cases; all at once are held "
        "less often."
    ]
    if wide:
        said.append(
            f"Wide, more than ± {_WIDE:.0%}: {', '.join(wide)}. {_why_wide(pilot)} Longer small "
            "runs (a larger `pilot.share`) would narrow them."
        )
    if beyond > 1.5 * _TRIED:
        said.append(
            f"Intervals were put to the test up to {_TRIED:g} times; further out they widen by the "
            "same rule, which nothing has confirmed there."
        )
    head = ["loss, nats per token", "parameters", "tokens", "foretold", "95 % of one run", "±"]
    return [Table(head, rows), *map(Paragraph, said)]


def _why_wide(pilot: Pilot) -> str:
    """Whether the runs bend away from their laws, or leave the laws open."""
    bent = [name for name, one in pilot.beliefs.items() if np.median(one.drift) > _BENT]
    if bent:
        return f"The small runs bend away from their laws ({', '.join(bent)})."
    return "So few small runs, so far away, leave the laws that open."


def _held_out(held: Sequence[Held]) -> list[Block]:
    if not held:
        return [Paragraph("Too few runs to hold one out.")]
    rows: list[list[Entry]] = [
        [
            _LOSSES[one.measured.point.role],
            one.measured.run.rpartition("/")[2],
            f"{one.middle:.4f}",
            f"{one.low:.4f} to {one.high:.4f}",
            f"{one.measured.loss:.4f}{'' if one.inside else ' (outside)'}",
            f"{one.measured.loss / one.middle - 1.0:+.1%}",
        ]
        for one in held
    ]
    said = "The advice opens with a doubt where one lies outside at 95 % for all of them together."
    return [Table(["loss", "run", "foretold", "95 %", "measured", "off"], rows), Paragraph(said)]


def _one_more(further: Sequence[Further]) -> list[Block]:
    if not further:
        return [Paragraph("Every run that fits was trained.")]
    before = further[0].before
    named = [(one.run.rpartition("/")[2], show_count(one.flops), one.after) for one in further]
    rows: list[list[Entry]] = [
        [run, flops, *(f"{half:.2%}" for half in halves.values())]
        for run, flops, halves in [("as it stands", "", before), *named]
    ]
    table = Table(["run", "FLOPs", *(f"± {_LOSSES[role]}" for role in before)], rows)
    return [table, Paragraph("Half the 95 % interval, to be expected.")]


def _runs(pilot: Pilot) -> list[Block]:
    losses: dict[str, dict[str, float]] = {}
    for one in pilot.measured:
        losses.setdefault(one.run, {})[one.point.role] = one.loss
    rows: list[list[Entry]] = []
    for run in with_parents(pilot.runs):
        point, own = run.points[-1], losses[run.name]
        counts = map(show_count, (point.N, point.D, run.flops))
        ends = (own.get(role) for role in (run.plan.strategy, "forgetting"))
        shown = ("" if loss is None else f"{loss:.4f}" for loss in ends)
        rows.append([run.name.rpartition("/")[2], *counts, *shown])
    head = ["run", "parameters", "tokens", "FLOPs", "loss learned", "loss on the source"]
    names = ", ".join(name.rpartition("/")[2] for name in pilot.lost)
    lost = f"Left out since they diverged, with others in their place: {names}."
    return [Table(head, rows), *([Paragraph(lost)] if names else [])]


def _grounds(pilot: Pilot) -> str:
    beliefs = pilot.beliefs
    scatter = {name: float(np.median(one.scatter)) for name, one in beliefs.items()}
    drift = {name: percentiles(one.scatter * one.drift) for name, one in beliefs.items()}
    drifts = ", ".join(f"{name} {low:.1%} to {high:.1%}" for name, (low, high) in drift.items())
    return (
        "Losses are those that runs end at. An interval adds up what the runs leave open about the "
        "laws' parameters, the scatter of single runs (target "
        f"{scatter['target']:.2%}, source {scatter['source']:.2%}, forgetting "
        f"{scatter['forgetting']:.2%}), and a drift away from the laws' forms, the faster the "
        f"further (over the first tenfold, learned from the runs, 95 %: {drifts})."
    )


def _sure(pilot: Pilot) -> float:
    assert pilot.advice
    share = pilot.advice.share
    return share if pilot.advice.taken.way.strategy == "cpt" else 1.0 - share


def _as_json(
    pilot: Pilot, held: Sequence[Held], further: Sequence[Further], sentences: Sequence[str]
) -> dict[str, Any]:
    advice = pilot.advice
    assert advice
    foretold: dict[str, Any] = {}
    for role, draws in advice.foretold.items():
        low, high = percentiles(draws)
        point = advice.points[role]
        numbers = {"params": point.N, "tokens": point.D, "flops": point.flops, "replay": point.r}
        numbers |= {"loss": float(np.median(draws)), "interval": [float(low), float(high)]}
        foretold[role] = numbers
    return {
        "name": pilot.recipe.name,
        "budget": {"real": pilot.means.real, "pilot": pilot.means.budget},
        "spent": sum(run.flops for run in with_parents(pilot.runs)),
        "strategy": advice.taken.way.strategy,
        "share_of_draws": _sure(pilot),
        "foretold": foretold,
        "held_out": [
            {
                "run": one.measured.run,
                "role": one.measured.point.role,
                "loss": one.measured.loss,
                "foretold": one.middle,
                "interval": [one.low, one.high],
            }
            for one in held
        ],
        "one_more_run": [
            {"run": one.run, "flops": one.flops, "before": one.before, "after": one.after}
            for one in further
        ],
        "changes": list(sentences),
        "runs": [run.name for run in with_parents(pilot.runs)],
        "plan": advice.plan.to_json(),
    }


def _range(value: float | None, ends: tuple[float, float] | None) -> tuple[str, str]:
    shown = "" if value is None else show_count(value)
    return shown, f"{show_count(ends[0])} to {show_count(ends[1])}" if ends else "settled"
