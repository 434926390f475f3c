"""The page of runs: what was found, its figures, the laws and how it was measured."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from tongues.laws.observed import size_order
from tongues.laws.targets import SETTLED
from tongues.quantities import show_count
from tongues.report.charts import Figure
from tongues.report.claim_tables import claim_tables
from tongues.report.findings import Findings
from tongues.report.html import figure, footer, items, number_card, prose
from tongues.report.statistics import Estimate
from tongues.report.tables import error_table, law_notes, law_table, run_table
from tongues.report.verdicts import Claim
from tongues.report.words import (
    ABOUT_LAWS,
    ABOUT_MEANS,
    findings_by_topic,
    nats,
    percent,
    unmeasured,
)
from tongues.roles import list_languages

__all__ = ["page"]

_FEW = 3  # shares of replay that are all told in words
_MANY = 80  # runs whose table is folded away


def page(
    findings: Findings,
    claims: Sequence[Claim],
    figures: Sequence[Figure],
    title: str,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
) -> str:
    """The body of the page, in HTML.

    `claims` are findings of others put to the test. `settings` are what all runs had in common,
    `versions` those of the software that trained the runs and drew the page.
    """
    return (
        f"<header><h1>{escape(title)}</h1>{_lead(findings)}</header>"
        f"{_numbers(findings)}{_found(findings)}{_claims(findings, claims)}"
        f"{''.join(figure(drawn) for drawn in figures)}"
        f"{_laws(findings)}{_method(findings, settings)}{_runs(findings)}{footer(versions)}"
    )


def _lead(findings: Findings) -> str:
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
    lead = f'<p class="lead">{prose(" · ".join(parts))}</p>'
    if doubt := unmeasured(findings):
        lead += f'<p class="doubt">{prose(doubt)}</p>'
    if findings.base_languages:
        lead += (
            f"<p>Two ways to a model of a new language: from random weights "
            f'(<span class="scratch">scratch</span>), or by training a model of '
            f"{prose(list_languages(f'`{lang}`' for lang in findings.base_languages))} further, "
            "continual pre-training "
            f'(<span class="cpt">CPT</span>), with or without replaying some of its old text. '
            "Numbers in brackets are 95 % intervals.</p>"
        )
    return lead


def _numbers(findings: Findings) -> str:
    """Up to four figures that say most: saved on the nearest and furthest target, forgotten."""
    saved = [t for t in findings.transfers if t.measured and not t.replay]
    ends = [saved[0], saved[-1]] if len(saved) > 1 else saved
    cards = [
        _card(t.saved, percent(t.saved), f"fewer tokens with CPT on `{t.target}`")
        for t in ends
        if t.saved
    ]
    told = [f for f in findings.forgetting if f.replay in _told_shares(findings)]
    nearest = [f for f in told if (f.lang, f.target) == (told[0].lang, told[0].target)]
    for f in [nearest[0], nearest[-1]] if len(nearest) > 1 else nearest:
        how = f"{f.replay * 100:.3g} % replay" if f.replay else "no replay"
        what = f"nats on `{f.lang}` after learning {f.target}, {how}"
        cards.append(_card(f.rise, _plus(nats(f.rise)), what))
    return f'<div class="numbers">{"".join(cards)}</div>' if cards else ""


def _card(estimate: Estimate, said: str, what: str) -> str:
    number, bracket, between = said.partition(" [")
    between = f"[{between} · n\u00a0=\u00a0{estimate.pairs}" if bracket else "one pair, no interval"
    return number_card(number, between, what)


def _plus(number: str) -> str:
    return number if number.startswith("−") else f"+{number}"


def _found(findings: Findings) -> str:
    """The findings in words; of many shares of replay only none and the middle one."""
    shares = _told_shares(findings)
    topics = findings_by_topic(findings, shares)
    rest = findings_by_topic(findings, set(findings.ratios) - set(shares))
    topics["Left out"] = list(findings.left_out)
    del topics["Laws"]  # they stand beside their table
    rows = "".join(
        f"<h3>{topic}</h3><div>{items(told)}{_more(rest.get(topic, []), told)}</div>"
        for topic, told in topics.items()
        if told
    )
    return f'<div class="found">{rows}</div>'


def _told_shares(findings: Findings) -> tuple[float, ...]:
    """The shares of replay that are told first: all, or of many the least and the middle one."""
    ratios = findings.ratios
    return ratios if len(ratios) <= _FEW else (ratios[0], ratios[len(ratios) // 2])


def _more(rest: Sequence[str], told: Sequence[str]) -> str:
    """What else there is to say, folded away."""
    others = [sentence for sentence in rest if sentence not in told]
    if not others:
        return ""
    return f"<details><summary>At other shares of replay</summary>{items(others)}</details>"


def _claims(findings: Findings, claims: Sequence[Claim]) -> str:
    """The findings of others beside the numbers here, with their verdicts."""
    found = claim_tables(claims, findings.targets)
    if not found:
        return ""
    said = (
        "What others report of continuing, put to the test on these runs. Each number has its "
        "95 % interval and how many pairs, runs or sizes it is a mean over. A direction holds "
        "where the whole interval lies on its side of nothing; that two things are alike, where "
        "the interval lies within the tolerance named."
    )
    head = f'<h2>Which findings hold here</h2><p class="quiet">{prose(said)}</p>'
    return f'<section id="claims" class="claims">{head}{found}</section>'


def _laws(findings: Findings) -> str:
    table = law_table(findings)
    if not table:
        return ""
    said, notes = findings_by_topic(findings)["Laws"], law_notes(findings)
    forms = (
        "Loss in nats per token over N parameters (all of them) and D tokens: "
        "L = E + A/N<sup>α</sup> + B/D<sup>β</sup> from scratch, with B/(D<sup>β</sup> "
        "N<sup>γ</sup>) as its last term for CPT, which takes E, A and α over; along the "
        "envelope, L = A′/C<sup>g</sup> over C FLOPs. The best size for compute C grows as "
        "C<sup>a</sup>. Below each number is its 95 % interval, "
        "from resampling whole runs."
    )
    cautions = f"<h3>What to doubt</h3>{items(notes, 'notes')}" if notes else ""
    head = f'<h2>Fitted laws</h2>{items(said, "plain")}<p class="quiet">{forms}</p>'
    return f'<section id="laws">{head}{table}{_errors(findings)}{cautions}</section>'


def _errors(findings: Findings) -> str:
    """How well each form of law fits the runs of each strategy."""
    table = error_table(findings)
    if not table:
        return ""
    said = (
        "The mean Huber error (of the log loss, threshold 0.001) of every form on the runs of each "
        "strategy, in millionths: of the fit, and on runs left out of it. The extended form is "
        "Chinchilla's with γ free, all else fitted anew; CPT's takes E, A and α from scratch. γ "
        "with its 95 % interval. Bold: the best on left-out runs."
    )
    return f'<h3>Fitting errors</h3><p class="quiet">{prose(said)}</p>{table}'


def _runs(findings: Findings) -> str:
    rows = run_table(findings)
    if len(findings.runs) > _MANY:
        rows = f"<details><summary>All {len(findings.runs)} runs</summary>{rows}</details>"
    return (
        '<section id="runs"><h2>What was run</h2><p class="quiet">Final loss in nats per token on '
        f"the held-out text of each language, and bits per byte.</p>{rows}</section>"
    )


def _method(findings: Findings, settings: Mapping[str, Any]) -> str:
    points = [
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
        *_law_points(findings),
        "Forgetting is the loss on the source language minus the same model's before its first "
        "step of CPT.",
        "At equal compute on one language, a run with more replay is further on in its schedule, "
        "its learning rate lower; only final losses are free of that.",
    ]
    shared = "".join(
        f"<dt>{escape(str(key).replace('_', ' '))}</dt><dd>{escape(_setting(value))}</dd>"
        for key, value in settings.items()
    )
    common = f"<details><summary>Settings all runs share</summary><dl>{shared}</dl></details>"
    return (
        f'<section id="method"><h2>How it was measured</h2>{items(points, "notes")}'
        f"{common if shared else ''}</section>"
    )


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
