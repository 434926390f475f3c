"""The page of runs: what was found, its figures, the laws and how it was measured."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.estimate import Estimate
from tongues.laws.observed import size_order
from tongues.laws.targets import SETTLED
from tongues.pages import (
    Block,
    Callout,
    Card,
    Cards,
    Details,
    Figure,
    Heading,
    Items,
    Page,
    Paragraph,
    Section,
    Show,
    Terms,
    Topics,
    check_folder,
    estimate_card,
    fixed,
    write_page,
)
from tongues.quantities import show_count
from tongues.report.claims import claims
from tongues.report.figures import figures
from tongues.report.findings import Findings, findings
from tongues.report.tables import claim_tables, error_table, law_notes, law_table, run_table
from tongues.report.verdicts import Claim
from tongues.report.words import (
    ABOUT_LAWS,
    ABOUT_MEANS,
    findings_by_topic,
    sentences,
    show_nats,
    unmeasured,
)
from tongues.roles import list_languages
from tongues.runs import find_runs, read_run, run_rows

__all__ = ["study_page", "write_report"]

_FEW = 3  # shares of replay that are all told in words
_MANY = 80  # runs whose table is folded away
_ABOUT_CLAIMS = (
    "What others report of continuing, put to the test on these runs. Each number has its 95 % "
    "interval and how many pairs, runs or sizes it is a mean over. A direction holds where the "
    "whole interval lies on its side of nothing; that two things are alike, where the interval "
    "lies within the tolerance named."
)
_ABOUT_FORMS = (
    "Loss in nats per token over N parameters (all of them) and D tokens: "
    "L = E + A/N^{α} + B/D^{β} from scratch, with B/(D^{β} N^{γ}) as its last term for CPT, which "
    "takes E, A and α over; along the envelope, L = A′/C^{g} over C FLOPs. The best size for "
    "compute C grows as C^{a}. Below each number is its 95 % interval, from resampling whole runs."
)
_ABOUT_ERRORS = (
    "The mean Huber error (of the log loss, threshold 0.001) of every form on the runs of each "
    "strategy, in millionths: of the fit, and on runs left out of it. The extended form is "
    "Chinchilla's with γ free, all else fitted anew; CPT's takes E, A and α from scratch. γ "
    "with its 95 % interval. Bold: the best on left-out runs."
)
_ABOUT_RUNS = (
    "Final loss in nats per token on the held-out text of each language, and bits per byte."
)
_METHOD = (
    "A pair is a CPT run and the run from scratch of the same target, shape, seed and number "
    "of tokens; where there is none of that length, both are read up to the end of the "
    "shorter. The share saved is read off both curves at the lowest loss both reached (the "
    "final loss of the run from scratch, where CPT got there), between evaluations along "
    "straight lines in logarithms. One shape spends the same compute on every token, so "
    "tokens and compute saved are one share; what training the source model cost is not "
    "counted.",
    "CPT's curve is read in mid-run, before its learning rate has come down, and scratch's at "
    "its end, after it has: the saving is rather more than less than the one shown. Where "
    "runs of several lengths allow it, the saving between final losses alone is told too.",
    "Where shapes were continued from source models trained for different numbers of tokens, "
    "all is about those that most runs continue from; only the figure of source models shows "
    "the others.",
    f"{ABOUT_MEANS} They are Student's t, runs of one shape and seed counted as one.",
    ABOUT_LAWS,
)
_METHOD_END = (
    "Forgetting is the loss on the source language minus the same model's before its first "
    "step of CPT.",
    "At equal compute on one language, a run with more replay is further on in its schedule, "
    "its learning rate lower; only final losses are free of that.",
)


def write_report(
    places: Sequence[Path],
    out: Path,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write a report on the finished runs at or below `places`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. The title says by
    default from which language to which. `progress` is told in a few words what is being done.
    """
    check_folder(out)
    progress("reading runs")
    found = findings(run_rows(places))
    tested, drawn = claims(found), figures(found)
    page = study_page(found, tested, drawn, title or _title(found), *_common(places))
    return write_page(page, out, progress)


def study_page(
    findings: Findings,
    claims: Sequence[Claim],
    figures: Sequence[Figure],
    title: str,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Page:
    """The page of a study.

    `claims` are findings of others put to the test. `settings` are what all runs had in common,
    `versions` those of the software that trained the runs and drew the page.
    """
    tested = claim_tables(claims, findings.targets)
    about = Paragraph(_ABOUT_CLAIMS, "quiet")
    held = [Section("claims", "Which findings hold here", [about, *tested], "claims")]
    return Page(
        title,
        [
            Cards(list(_cards(findings))),
            _topics(findings),
            *(held if tested else []),
            *figures,
            *_laws(findings),
            _method(findings, settings),
            _runs(findings),
        ],
        lead=list(_lead(findings)),
        versions=versions,
        numbers=_numbers(findings, claims),
    )


def _title(found: Findings) -> str:
    learned = [run for target in found.targets for run in found.runs if run.target == target]
    targets = list_languages(dict.fromkeys(lang for run in learned for lang in run.targets))
    if not learned:
        return "Runs"
    if found.base_languages:
        return f"From {list_languages(found.base_languages)} to {targets}"
    return f"Learning {targets}"


def _common(places: Sequence[Path]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings all finished runs share, and the versions that trained them and drew this."""
    records = [read_run(path) for path in find_runs(places)]
    records = [record for record in records if record.status == "finished"]
    first = records[0].settings
    shared = {
        key: value
        for key, value in first.items()
        if value not in (None, {}, []) and all(r.settings.get(key) == value for r in records)
    }
    trained: dict[str, set[str]] = {}
    for record in records:
        for name, number in record.versions.items():
            trained.setdefault(name, set()).add(number)
    versions = {name: ", ".join(sorted(numbers)) for name, numbers in trained.items()}
    return shared, versions | {"altair": version("altair")}


def _lead(findings: Findings) -> Iterator[Block]:
    runs = findings.runs
    sizes, seeds = size_order(runs), {run.seed for run in runs}
    span = sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    parts = [
        f"{len(runs)} run{'s' * (len(runs) > 1)}",
        f"{len(sizes)} size{'s' * (len(sizes) > 1)}, {span}",
        f"{len(seeds)} seed{'s' * (len(seeds) > 1)}",
        f"up to {show_count(max(run.tokens for run in runs))} tokens",
    ]
    if findings.ratios:
        parts.append("replay " + ", ".join(f"{ratio * 100:.3g} %" for ratio in findings.ratios))
    yield Paragraph(" · ".join(parts), "lead")
    if doubt := unmeasured(findings):
        yield Callout("", [doubt])
    if findings.base_languages:
        base = list_languages(f"`{lang}`" for lang in findings.base_languages)
        yield Paragraph(
            "Two ways to a model of a new language: from random weights ([scratch]{.scratch}), or "
            f"by training a model of {base} further, continual pre-training ([CPT]{{.cpt}}), with "
            "or without replaying some of its old text. Numbers in brackets are 95 % intervals."
        )


def _cards(findings: Findings) -> Iterator[Card]:
    """Up to four numbers that say most: saved on the nearest and furthest target, forgotten."""
    saved = [t for t in findings.transfers if t.measured and not t.replay]
    for t in [saved[0], saved[-1]] if len(saved) > 1 else saved:
        if t.saved:
            what = f"fewer tokens with CPT on `{t.target}`"
            yield _card(t.saved.times(100.0), fixed(0), what, " %")
    told = [f for f in findings.forgetting if f.replay in _told_shares(findings)]
    nearest = [f for f in told if (f.lang, f.target) == (told[0].lang, told[0].target)]
    for f in [nearest[0], nearest[-1]] if len(nearest) > 1 else nearest:
        how = f"{f.replay * 100:.3g} % replay" if f.replay else "no replay"
        what = f"nats on `{f.lang}` after learning {f.target}, {how}"
        yield _card(f.rise, show_nats(f.rise), what, plus=True)


def _card(of: Estimate, show: Show, what: str, unit: str = "", *, plus: bool = False) -> Card:
    alone = of.low is None
    below = "one pair, no interval" if alone else f"n\u00a0=\u00a0{of.n}"
    return estimate_card(of, show, what, unit, plus=plus, below=below)


def _topics(findings: Findings) -> Topics:
    """The findings in words; of many shares of replay only none and the middle one."""
    shares = _told_shares(findings)
    topics = findings_by_topic(findings, shares)
    rest = findings_by_topic(findings, set(findings.ratios) - set(shares))
    topics["Left out"] = list(findings.left_out)
    del topics["Laws"]  # they stand beside their table
    blocks: dict[str, list[Block]] = {}
    for topic, told in topics.items():
        if told:
            others = [sentence for sentence in rest.get(topic, []) if sentence not in told]
            more = [Details("At other shares of replay", [Items(others)])] if others else []
            blocks[topic] = [Items(told), *more]
    return Topics(blocks)


def _told_shares(findings: Findings) -> tuple[float, ...]:
    """The shares of replay that are told first: all, or of many the least and the middle one."""
    ratios = findings.ratios
    return ratios if len(ratios) <= _FEW else (ratios[0], ratios[len(ratios) // 2])


def _laws(findings: Findings) -> list[Block]:
    laws, errors, notes = law_table(findings), error_table(findings), law_notes(findings)
    if not laws:
        return []
    blocks = [Items(findings_by_topic(findings)["Laws"], "plain"), Paragraph(_ABOUT_FORMS, "quiet")]
    blocks += laws
    if errors:
        blocks += [Heading("Fitting errors"), Paragraph(_ABOUT_ERRORS, "quiet"), *errors]
    if notes:
        blocks += [Heading("What to doubt"), Items(notes, "notes")]
    return [Section("laws", "Fitted laws", blocks)]


def _runs(findings: Findings) -> Section:
    rows: Block = run_table(findings)
    if len(findings.runs) > _MANY:
        rows = Details(f"All {len(findings.runs)} runs", [rows])
    return Section("runs", "What was run", [Paragraph(_ABOUT_RUNS, "quiet"), rows])


def _method(findings: Findings, settings: Mapping[str, Any]) -> Section:
    shared = {str(key).replace("_", " "): _setting(value) for key, value in settings.items()}
    common = [Details("Settings all runs share", [Terms(shared)])] if shared else []
    points = Items([*_METHOD, *_law_points(findings), *_METHOD_END], "notes")
    return Section("method", "How it was measured", [points, *common])


def _law_points(findings: Findings) -> Iterator[str]:
    """On which losses the laws were fitted."""
    ended = [f"`{fitted.target}`" for fitted in findings.laws if "laws" in fitted.by_ends]
    others = [f"`{fitted.target}`" for fitted in findings.laws if "laws" not in fitted.by_ends]
    if ended:
        yield (
            f"Laws of {' and '.join(ended)} are fitted on final losses alone, as runs of several "
            "lengths allow it; those of CPT on runs without replay."
        )
    if others:
        yield (
            f"Laws of {' and '.join(others)} are fitted on evaluations after the first "
            f"{SETTLED * 100:.0f} % of a run, those of CPT on runs without replay. In "
            "mid-schedule, where the rate has not decayed yet, losses lie above what a run of "
            "that length would end with; runs of two lengths a size would do without them."
        )


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _numbers(found: Findings, tested: Sequence[Claim]) -> dict[str, Any]:
    """The findings as plain JSON values."""
    numbers = {
        "sentences": sentences(found),
        "left_out": list(found.left_out),
        "saved": [
            {"target": t.target, "replay": t.replay, "share": t.saved and asdict(t.saved)}
            | {"ahead": asdict(t.ahead), "share_by_ends": t.by_ends and asdict(t.by_ends)}
            | {"pairs": len(t.pairs), "saturated": t.saturated}
            for t in found.transfers
        ],
        "nearer": [asdict(nearer) for nearer in found.nearer],
        "forgetting": [
            {"lang": f.lang, "target": f.target, "replay": f.replay}
            | {"rise": asdict(f.rise), "peak": asdict(f.peak)}
            for f in found.forgetting
        ],
        "replay": [asdict(effect) for effect in found.replay_effects],
        "claims": [asdict(claim) | {"verdict": claim.verdict} for claim in tested],
        "fitting_errors": {t: compared.to_json() for t, compared in found.compared.items()},
        "laws_by_final_losses": {f.target: sorted(f.by_ends) for f in found.laws},
        "laws": {
            fitted.target: {
                strategy: {k: v for k, v in law.to_json().items() if k != "draws"}
                for strategy, law in fitted.laws.items()
            }
            for fitted in found.laws
        },
        "envelopes": {
            fitted.target: {
                strategy: {"params": power.params, "interval": power.interval, "range": power.range}
                for strategy, power in fitted.powers.items()
            }
            for fitted in found.laws
        },
    }
    return json.loads(json.dumps(numbers))
