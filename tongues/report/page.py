"""The page: one self-contained HTML file that reads on any screen, light or dark."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from tongues.laws.observed import size_order
from tongues.laws.targets import SETTLED
from tongues.quantities import show_count
from tongues.report.charts import Figure
from tongues.report.findings import Findings
from tongues.report.statistics import Estimate
from tongues.report.tables import law_notes, law_table, run_table
from tongues.report.theme import config
from tongues.report.words import findings_by_topic, nats, percent

__all__ = ["page"]


def page(
    findings: Findings,
    figures: Sequence[Figure],
    title: str,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
    library: str,
) -> str:
    """The whole page, in HTML.

    The SVG, PNG and CSV files of `figures` are expected in `figures/` beside it. `settings` are
    what all runs had in common, `versions` those of the software that trained the runs and drew
    the page, `library` is the Vega script.
    """
    assert "</script" not in library, "the script would end its element"
    drawing = {
        "palettes": {palette: config(palette) for palette in ("light", "dark")},
        "panels": [panel.to_dict() for figure in figures for panel in figure.panels],
    }
    body = (
        f"<header><h1>{escape(title)}</h1>{_lead(findings)}</header>"
        f"{_numbers(findings)}{_found(findings)}"
        f"{''.join(_figure(figure) for figure in figures)}"
        f"{_laws(findings)}{_method(settings)}{_runs(findings)}{_footer(versions)}"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_beside('page.css')}</style></head>"
        f"<body><main>{body}</main>"
        f'<script type="application/json" id="drawing">{_json(drawing)}</script>'
        f"<script>{library}</script>"
        f'<script type="module">{_beside("page.js")}</script></body></html>\n'
    )


def _beside(name: str) -> str:
    return (files("tongues.report") / name).read_text(encoding="utf-8")


def _json(thing: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(thing, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _text(sentence: str) -> str:
    """A sentence as HTML, languages set apart, numbers kept with their units."""
    marked = re.sub(r"`([^`]*)`", r'<span class="lang">\1</span>', escape(sentence))
    marked = re.sub(r"(?<![\w.])-(?=\d)", "−", marked)
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", marked)


def _items(sentences: Sequence[str], kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<ul{attribute}>{''.join(f'<li>{_text(s)}</li>' for s in sentences)}</ul>"


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
    lead = f'<p class="lead">{_text(" · ".join(parts))}</p>'
    if findings.source:
        lead += (
            f"<p>Two ways to a model of a new language: from random weights "
            f'(<span class="scratch">scratch</span>), or by training a model of '
            f"{_text(f'`{findings.source}`')} further, continual pre-training "
            f'(<span class="cpt">CPT</span>), with or without replaying some of its old text. '
            "Numbers in brackets are 95 % intervals.</p>"
        )
    return lead


def _numbers(findings: Findings) -> str:
    """Up to four figures that say most: saved on the nearest and furthest target, forgotten."""
    saved = [t for t in findings.transfers if t.saved and not t.replay]
    ends = [saved[0], saved[-1]] if len(saved) > 1 else saved
    cards = [
        _card(t.saved, percent(t.saved), f"fewer tokens with CPT on `{t.target}`")
        for t in ends
        if t.saved
    ]
    nearest = [f for f in findings.forgetting if f.target == findings.forgetting[0].target]
    for f in [nearest[0], nearest[-1]] if len(nearest) > 1 else nearest:
        how = f"{f.replay * 100:.3g} % replay" if f.replay else "no replay"
        what = f"nats on `{findings.source}` after learning `{f.target}`, {how}"
        cards.append(_card(f.rise, _plus(nats(f.rise)), what))
    return f'<div class="numbers">{"".join(cards)}</div>' if cards else ""


def _card(estimate: Estimate, said: str, what: str) -> str:
    number, bracket, between = said.partition(" [")
    between = f"[{between} · n\u00a0=\u00a0{estimate.pairs}" if bracket else "one pair, no interval"
    return (
        f"<div><strong>{_text(number)}</strong>"
        f'<span class="between">{between}</span>{_text(what)}</div>'
    )


def _plus(number: str) -> str:
    return number if number.startswith("−") else f"+{number}"


def _found(findings: Findings) -> str:
    topics = findings_by_topic(findings) | {"Left out": list(findings.left_out)}
    del topics["Laws"]  # they stand beside their table
    rows = "".join(
        f"<h3>{topic}</h3>{_items(sentences)}" for topic, sentences in topics.items() if sentences
    )
    return f'<div class="found">{rows}</div>'


def _figure(figure: Figure) -> str:
    count = len(figure.panels)
    columns = min(count, 3) if count % 2 else 2
    panels = "".join('<div class="panel"></div>' for _ in figure.panels)
    path = f"figures/{figure.name}"
    image = f'<img src="{path}.svg" alt="{escape(figure.title)}">'
    return (
        f'<figure id="{figure.name}"><h2>{escape(figure.title)}</h2>'
        f"<figcaption>{_text(figure.caption)}</figcaption>"
        f'<div class="panels" style="--columns:{columns}">{panels}</div>'
        f"<noscript>{image}</noscript>"
        f'<p class="links"><a href="{path}.svg">SVG</a> · <a href="{path}.png">PNG</a> · '
        f'<a href="{path}.csv">data</a></p></figure>'
    )


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
    cautions = f"<h3>What to doubt</h3>{_items(notes, 'notes')}" if notes else ""
    head = f'<h2>Fitted laws</h2>{_items(said, "plain")}<p class="quiet">{forms}</p>'
    return f'<section id="laws">{head}{table}{cautions}</section>'


def _runs(findings: Findings) -> str:
    return (
        '<section id="runs"><h2>What was run</h2><p class="quiet">Final loss in nats per token on '
        "the held-out text of each language, and bits per byte.</p>"
        f"{run_table(findings)}</section>"
    )


def _method(settings: Mapping[str, Any]) -> str:
    points = [
        "A pair is a CPT run and the run from scratch of the same target, shape and seed. The "
        "share saved is read off both curves at the lowest loss both reached (the final loss of "
        "the run from scratch, where CPT got there), between evaluations along straight lines in "
        "logarithms. One shape spends the same compute on every token, so tokens and compute saved "
        "are one share; what training the source model cost is not counted.",
        "CPT's curve is read in mid-run, before its learning rate has come down, and scratch's at "
        "its end, after it has: the saving is rather more than less than the one shown.",
        "Intervals of means are Student's t over pairs or runs; those of laws are percentiles "
        "over resamples of whole runs. Sizes and seeds are pooled: with one seed, intervals tell "
        "the spread over sizes, not over seeds.",
        f"Laws are fitted on evaluations after the first {SETTLED * 100:.0f} % of a run, those of "
        "CPT on runs without replay. In mid-schedule, where the rate has not decayed yet, losses "
        "lie above what a run of that length would end with.",
        "Forgetting is the loss on the source language minus the same model's before its first "
        "step of CPT.",
    ]
    shared = "".join(
        f"<dt>{escape(str(key).replace('_', ' '))}</dt><dd>{escape(_setting(value))}</dd>"
        for key, value in settings.items()
    )
    common = f"<details><summary>Settings all runs share</summary><dl>{shared}</dl></details>"
    return (
        f'<section id="method"><h2>How it was measured</h2>{_items(points, "notes")}'
        f"{common if shared else ''}</section>"
    )


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _footer(versions: Mapping[str, str]) -> str:
    said = " · ".join(f"{name} {version}" for name, version in versions.items())
    return f'<footer>{escape(said)} · <a href="report.json">all numbers as JSON</a></footer>'
