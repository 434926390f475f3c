"""The plan of a pilot on paper: `plan.md` for people, `plan.json` for programs, a recipe to run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tongues.files import write_json, write_text
from tongues.laws.uncertainty import percentiles
from tongues.quantities import show_count
from tongues.recipe import show_recipe
from tongues.study.pilot.design import with_parents
from tongues.study.pilot.further import Further, changes, one_more_run
from tongues.study.pilot.real import real_recipe
from tongues.study.pilot.rounds import Pilot
from tongues.study.pilot.trial import Held, hold_out

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
    page = "\n".join(
        [
            f"# Pilot of {pilot.recipe.name}",
            "",
            *_advice(pilot, [*_doubts(held), *remarks]),
            *_foretold(pilot),
            *_held_out(held),
            "## What would change the advice",
            "",
            *(f"- {sentence}" for sentence in sentences),
            "",
            *_one_more(further),
            *_runs(pilot),
            *_grounds(pilot),
        ]
    )
    write_text(folder / "plan.md", page + "\n")
    return folder / "plan.md"


def _advice(pilot: Pilot, remarks: Sequence[str]) -> list[str]:
    advice, taken = pilot.advice, pilot.advice and pilot.advice.taken
    assert advice
    assert taken
    recommended = advice.plan.recommendation
    lines = ["## Advice", "", recommended.why, ""]
    rows = [
        ["", "advised", "95 %"],
        ["strategy", taken.way.strategy, f"{_sure(pilot):.0%} of draws"],
    ]
    rows.append(["parameters", *_range(taken.params, taken.params_interval)])
    per = advice.options[taken.way.strategy].flops / 6.0
    tokens = taken.params_interval and (
        per / taken.params_interval[1],
        per / taken.params_interval[0],
    )
    rows.append(["tokens", *_range(taken.tokens, tokens)])
    if taken.way.strategy == "cpt":
        sought = taken.way.advice.interval if taken.way.advice else None
        ends = f"{sought[0]:.1%} to {min(sought[1], 1.0):.1%}" if sought else "no share suffices"
        rows.append(["replay", f"{taken.way.replay:.1%}", ends])
    lines += [*_table(rows), ""]
    if not advice.kept:
        lines.append(
            f"No share of replay keeps the source within {advice.keep:.2%} by the law of "
            f"forgetting; {taken.way.replay:.0%} is set out instead."
        )
    elif recommended.replay:
        lines.append(f"Replay: {recommended.replay}")
    lines += [f"How sure: {recommended.sure}", "", *(f"- {remark}" for remark in remarks)]
    lines += ["- " + str(caution) for caution in advice.plan.warnings]
    lines += ["", "### Options", "", *_table_of(advice.plan.rows()), ""]
    return lines


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


def _foretold(pilot: Pilot) -> list[str]:
    assert pilot.advice
    rows = [["loss, nats per token", "parameters", "tokens", "foretold", "95 % of one run", "±"]]
    for role, draws in pilot.advice.foretold.items():
        point, (low, high) = pilot.advice.points[role], percentiles(draws)
        middle = float(np.median(draws))
        tokens = point.D / (1.0 - point.r) if role == "cpt" else point.D
        rows.append(
            [
                _LOSSES[role],
                show_count(point.N),
                show_count(tokens),
                f"{middle:.4f}",
                f"{low:.4f} to {high:.4f}",
                f"{(high - low) / 2 / middle:.1%}",
            ]
        )
    beyond = pilot.means.real / max(run.flops for run in pilot.runs)
    lines = ["## What the real run will end at", "", *_table(rows), ""]
    lines.append(
        f"The real run takes {show_count(pilot.means.real)} FLOPs, {beyond:.3g} times the "
        "largest small run. Each interval is to hold its own loss in 95 of 100 cases; all at once "
        "are held less often."
    )
    wide = [_LOSSES[role] for role in pilot.advice.foretold if _half(pilot, role) > _WIDE]
    if wide:
        lines.append(
            f"Wide, more than ± {_WIDE:.0%}: {', '.join(wide)}. {_why_wide(pilot)} Longer small "
            "runs (a larger `pilot.share`) would narrow them."
        )
    if beyond > 1.5 * _TRIED:
        lines.append(
            f"Intervals were put to the test up to {_TRIED:g} times; further out they widen by the "
            "same rule, which nothing has confirmed there."
        )
    return [*lines, ""]


def _half(pilot: Pilot, role: str) -> float:
    assert pilot.advice
    low, high = percentiles(pilot.advice.foretold[role])
    return float((high - low) / 2 / np.median(pilot.advice.foretold[role]))


def _why_wide(pilot: Pilot) -> str:
    """Whether the runs bend away from their laws, or leave the laws open."""
    bent = [name for name, one in pilot.beliefs.items() if np.median(one.drift) > _BENT]
    if bent:
        return f"The small runs bend away from their laws ({', '.join(bent)})."
    return "So few small runs, so far away, leave the laws that open."


def _held_out(held: Sequence[Held]) -> list[str]:
    lines = ["## The largest runs, foretold from the smaller ones", ""]
    if not held:
        return [*lines, "Too few runs to hold one out.", ""]
    rows = [["loss", "run", "foretold", "95 %", "measured", "off"]]
    for one in held:
        off = one.measured.loss / one.middle - 1.0
        rows.append(
            [
                _LOSSES[one.measured.point.role],
                one.measured.run.rpartition("/")[2],
                f"{one.middle:.4f}",
                f"{one.low:.4f} to {one.high:.4f}",
                f"{one.measured.loss:.4f}{'' if one.inside else ' (outside)'}",
                f"{off:+.1%}",
            ]
        )
    said = "The advice opens with a doubt where one lies outside at 95 % for all of them together."
    return [*lines, *_table(rows), "", said, ""]


def _one_more(further: Sequence[Further]) -> list[str]:
    lines = ["## What one more run would buy", ""]
    if not further:
        return [*lines, "Every run that fits was trained.", ""]
    rows = [["run", "FLOPs", *(f"± {_LOSSES[role]}" for role in further[0].before)]]
    rows.append(["as it stands", "", *(f"{half:.2%}" for half in further[0].before.values())])
    rows += [
        [
            one.run.rpartition("/")[2],
            show_count(one.flops),
            *(f"{half:.2%}" for half in one.after.values()),
        ]
        for one in further
    ]
    return [*lines, *_table(rows), "", "Half the 95 % interval, to be expected.", ""]


def _runs(pilot: Pilot) -> list[str]:
    losses: dict[str, dict[str, float]] = {}
    for one in pilot.measured:
        losses.setdefault(one.run, {})[one.point.role] = one.loss
    rows = [["run", "parameters", "tokens", "FLOPs", "loss learned", "loss on the source"]]
    for run in with_parents(pilot.runs):
        own = losses[run.name]
        learned = own.get(run.plan.strategy)
        point = run.points[-1]
        rows.append(
            [
                run.name.rpartition("/")[2],
                show_count(point.N),
                show_count(point.D),
                show_count(run.flops),
                "" if learned is None else f"{learned:.4f}",
                f"{own['forgetting']:.4f}" if "forgetting" in own else "",
            ]
        )
    lines = ["## The small runs", "", *_table(rows), ""]
    if pilot.lost:
        names = ", ".join(name.rpartition("/")[2] for name in pilot.lost)
        lines += [f"Left out since they diverged, with others in their place: {names}.", ""]
    return lines


def _grounds(pilot: Pilot) -> list[str]:
    beliefs = pilot.beliefs
    scatter = {name: float(np.median(one.scatter)) for name, one in beliefs.items()}
    drift = {name: percentiles(one.scatter * one.drift) for name, one in beliefs.items()}
    drifts = ", ".join(f"{name} {low:.1%} to {high:.1%}" for name, (low, high) in drift.items())
    return [
        "## What it rests on",
        "",
        "Losses are those that runs end at. An interval adds up what the runs leave open about the "
        "laws' parameters, the scatter of single runs (target "
        f"{scatter['target']:.2%}, source {scatter['source']:.2%}, forgetting "
        f"{scatter['forgetting']:.2%}), and a drift away from the laws' forms, the faster the "
        "further (over the first tenfold, learned from the runs, 95 %: "
        f"{drifts}).",
    ]


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


def _table_of(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return _table([list(rows[0]), *(list(row.values()) for row in rows)])


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]
