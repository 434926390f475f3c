"""The figures of a study: what CPT saves and forgets, by compute, tokens, target and replay."""

from collections.abc import Sequence
from statistics import fmean

from tongues.estimate import Estimate
from tongues.laws.observed import RunCurves, size_order
from tongues.pages import Figure, Show, fixed
from tongues.pages import axes as a
from tongues.pages.axes import Row, domain, series_name
from tongues.pages.plots import alt, dots, intervals, line, panel, rule, words
from tongues.quantities import show_count
from tongues.report.laws import findings_law_figures
from tongues.roles import list_languages
from tongues.study.findings import Findings, rise
from tongues.study.outcomes import Outcome

_FLOOR = -100.0  # percent; what is below is drawn at the edge, with its number
_AT_MOST_ALL = "datum.value > 100 ? '' : datum.label"
_SEEN = "Tokens the twin from scratch had seen"
_RUN_TIPS = ("run", "shape=size", "tokens:.3s", "compute:.2e=FLOPs", "loss:.3f")
_POINT_TIPS = ("run", "shape=size", "loss:.3f=at loss", "tokens:.3s=tokens from scratch")
_POINT_TIPS += ("tokens_cpt:.3s=tokens of CPT", "saved:.1f=saved (%)")


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow, in reading order."""
    own = (_overview, _by_compute, _through_training, _forgetting)
    drawn = (*(make(findings) for make in own), *findings_law_figures(findings))
    return [figure for figure in drawn if figure]


def _overview(findings: Findings) -> Figure | None:
    saved: list[Row] = []
    forgotten: list[Row] = []
    if findings.only:
        return None  # its numbers are in the answer
    for o in findings.rows:
        if o.saved and o.measured:
            each = [100.0 * pair.saved for pair in o.pairs if pair.saved is not None]
            saved += _points(o, o.saved.times(100.0), each, fixed(0))
        for lang, change in o.rises.items():
            each = [value for _, value in rise(o.runs, lang)]
            forgotten += _points(o, change.nats, each, "{:+.2f}".format, lang)
    known = list_languages(findings.base_languages)
    caption = [
        "Saved: the share of tokens, and so of compute, that CPT does without at the final "
        "loss of its twin from scratch." * bool(saved),
        "At 100 % the base had that loss before its first step."
        * (bool(saved) and any(o.saturated for o in findings.rows)),
        f"Forgotten: how far CPT's final loss on {known} is above the base model's."
        * bool(forgotten),
        "Small dots are single runs, the large dot their mean, the bar its 95 % interval."
        * any(len(o.runs) > 1 for o in findings.rows),
    ]
    shown = [(saved, "Tokens saved versus scratch", "share of tokens saved (%)")]
    for lang in findings.base_languages if forgotten else ():
        own = [row for row in forgotten if row["lang"] == lang]
        shown.append((own, f"Rise of the loss on {lang}", "nats per token"))
    panels = [_intervals(findings, *each) for each in (shown if saved else shown[1:])]
    rows = [{"measure": "tokens saved (%)"} | row for row in saved]
    rows += [{"measure": "rise of source loss (nats per token)"} | row for row in forgotten]
    title = "Saved and forgotten" if saved else "Forgotten"
    return Figure.of("overview", title, caption, panels, rows)


def _points(
    outcome: Outcome, of: Estimate, each: Sequence[float], show: Show, lang: str = ""
) -> list[Row]:
    """A row for the mean and its interval, and one for each value it is the mean of."""
    shared: Row = {"target": outcome.label, "lang": lang}
    shared |= {"series": series_name("cpt", outcome.replay)}
    low, high = (of.value if end is None else end for end in (of.low, of.high))
    mean = shared | {"kind": "mean", "value": of.value, "low": low, "high": high}
    for name, value in (("text", of.value), ("from", low), ("to", high)):
        mean[name] = show(value).replace("-", "−")
    return [mean, *(shared | {"kind": "single", "value": value} for value in each)]


def _intervals(findings: Findings, rows: Sequence[Row], title: str, unit: str) -> alt.LayerChart:
    shares = unit.endswith("(%)")
    values = [row[key] for row in rows for key in ("value", "low", "high") if key in row]
    values = [max(value, _FLOOR) for value in values] if shares else values
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.2 * (high - low or 1.0)  # for the numbers above the outermost dots
    left = low - room / (1 if low < 0 else 2)
    labels = _AT_MOST_ALL if shares else alt.Undefined
    x = a.linear("value", unit, low=left, high=high + room, clamp=True, labelExpr=labels)
    targets = list(dict.fromkeys(row["target"] for row in rows))
    y = a.categories("target", targets, size=13.5, labelPadding=10)
    names, means = domain(findings.ratios), [row for row in rows if row["kind"] == "mean"]
    ratios = max(len(findings.ratios), 1)
    return intervals(
        title,
        means,
        x,
        y,
        a.colour(names, rows),
        height=30 + (52 if ratios < 4 else 42) * len(targets) * ratios,
        side_by_side=names[1:],
        tooltip=("series=runs", "text=mean", "from=95 %, from", "to"),
        size=130,
        width=3,
        singles=[row for row in rows if row["kind"] == "single"],
        under=[rule(x, dash=())],
        over=words(means, x, y, dy=-16),
    )


def _by_compute(findings: Findings) -> Figure | None:
    plain = [o for o in findings.outcomes if not o.replay]
    rows = [row for o in plain for run in o.runs for row in _evaluations(run)]
    if not rows:
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
        panels.append(panel(target, thin, law, dots(own, x, y, opacity=0, tooltip=_RUN_TIPS)))
        envelopes += ends
    ended = any(fitted.by_ends for fitted in findings.laws)
    caption = (
        "Each thin line is a run, larger sizes further right." * (not findings.only),
        f"Dashed: the power law along the lowest {'final ' if ended else ''}losses of all sizes."
        * bool(envelopes),
    )
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
    caption = (
        "For each loss on the way, by model size, a line a run: how much less compute CPT needed "
        "than its twin from scratch (above 0 it saves; 100 % is a loss that the base had before "
        "its first step), and how many tokens of training from scratch that is: the data "
        "effectively transferred. Dashed: 100 % transfer."
    )
    title = "Compute saved and data transferred, through training"
    return Figure.of("saved-through-training", title, caption, panels, rows)


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
            title, start = f"Loss on {lang}", None
            if lang != runs[0].lang:
                title += f", while learning {target}"
            if lang != runs[0].lang or target in begun:
                start = fmean(float(run.curves[lang].loss[0]) for run in runs)
            y = a.linear("loss", a.LOSS, [*on, *([] if start is None else [start])])
            tint = a.colour(domain(findings.ratios), on)
            thin = line(on, x, y, tint, "run", width=1, opacity=0.45)
            mean = line(on, x, y, tint, mean=True)
            tips = dots(on, x, y, opacity=0, tooltip=_RUN_TIPS)
            panels.append(panel(title, rule(y=y, at=start), thin, mean, tips))
    seeds = "; thin lines are seeds, thick ones their mean" * (len({r.seed for r in shown}) > 1)
    caption = (
        f"CPT of one size, {size}, on {show_count(shown[0].tokens)} tokens{seeds}. The dashed line "
        "is the base model before the first step: "
        f"what is above it on {list_languages(known)} is forgotten."
    )
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
