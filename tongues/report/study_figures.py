"""The figures of a study: what CPT saves and forgets, by compute, tokens, target and replay."""

from collections import Counter
from statistics import fmean

from tongues.core.pages import Figure
from tongues.core.pages import axes as a
from tongues.core.pages.axes import Axis, Row, domain, series_name
from tongues.core.pages.plots import alt, dots, line, panel, rule
from tongues.core.quantities import show_count
from tongues.core.roles import list_languages
from tongues.languages import language_name
from tongues.laws.observed import RunCurves, size_order
from tongues.report.laws import findings_law_figures
from tongues.report.words import SAID
from tongues.train.study.findings import Findings, rise

_FEW = 4  # evaluations of a run
_FLOOR = -100.0  # percent; what is below is drawn at the edge, with its number
_SEEN = "Tokens the twin from scratch had seen"
_RUN_TIPS = ("run", "shape=size", "tokens:.3s", "compute:.2e=FLOPs", "loss:.3f")
_POINT_TIPS = ("run", "shape=size", "loss:.3f=at loss", "tokens:.3s=tokens from scratch")
_POINT_TIPS += ("tokens_cpt:.3s=tokens of CPT", "saved:.1f=saved (%)")


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow, in reading order."""
    own = (_by_compute, _through_training, _forgetting)
    drawn = (*(make(findings) for make in own), *findings_law_figures(findings))
    return [figure for figure in drawn if figure]


def _by_compute(findings: Findings) -> Figure | None:
    plain = [o for o in findings.outcomes if not o.replay]
    rows = [row for o in plain for run in o.runs for row in _evaluations(run)]
    if len({row["compute"] for row in rows}) < 2:  # no curve, and no axis
        return None
    names = domain(findings.ratios)
    x = a.logs("compute", "Training compute (FLOPs)", rows, a.SCIENTIFIC, grid=False)
    y = a.logs("loss", a.LOSS, rows, a.PLAIN)
    panels: list[alt.LayerChart] = []
    envelopes: list[Row] = []
    powers = {fitted.target: fitted.powers for fitted in findings.laws}
    for target in findings.targets:
        own = [row for row in rows if row["target"] == target]
        if not own:  # every run of it has replay
            continue
        ends: list[Row] = [  # of each envelope law, which is straight on log-log axes
            {"series": series_name(strategy), "target": target}
            | {"run": "power law of the envelope", "compute": C, "loss": float(power.loss(C=C))}
            for strategy, power in powers.get(target, {}).items()
            for C in power.range["C"]
        ]
        tint = a.colour(names, own)
        thin = line(own, x, y, tint, "run", width=1.1, opacity=0.5)
        law = line(ends, x, y, tint, strokeDash=[7, 4])
        points = dots(own, x, y, opacity=0, tooltip=_RUN_TIPS), dots_of_few(own, x, y, tint)
        panels.append(panel(target, thin, law, *points))
        envelopes += ends
    ended = any(fitted.by_ends for fitted in findings.laws)
    caption = [] if findings.only else [SAID["thin"]]
    caption += [SAID["envelope_of_ends"] if ended else SAID["envelope_of_all"]] if envelopes else []
    drawn = (*rows, *envelopes)
    title = "Loss against compute"
    return Figure.of("loss-against-compute", title, caption, panels, drawn)


def _through_training(findings: Findings) -> Figure | None:
    pairs = [pair for outcome in findings.plain if outcome.measured for pair in outcome.pairs]
    sizes = size_order(pair.cpt for pair in pairs)
    rows: list[Row] = [
        {"target": pair.cpt.target, "run": pair.cpt.name, "shape": pair.cpt.shape}
        | {"seed": pair.cpt.seed, "loss": point.loss, "tokens": point.tokens_scratch}
        | {"tokens_cpt": point.tokens_cpt, "tokens_transferred": point.transferred}
        | {"saved": 100 * point.share}
        for pair in pairs
        for point in pair.points
        if point.tokens_scratch >= pair.scratch.learned.tokens[1]  # earlier is a guess
    ]
    if not rows:
        return None
    saved, transferred = ([row[name] for row in rows] for name in ("saved", "tokens_transferred"))
    least, top = min(0.0, *saved), min(100.0, max(10.0, 1.15 * max(saved)))
    end = max(row["tokens"] for row in rows)
    time = a.logs("tokens", _SEEN, rows, grid=False)
    ends = a.Row(low=max(_FLOOR, least), high=top, clamp=True, nice=True, tickCount=6)
    share = a.linear("saved", "Compute saved (%)", **ends)
    along = a.linear("tokens", _SEEN, low=0.0, high=1.03 * end, labelExpr=a.COUNT, grid=False)
    ends = a.Row(low=max(-end, min(0.0, *transferred)), high=end, clamp=True, labelExpr=a.COUNT)
    data = a.linear("tokens_transferred", "Tokens transferred", **ends)
    all_of_it: list[Row] = [{"tokens": D, "tokens_transferred": D} for D in (0.0, end)]
    diagonal = line(all_of_it, along, data, width=1.2, strokeDash=[4, 4], style="quiet")
    panels: list[alt.LayerChart] = []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [row for row in rows if row["target"] == target]
        own = [row | {"rank": sizes.index(row["shape"])} for row in own]
        for what, x, y, below in (
            ("compute saved", time, share, rule(y=share, dash=())),
            ("data transferred", along, data, diagonal),
        ):
            lines = line(own, x, y, a.ranks(sizes), "run", width=1.6)
            points = dots(own, x, y, a.ranks(sizes), size=24, tooltip=_POINT_TIPS)
            panels.append(panel(f"{target}, {what}", below, lines, points))
    title, about = "Compute saved and data transferred", SAID["saved_and_transferred"]
    return Figure.of("saved-through-training", title, about, panels, rows)


def _forgetting(findings: Findings) -> Figure | None:
    shown = _one_size_of_cpt(findings)
    if not shown:
        return None
    known, size = findings.base_languages, shown[0].shape
    rows = [row for run in shown for lang in (*known, run.lang) for row in _evaluations(run, lang)]
    x = a.logs("tokens", "Tokens trained on, all languages", rows, grid=False)
    panels: list[alt.LayerChart] = []
    begun = {o.target for o in findings.outcomes if o.gain}  # where the first loss is the base's
    drawn: set[tuple[str, frozenset[str]]] = set()
    for target in findings.targets:
        runs = [run for run in shown if run.target == target]
        those = frozenset(run.name for run in runs)
        for lang in (*known, runs[0].lang) if runs else ():
            if (lang, those) in drawn:  # by the first target of runs of several
                continue
            drawn.add((lang, those))
            on = [row for row in rows if (row["target"], row["lang"]) == (target, lang)]
            title, start = f"Loss on {language_name(lang)}", None
            if lang != runs[0].lang:
                title = f"{title}, learning {language_name(target)}"
            if lang != runs[0].lang or target in begun:
                start = fmean(float(run.curves[lang].loss[0]) for run in runs)
            y = a.linear("loss", a.LOSS, [*on, *([] if start is None else [start])])
            tint = a.colour(domain(findings.ratios), on)
            thin = line(on, x, y, tint, "run", width=1, opacity=0.45)
            mean = line(on, x, y, tint, mean=True)
            points = dots(on, x, y, opacity=0, tooltip=_RUN_TIPS), dots_of_few(on, x, y, tint)
            panels.append(panel(title, rule(y=y, at=start), thin, mean, *points))
    about = f"CPT of one size, {size}, on {show_count(shown[0].tokens)} tokens."
    seeds = [SAID["seeds"]] if len({run.seed for run in shown}) > 1 else []
    caption = [about, *seeds, SAID["above_base"].format(list_languages(map(language_name, known)))]
    replayed = len({run.replay for run in shown}) > 1
    title = "What replay keeps, and what it costs" if replayed else "Learned and forgotten"
    return Figure.of("forgetting", title, caption, panels, rows)


def _one_size_of_cpt(findings: Findings) -> list[RunCurves]:
    """The continued runs of one size, that of most shares of replay, and their longest length."""
    known = [(o.runs, lang) for o in findings.outcomes for lang in o.rises]
    names = {run.name for runs, lang in known for run, _ in rise(runs, lang)}
    groups: dict[tuple[str, float], list[RunCurves]] = {}
    for run in findings.usual:
        if run.name in names:
            groups.setdefault((run.shape, run.tokens), []).append(run)
    sizes = size_order(run for runs in groups.values() for run in runs)

    def shares(size: str) -> int:
        return len({r.replay for (shape, _), runs in groups.items() if shape == size for r in runs})

    size = max(sizes, key=lambda size: (shares(size), sizes.index(size)), default="")
    own = {tokens: runs for (shape, tokens), runs in groups.items() if shape == size}
    return own[max(own, key=lambda n: (len({r.replay for r in own[n]}), n))] if own else []


def dots_of_few(rows: list[Row], x: Axis, y: Axis, tint: alt.Color) -> alt.Chart:
    """The evaluations of runs that have few of them, and so no curve that shows where they are."""
    counts = Counter(row["run"] for row in rows)
    return dots([row for row in rows if counts[row["run"]] < _FEW], x, y, tint, size=40)


def _evaluations(run: RunCurves, lang: str | None = None) -> list[Row]:
    """A row per evaluation after the start, on the target or another language."""
    lang = lang or run.lang
    curve = run.curves[lang]
    shared: Row = {"series": series_name(run.strategy, run.replay), "target": run.target}
    shared |= {"run": run.name, "shape": run.shape, "seed": run.seed, "lang": lang}
    points = zip(curve.tokens.tolist(), curve.compute.tolist(), curve.loss.tolist(), strict=True)
    return [
        shared | {"tokens": tokens, "compute": compute, "loss": loss}
        for tokens, compute, loss in points
        if tokens > 0
    ]
