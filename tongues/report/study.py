"""The page of runs: what to take, its figures, the laws and the method."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.pages import blocks as b
from tongues.core.pages import estimate_cell, fixed, value_cell
from tongues.core.pages.axes import series_name
from tongues.core.quantities import counted, show_count
from tongues.core.roles import list_languages
from tongues.languages import language_name
from tongues.laws.observed import RunCurves, once, size_order
from tongues.laws.targets import SETTLED
from tongues.plan.steps import step_of_runs
from tongues.report.answer import advice, answer_section, unmeasured
from tongues.report.laws import findings_law_section
from tongues.report.study_figures import figures
from tongues.report.words import SAID
from tongues.runs.record import Run, find_runs, read_run, run_rows
from tongues.runs.states import RunState, states
from tongues.train.study.findings import Findings, findings
from tongues.train.study.forecasts import with_forecasts
from tongues.train.words import describe_mixture, mixture_rows

_MANY = 80  # runs whose table is folded away


def runs_page(places: Sequence[Path], progress: Callable[[str], None]) -> b.Page:
    """The page of the finished runs at or below `places`; `progress` gets a line for each step."""
    progress("reading runs")
    records = [run for run in map(read_run, find_runs(places)) if run.status == "finished"]
    if not records:
        raise _nothing_finished(states(places), places)
    known = findings(run_rows(places))
    ahead = with_forecasts(states(places), places)
    step = _step(places, known)
    return study_page(known, records, ahead, step)


def _nothing_finished(found: Sequence[RunState], places: Sequence[Path]) -> UserError:
    """Which run comes first, and how to watch or resume it."""
    first = next((state for state in found if state.state == "running"), found[0])
    at = f" at step {first.step} of {first.steps}" if first.steps else ""
    what = f"there is no finished run to report on: {first.run} is {first.state}{at}"
    hint = "`tongues next` names the command that resumes it"
    if first.state == "running":
        there = shlex.join(map(str, places))
        hint = f"wait until it is finished; `tongues ls {there}` shows how far it is"
    return UserError(what, hint=hint)


def _step(places: Sequence[Path], known: Findings) -> str:
    """What to do next with one run, in a sentence; empty for several, and outside of a folder."""
    (place, *others) = find_runs(places)
    if others or not known.only or place.parent.name != "runs":
        return ""
    step = step_of_runs(place, place.parent.parent, page=True)
    return f"Next: `{step.command}` ({step.reason})."


def study_page(
    findings: Findings,
    records: Sequence[Run] = (),
    states: Sequence[RunState] = (),
    step: str = "",
) -> b.Page:
    """The page of a study; records: of its runs. states: with forecasts of what has not finished.

    step: what to do next with one run.
    """
    ahead = {state.run: state for state in states if state.forecast}
    drawn = figures(findings)
    first = min(drawn, key=lambda figure: figure.name != "forgetting", default=None)
    unfinished = b.Table.of(map(_unfinished, ahead.values()))
    rest = [
        *(figure for figure in drawn if figure is not first),
        findings_law_section(findings),
        b.Section("unfinished", "Runs that have not finished", [SAID["unfinished"], unfinished])
        if ahead
        else None,
        _mixtures(records),
        _method(findings, records),
        _runs(findings),
    ]
    rest = [block for block in rest if block]
    places = ((x, x.place if isinstance(x, b.Section) else x.name) for x in rest)
    links = " · ".join(f"[{block.title}](#{place})" for block, place in places)
    used: dict[str, set[str]] = {"altair": {version("altair")}}
    for name, number in (each for run in records for each in run.versions.items()):
        used.setdefault(name, set()).add(number)
    return b.Page(
        _title(findings),
        [
            answer_section(findings, step, first),
            b.Section("contents", "", [links]),
            *rest,
        ],
        lead=_lead(findings),
        versions={name: ", ".join(sorted(numbers)) for name, numbers in used.items()},
        numbers=_numbers(findings)
        | {"forecasts": {name: x.forecast.to_json() for name, x in ahead.items() if x.forecast}},
    )


def _title(known: Findings) -> str:
    """From which languages to which; of one run alone with its name."""
    learned = [run for target in known.targets for run in known.runs if run.target == target]
    if not learned:
        return "Runs"
    bases = known.base_languages
    targets = dict.fromkeys(x for run in learned for x in run.targets if x not in bases)
    learnt, old = (list_languages(map(language_name, x)) for x in (targets or bases, bases))
    title = f"From {old} to {learnt}" if bases else f"Learning {learnt}"
    only = known.only
    return f"{only.name}: {title[0].lower()}{title[1:]}" if only else title


def _lead(findings: Findings) -> list[b.Block]:
    """How much was run, and what it cannot show."""
    runs, sizes = findings.runs, size_order(findings.runs)
    one = [f"1 run, {sizes[0]}", f"seed {runs[0].seed}", f"{show_count(runs[0].tokens)} tokens"]
    parts = (
        one
        if findings.only
        else [
            counted(len({run.name for run in runs}), "run"),  # one of two languages is there twice
            f"{counted(len(sizes), 'size')}, {' to '.join(dict.fromkeys([sizes[0], sizes[-1]]))}",
            counted(len({run.seed for run in runs}), "seed"),
            f"up to {show_count(max(run.tokens for run in runs))} tokens",
        ]
    )
    if any(findings.ratios):
        parts.append("replay " + ", ".join(f"{ratio * 100:.3g} %" for ratio in findings.ratios))
        parts.append(SAID["cpt"])
    doubt = unmeasured(findings)
    return [b.Paragraph(" · ".join(parts), "lead"), b.Paragraph(doubt, "doubt") if doubt else None]


def _unfinished(state: RunState) -> dict[str, b.Entry]:
    """Where a run would end that has not, by how far it is."""
    return {
        "run": state.run,
        "state": b.Cell(state.state, below=state.reason.rpartition("\n")[2]),
        "step": f"{state.step} of {state.steps}",
        "forecast of the final loss": estimate_cell(state.forecast, fixed(3)),
    }


def _mixtures(records: Sequence[Run]) -> b.Section | None:
    """Which shares the runs have that follow from a rule, and why."""
    mixtures = {run.run: run.mixture for run in records if run.mixture}
    blocks: list[b.Block] = []
    for run, mixture in mixtures.items():
        name = b.Heading(run) if len(mixtures) > 1 else None
        blocks += [name, " ".join(describe_mixture(mixture)), b.Table.of(mixture_rows(mixture))]
    return b.Section("mixture", "The mixture", [*blocks, SAID["mixtures"]]) if blocks else None


def _method(findings: Findings, records: Sequence[Run]) -> b.Section:
    base = list_languages(f"`{lang}`" for lang in findings.base_languages)
    points = [SAID["two_ways"].format(base)] * (bool(base) and not findings.only)
    points += SAID["pairs"] if any(outcome.pairs for outcome in findings.outcomes) else ()
    points += [SAID["bases"]] * (len(findings.usual) < len(findings.runs))
    points += [SAID["means"]] * any(len(outcome.runs) > 1 for outcome in findings.rows)
    fitted_laws = [fitted for fitted in findings.laws if fitted.laws or fitted.powers]
    points += [SAID["laws"]] * bool(fitted_laws)
    for by_ends, text in {True: SAID["laws_by_ends"], False: SAID["laws_by_curves"]}.items():
        laws = [fitted for fitted in fitted_laws if fitted.by_ends == by_ends]
        if laws:
            named = list_languages(f"`{fitted.target}`" for fitted in laws)
            points.append(text.format(named, settled=SETTLED))
    shared = {
        key.replace("_", " "): _setting(value)
        for key, value in (records[0].settings if records else {}).items()
        if value not in (None, {}, []) and all(r.settings.get(key) == value for r in records)
    }
    folded = b.Details("Settings all runs share", [b.Terms(shared)]) if shared else None
    return b.Section("method", "How it was measured", [b.Items(points, "notes"), folded])


def _setting(value: Any) -> str:
    """In few words; an open kind, such as a schedule, by its registered name."""
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        rest = ", ".join(f"{key} {_setting(v)}" for key, v in value.items() if key != "name")
        return f"{value['name']} ({rest})" if rest else value["name"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _runs(findings: Findings) -> b.Section:
    each = once(findings.runs)
    langs = list(dict.fromkeys(lang for run in each for lang in run.curves))
    order = ("source", "scratch", "cpt")
    bases_differ = len(findings.usual) < len(findings.runs)  # in how long they were trained

    def place(run: RunCurves) -> tuple[int, str, float, int, float, int]:
        first = order.index(run.strategy) if run.strategy in order else len(order)
        return first, run.target, run.replay, run.params, run.tokens, run.seed

    def loss(run: RunCurves, lang: str) -> b.Entry:
        if lang not in run.curves:
            return ""
        bits = f"{run.bits_per_byte.get(lang, 0.0):.3f}"
        return value_cell(float(run.curves[lang].loss[-1]), fixed(3), after=bits)

    def row(run: RunCurves) -> dict[str, b.Entry]:
        flops, before = float(run.learned.compute[-1]), run.base_tokens
        return (
            {"strategy": b.Cell(series_name(run.strategy, run.replay), kind=run.strategy)}
            | {"learns": list_languages(run.targets), "shape": run.shape, "parameters": run.params}
            | {
                "seed": b.Cell(str(run.seed), run.seed),
                "tokens": value_cell(run.tokens, show_count),
            }
            | ({"tokens before": show_count(before) if before else ""} if bases_differ else {})
            | {"FLOPs": b.Cell(f"{flops:.2e}".replace("e+", "e"), flops)}
            | {f"loss, {lang}": loss(run, lang) for lang in langs}
        )

    runs: b.Block = b.Table.of(map(row, sorted(each, key=place)))
    if len(each) > _MANY:
        runs = b.Details(f"All {len(each)} runs", [runs])
    return b.Section("runs", "What was run", [SAID["runs"], runs])


def _numbers(known: Findings) -> dict[str, Any]:
    numbers = {
        "advice": advice(known),
        "outcomes": [outcome.to_json() for outcome in known.rows],
        "left_out": [*filter(None, [unmeasured(known)]), *known.left_out, *known.refused],
        "fitting_errors": {t: compared.to_json() for t, compared in known.compared.items()},
        "laws_by_final_losses": {f.target: f.by_ends for f in known.laws},
        "laws": {
            fitted.target: {name: law.to_json(draws=False) for name, law in fitted.laws.items()}
            for fitted in known.laws
        },
        "envelopes": {
            fitted.target: {
                strategy: {name: getattr(law, name) for name in ("params", "interval", "range")}
                for strategy, law in fitted.powers.items()
            }
            for fitted in known.laws
        },
    }
    return json.loads(json.dumps(numbers))
