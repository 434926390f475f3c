"""The figures of languages: what the base knows of a target, and what replay does to both."""

from collections.abc import Sequence
from statistics import fmean

from tongues.laws.observed import RunCurves, size_order
from tongues.pages import Figure
from tongues.pages.axes import SCIENTIFIC, Axis, Row, colour, linear, logs, ranks
from tongues.pages.plots import alt, dots, line, panel, rule, words
from tongues.pages.series import LOSS, domain, ranked, series_of
from tongues.report.curves import RUN_TIPS, evaluations
from tongues.report.findings import Findings, Pair, rise
from tongues.roles import list_languages

__all__ = ["by_base", "by_replay"]

_PAIR_TIPS = ("run", "shape=size", "saved:.1f=saved (%)")


def by_base(findings: Findings) -> list[Figure]:
    """Saved and forgotten against the base's first loss on the target, and its training."""
    pairs = [pair for outcome in findings.plain for pair in outcome.pairs]
    rows = [_pair_row(p, findings) | {"apart": 100 * p.apart} for p in pairs if p.apart is not None]
    figures: list[Figure] = []
    if len({row["target"] for row in rows}) > 1:
        unit = "Loss on the target before the first step (%)"
        x = linear("apart", unit, [100.0, *(row["apart"] for row in rows)], room=(0.08, 0.16))
        panels = _pair_panels(rows, x, size_order(pair.cpt for pair in pairs), findings)
        caption = (
            "Each dot is a pair of runs, without replay. The base's loss on the target, before its "
            "first step, is given in per cent of that of random weights: the lower, the nearer the "
            "target; at 100 % it knows as little as random weights."
        )
        title = "The nearer the target: saved and forgotten"
        figures.append(Figure("relatedness", title, caption, tuple(panels), tuple(rows)))
    rows = [
        _pair_row(pair, findings) | {"base": pair.cpt.base_tokens / pair.cpt.params}
        for pair in findings.bases
        if pair.cpt.base_tokens
    ]
    if rows:
        unit = "Tokens a parameter that the base was trained on"
        x = logs("base", unit, [row["base"] for row in rows], margin=0.08, grid=False)
        sizes = size_order(pair.cpt for pair in findings.bases)
        of_targets = {t: [row for row in rows if row["target"] == t] for t in findings.targets}
        panels = [
            panel
            for target, own in of_targets.items()
            for panel in _pair_panels(own, x, sizes, findings, target)
        ]
        caption = (
            "Each dot is a pair of runs, without replay, whose bases differ in how long they were "
            "trained. What that training cost is not counted."
        )
        title = "The longer the base was trained"
        figures.append(Figure("bases", title, caption, tuple(panels), tuple(rows)))
    return figures


def _pair_row(pair: Pair, findings: Findings) -> Row:
    run = pair.cpt
    curves = ((lang, run.curves.get(lang)) for lang in findings.base_languages)
    rises = {
        f"rise on {lang}": float(curve.loss[-1] - curve.loss[0])
        for lang, curve in curves
        if curve and curve.tokens[0] == 0
    }
    row: Row = {"target": run.target, "run": run.name, "shape": run.shape, "seed": run.seed}
    saved = None if pair.saved is None else 100.0 * pair.saved
    return row | {"saved": saved, "ahead": pair.ahead} | rises


def _pair_panels(
    rows: Sequence[Row], x: Axis, sizes: Sequence[str], findings: Findings, target: str = ""
) -> list[alt.LayerChart]:
    """What was saved, and what was forgotten where that is known; of all targets, with names."""
    rises = [(f"rise on {lang}", f"Rise of the loss on {lang}") for lang in findings.base_languages]
    panels: list[alt.LayerChart] = []
    for field, title in (("saved", "Compute saved"), *rises):
        own = [row for row in rows if row.get(field) is not None]
        if own:
            values = [0.0, *(row[field] for row in own)]
            unit = "Compute saved (%)" if field == "saved" else "Nats per token"
            y = linear(field, unit, values, room=(0.12 if min(values) < 0 else 0.0, 0.12))
            by_target: dict[str, list[Row]] = {}
            for row in own:
                by_target.setdefault(row["target"], []).append(row)
            names = [
                {"text": name, x.field: fmean(row[x.field] for row in of)}
                | {field: max(row[field] for row in of)}
                for name, of in by_target.items()
            ]
            tint = ranks(sizes, "circle")
            points = dots(ranked(own, sizes), x, y, tint, opacity=0.9, said=_PAIR_TIPS)
            above = () if target else words(names, x, y, dy=-13)
            title = f"{target}, {title[0].lower()}{title[1:]}" if target else title
            panels.append(panel(title, rule(y=y, dash=()), points, *above))
    return panels


def by_replay(findings: Findings) -> list[Figure]:
    """The losses through CPT by share of replay: by all tokens, and by compute on the language."""
    known, shown = findings.base_languages, _one_size_of_cpt(findings)
    if not shown:
        return []
    langs = [(run, lang) for run in shown for lang in (*known, run.lang)]
    rows = [row for run, lang in langs for row in evaluations(run, lang)]
    several = len({run.seed for run in shown}) > 1
    seeds = "; thin lines are seeds, thick ones their mean" if several else ""
    caption = (
        f"CPT of one size, {shown[0].shape}{seeds}. The dashed line is the base model before the "
        f"first step: what is above it on {list_languages(known)} is forgotten."
    )
    panels, title = _replay_panels(findings, shown, rows), "What replay keeps, and what it costs"
    figures = [Figure("forgetting", title, caption, panels, tuple(rows))]
    if len({run.replay for run in shown}) > 1 and all(lang in run.seen for run, lang in langs):
        rows = [row for run, lang in langs for row in _on_language(run, lang)]
        caption = (
            f"The same runs of {shown[0].shape}, against the part of their compute that went into "
            f"the language itself: total compute times its share{seeds}. Without replay nothing "
            f"goes into {list_languages(known)}, whose loss before the first step is dashed."
        )
        panels, title = _replay_panels(findings, shown, rows), "Each language by the compute on it"
        figures.append(Figure("by-language", title, caption, panels, tuple(rows)))
    return figures


def _replay_panels(
    findings: Findings, shown: Sequence[RunCurves], rows: Sequence[Row]
) -> tuple[alt.LayerChart, ...]:
    """A panel for each language of each target; a base language with its loss at the start."""
    own = "own" in rows[0]
    panels: list[alt.LayerChart] = []
    for target in dict.fromkeys(run.target for run in shown):
        runs = [run for run in shown if run.target == target]
        for lang in (*findings.base_languages, runs[0].lang):
            on = [row for row in rows if (row["target"], row["lang"]) == (target, lang)]
            if not on:
                continue
            title, start = f"Loss on {lang}", None
            if lang != runs[0].lang:
                title += f", while learning {target}"
                start = fmean(float(run.curves[lang].loss[0]) for run in runs)
            spent = [row["own"] for row in rows if row["lang"] == lang] if own else []
            unit = f"Compute on {lang} (FLOPs)" if own else "Tokens trained on, all languages"
            x = logs("tokens", unit, [row["tokens"] for row in rows], grid=False)
            x = logs("own", unit, spent, SCIENTIFIC, grid=False) if own else x
            ends = [row["loss"] for row in on] + ([] if start is None else [start])
            y, tint = linear("loss", LOSS, ends), colour(domain(findings.ratios), series_of(on))
            thin = line(on, x, y, tint, "run", width=1, opacity=0.45)
            tips = dots(on, x, y, opacity=0, said=RUN_TIPS)
            layers = rule(y=y, at=start), thin, line(on, x, y, tint, mean=True), tips
            panels.append(panel(title, *layers))
    return tuple(panels)


def _on_language(run: RunCurves, lang: str) -> list[Row]:
    """The evaluations on a language, with the compute that had gone into it by then.

    Where none of it was read since the evaluation before, the later one counts.
    """
    curve, seen = run.curves[lang], run.seen[lang]
    late = curve.tokens > 0
    spent = curve.compute[late] * seen[late] / curve.tokens[late]
    values = zip(seen[late], spent, evaluations(run, lang), strict=True)
    return list({own: row | {"own": float(cost)} for own, cost, row in values if own > 0}.values())


def _one_size_of_cpt(findings: Findings) -> list[RunCurves]:
    """The continued runs of one size, that of most shares of replay, and their longest length."""
    known = [(o.runs, lang) for o in findings.outcomes for lang in o.rises]
    names = {run.name for runs, lang in known for run, _ in rise(runs, lang)}
    runs = [run for run in findings.usual if run.name in names]
    if not runs:
        return []
    sizes = size_order(runs)

    def shares(size: str, tokens: float | None = None) -> int:
        own = [run for run in runs if run.shape == size and tokens in (None, run.tokens)]
        return len({run.replay for run in own})

    size = max(sizes, key=lambda size: (shares(size), sizes.index(size)))
    lengths = {run.tokens for run in runs if run.shape == size}
    longest = max(lengths, key=lambda tokens: (shares(size, tokens), tokens))
    return [run for run in runs if (run.shape, run.tokens) == (size, longest)]
