"""The figures of languages: what the base model knows of a target, and what replay does to both."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from tongues.laws.observed import RunCurves, size_order
from tongues.pages import Figure
from tongues.pages.axes import COUNT, SCIENTIFIC, Axis, Row, colour, linear, logs, ranks
from tongues.pages.plots import alt, dots, line, panel, rule, words
from tongues.report.findings import Findings, Pair
from tongues.report.meeting import meetings
from tongues.report.statistics import by_unit
from tongues.report.theme import LOSS, RUN_TIPS, domain, evaluations, ranked
from tongues.roles import list_languages

__all__ = ["bases", "by_language", "forgetting", "relatedness"]


def relatedness(findings: Findings) -> Figure | None:
    """Saved and forgotten against the base model's loss on the target before the first step."""
    pairs = [p for t in findings.transfers if not t.replay for p in t.pairs]
    rows = [
        _row(pair, findings) | {"apart": 100.0 * pair.apart}
        for pair in pairs
        if pair.apart is not None
    ]
    if len({row["target"] for row in rows}) < 2:
        return None
    values = [100.0, *(row["apart"] for row in rows)]
    title = "Loss on the target before the first step (%)"
    x = linear("apart", title, values, room=(0.08, 0.16))
    sizes = size_order(pair.cpt for pair in pairs)
    panels = _panels(rows, x, sizes, findings.base_languages)
    caption = (
        "Each dot is a pair of runs, without replay. The source model's loss on the target, before "
        "its first step, is given in per cent of that of random weights: the lower, the nearer the "
        "target; at 100 % it knows no more than random weights, and beyond it is surer than it "
        "should be."
    )
    title = "The nearer the target: saved and forgotten"
    return Figure("relatedness", title, caption, tuple(panels), tuple(rows))


def bases(findings: Findings) -> Figure | None:
    """Saved and forgotten against how long the base model was trained."""
    rows = [
        _row(pair, findings) | {"base": pair.cpt.base_tokens / pair.cpt.params}
        for pair in findings.bases
        if pair.cpt.base_tokens
    ]
    if not rows:
        return None
    title = "Tokens a parameter that the source model was trained on"
    x = logs("base", title, [row["base"] for row in rows], COUNT, margin=0.08, grid=False)
    sizes = size_order(pair.cpt for pair in findings.bases)
    panels: list[alt.LayerChart] = []
    for target in findings.targets:
        own = [row for row in rows if row["target"] == target]
        panels += _panels(own, x, sizes, findings.base_languages, f"{target}, ")
    caption = (
        "Each dot is a pair of runs, without replay, whose source models differ in how long they "
        "were trained. What that training cost is not counted."
    )
    title = "The longer the source model was trained"
    return Figure("bases", title, caption, tuple(panels), tuple(rows))


def _row(pair: Pair, findings: Findings) -> Row:
    rises = {
        f"rise on {lang}": float(curve.loss[-1] - curve.loss[0])
        for lang in findings.base_languages
        if (curve := pair.cpt.curves.get(lang)) and curve.tokens[0] == 0
    }
    return {
        "target": pair.cpt.target,
        "run": pair.cpt.name,
        "shape": pair.cpt.shape,
        "seed": pair.cpt.seed,
        "saved": None if pair.saved is None else 100.0 * pair.saved,
        "ahead": pair.ahead,
        **rises,
    }


def _panels(
    rows: Sequence[Row], x: Axis, sizes: Sequence[str], known: Sequence[str], start: str = ""
) -> list[alt.LayerChart]:
    """What was saved, and what was forgotten where that is known."""
    drawn: list[alt.LayerChart] = []
    for field, title, unit in (
        ("saved", "compute saved", "Compute saved (%)"),
        *((f"rise on {lang}", f"rise of the loss on {lang}", "Nats per token") for lang in known),
    ):
        own = [row for row in rows if row.get(field) is not None]
        if not own:
            continue
        low = min(0.0, *(row[field] for row in own))
        values = [0.0, *(row[field] for row in own)]
        y = linear(field, unit, values, room=(0.12 if low < 0 else 0.0, 0.12))
        said = ("run", "shape=size", "saved:.1f=saved (%)")
        tint = ranks(sizes, "circle")
        layers = dots(ranked(own, sizes), x, y, tint, opacity=0.9, said=said)
        names = () if start else words(_names(own, x.field, field), x, y, dy=-13)
        title = f"{start}{title}" if start else title[0].upper() + title[1:]
        drawn.append(panel(title, rule(y=y, dash=()), layers, *names))
    return drawn


def _names(rows: Sequence[Row], x: str, y: str) -> list[Row]:
    """Each target's name above its dots."""
    by_target: dict[str, list[Row]] = {}
    for row in rows:
        by_target.setdefault(row["target"], []).append(row)
    return [
        {"text": target, x: fmean(row[x] for row in own), y: max(row[y] for row in own)}
        for target, own in by_target.items()
    ]


def forgetting(findings: Findings) -> Figure | None:
    """The losses on base and target languages through CPT, with replay and without."""
    known, shown = findings.base_languages, _shown(findings)
    if not shown:
        return None
    rows = [row for run in shown for lang in (*known, run.lang) for row in evaluations(run, lang)]
    tokens = [row["tokens"] for row in rows]
    x = logs("tokens", "Tokens trained on, all languages", tokens, grid=False)
    panels, names = [], domain(findings.ratios)
    for target in dict.fromkeys(run.target for run in shown):
        own = [row for row in rows if row["target"] == target]
        for lang in known:
            on_base = [row for row in own if row["lang"] == lang]
            title, start = f"Loss on {lang}, while learning {target}", _start(shown, target, lang)
            panels.append(_losses(title, on_base, x, names, start))
        on_target = [row for row in own if row["lang"] not in known]
        panels.append(_losses(f"Loss on {target}", on_target, x, names))
    caption = (
        f"CPT of one size, {shown[0].shape}{_seeds(shown)}. The dashed line is the base model "
        f"before the first step: what lies above it on {list_languages(known)} is forgotten."
    )
    title = "What replay keeps, and what it costs"
    return Figure("forgetting", title, caption, tuple(panels), tuple(rows))


def by_language(findings: Findings) -> Figure | None:
    """Losses against the compute spent on that language alone, a line a share of replay."""
    known, shown = findings.base_languages, _shown(findings)
    if len({run.replay for run in shown}) < 2:
        return None
    if not all(lang in run.seen for run in shown for lang in (*known, run.lang)):
        return None
    rows = [row for run in shown for lang in (run.lang, *known) for row in _on(run, lang)]
    names, panels = domain(findings.ratios), []
    for target in dict.fromkeys(run.target for run in shown):
        own = [row for row in rows if row["target"] == target]
        own_lang = next(run.lang for run in shown if run.target == target)
        starts = {own_lang: None} | {lang: _start(shown, target, lang) for lang in known}
        for lang, start in starts.items():
            on = [row for row in own if row["lang"] == lang]
            if on:
                spent = [row["own"] for row in rows if row["lang"] == lang]
                x = logs("own", f"Compute on {lang} (FLOPs)", spent, SCIENTIFIC, grid=False)
                title = f"Loss on {lang}" + (f", while learning {target}" if start else "")
                panels.append(_losses(title, on, x, names, start))
    caption = (
        f"The same runs of {shown[0].shape}, against the part of their compute that went into the "
        f"language itself: total compute times its share{_seeds(shown)}. Without replay nothing "
        f"goes into {list_languages(known)}, whose loss before the first step is dashed."
        f"{_met(shown)}"
    )
    title = "Each language by the compute spent on it"
    return Figure("by-language", title, caption, tuple(panels), tuple(rows))


def _shown(findings: Findings) -> list[RunCurves]:
    """The continued runs of one size, that of most shares of replay, and their longest length."""
    names = {run.name for f in findings.forgetting for run in f.runs}
    continued = [run for run in findings.usual if run.name in names]
    if not continued:
        return []
    sizes = size_order(continued)
    shares = {size: {run.replay for run in continued if run.shape == size} for size in sizes}
    size = max(sizes, key=lambda size: (len(shares[size]), sizes.index(size)))
    longest = max(
        {run.tokens for run in continued if run.shape == size},
        key=lambda tokens: (_shares_of(continued, size, tokens), tokens),
    )
    return [run for run in continued if (run.shape, run.tokens) == (size, longest)]


def _start(shown: Sequence[RunCurves], target: str, lang: str) -> float:
    """The mean loss on a base language before the first step."""
    return fmean(float(run.curves[lang].loss[0]) for run in shown if run.target == target)


def _seeds(shown: Sequence[RunCurves]) -> str:
    """What the lines are, where there are several for a share of replay."""
    several = len({run.seed for run in shown}) > 1
    return "; thin lines are seeds, thick ones their mean" if several else ""


def _shares_of(runs: Iterable[RunCurves], size: str, tokens: float) -> int:
    return len({run.replay for run in runs if (run.shape, run.tokens) == (size, tokens)})


def _on(run: RunCurves, lang: str) -> list[Row]:
    """The evaluations on a language, with the compute that had gone into it by then.

    Where none of it was read since the evaluation before, the later one counts.
    """
    curve, seen = run.curves[lang], run.seen[lang]
    late = curve.tokens > 0
    spent = curve.compute[late] * seen[late] / curve.tokens[late]
    last = {
        own: row | {"own": float(cost)}
        for own, cost, row in zip(seen[late], spent, evaluations(run, lang), strict=True)
        if own > 0
    }
    return list(last.values())


def _met(shown: Sequence[RunCurves]) -> str:
    """By how much the losses on the targets differ at equal compute on them."""
    found = meetings(shown)
    if not found:
        return ""
    means: list[float] = []
    for key in {(met.run.target, met.run.replay) for met in found}:
        apart = [(m.run.unit, m.apart) for m in found if (m.run.target, m.run.replay) == key]
        means.append(100.0 * math.expm1(fmean(by_unit(apart))))
    least, most = (f"{end:+.1f}".replace("-", "−") for end in (min(means), max(means)))
    between = f"{least} %" if least == most else f"{least} to {most} %"
    return (
        f" At equal compute on the target and past the warm-up, its loss with more replay differs "
        f"from that with the least by {between} in the mean."
    )


def _losses(
    title: str, rows: Sequence[Row], x: Axis, names: Sequence[str], start: float | None = None
) -> alt.LayerChart:
    y = linear("loss", LOSS, [row["loss"] for row in rows] + ([] if start is None else [start]))
    tint = colour(names, [row["series"] for row in rows])
    return panel(
        title,
        rule(y=y, at=start),
        line(rows, x, y, tint, "run", width=1, opacity=0.45),
        line(rows, x, y, tint, mean=True),
        dots(rows, x, y, opacity=0, said=RUN_TIPS),
    )
