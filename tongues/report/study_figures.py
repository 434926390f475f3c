"""The figures of a study: what CPT saves and forgets, by compute, tokens, target and base."""

from collections.abc import Sequence

from tongues.estimate import Estimate
from tongues.laws.observed import size_order
from tongues.pages import Figure, Show, fixed
from tongues.pages.axes import (
    COUNT,
    PLAIN,
    SCIENTIFIC,
    Axis,
    Row,
    categories,
    colour,
    linear,
    logs,
    ranks,
)
from tongues.pages.plots import alt, dots, formula, intervals, line, panel, rule, words
from tongues.pages.series import LOSS, domain, ranked, series_name, series_of
from tongues.report.curves import RUN_TIPS, evaluations
from tongues.report.findings import Findings, Pair, rise
from tongues.report.language_figures import by_base, by_replay
from tongues.report.laws import findings_law_figures
from tongues.roles import list_languages

__all__ = ["figures"]

_FLOOR = -100.0  # percent; what is below is drawn at the edge, with its number
_AT_MOST_ALL = "datum.value > 100 ? '' : datum.label"
_SEEN = "Tokens the twin from scratch had seen"
_POINT_TIPS = ("run", "shape=size", "loss:.3f=at loss", "tokens:.3s=tokens from scratch")
_POINT_TIPS += ("tokens_cpt:.3s=tokens of CPT", "saved:.1f=saved (%)")


def figures(findings: Findings) -> list[Figure]:
    """Every figure these findings allow, in reading order."""
    drawn = (
        _overview(findings),
        _by_compute(findings),
        _through_training(findings),
        *by_base(findings),
        *by_replay(findings),
        *findings_law_figures(findings),
    )
    return [figure for figure in drawn if figure]


def _overview(findings: Findings) -> Figure | None:
    """Tokens saved, and how much worse the base languages became, per target with intervals."""
    saved: list[Row] = []
    for t in findings.outcomes:
        if t.saved:
            each = [100.0 * pair.saved for pair in t.pairs if pair.saved is not None]
            saved += _points(t.target, t.replay, t.saved.times(100.0), each, fixed(0))
    forgotten = [
        row
        for o in findings.outcomes
        for lang, change in o.rises.items()
        for each in ([value for _, value in rise(o.runs, lang)],)
        for row in _points(o.target, o.replay, change.nats, each, "{:+.2f}".format, lang)
    ]
    panels: list[alt.LayerChart] = []
    notes: list[str] = []
    if saved:
        unit = "share of tokens saved (%)"
        panels.append(_intervals(findings, saved, "Tokens saved versus scratch", unit))
        notes.append(
            "Saved: the share of tokens, and so of compute, that CPT does without at the final "
            "loss of its twin from scratch."
        )
        if any(o.saturated for o in findings.outcomes):
            notes.append("At 100 % the base had that loss before its first step.")
    if forgotten:
        known = list_languages(findings.base_languages)
        notes.append(f"Forgotten: how far CPT's final loss on {known} is above the base model's.")
    for lang in findings.base_languages if forgotten else ():
        own = [row for row in forgotten if row["lang"] == lang]
        panels.append(_intervals(findings, own, f"Rise of the loss on {lang}", "nats per token"))
    if not panels:
        return None
    notes.append("Small dots are single runs, the large dot their mean, the bar its 95 % interval.")
    rows = [{"measure": "tokens saved (%)"} | row for row in saved]
    rows += [{"measure": "rise of source loss (nats per token)"} | row for row in forgotten]
    return Figure("overview", "Saved and forgotten", " ".join(notes), tuple(panels), tuple(rows))


def _points(
    target: str, replay: float, of: Estimate, each: Sequence[float], show: Show, lang: str = ""
) -> list[Row]:
    """A row for the mean and its interval, and one for each value it is the mean of."""
    shared: Row = {"target": target, "lang": lang, "series": series_name("cpt", replay)}
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
    x = linear("value", unit, low=left, high=high + room, clamp=True, labelExpr=labels)
    y = categories("target", findings.targets, size=13.5, labelPadding=10)
    names, means = domain(findings.ratios), [row for row in rows if row["kind"] == "mean"]
    ratios = max(len(findings.ratios), 1)
    return intervals(
        title,
        means,
        x,
        y,
        colour(names, series_of(rows)),
        height=30 + (52 if ratios < 4 else 42) * len(findings.targets) * ratios,
        side_by_side=names[1:],
        said=("series=runs", "text=mean", "from=95 %, from", "to"),
        size=130,
        width=3,
        singles=[row for row in rows if row["kind"] == "single"],
        under=[rule(x, dash=())],
        over=words(means, x, y, dy=-16),
    )


def _by_compute(findings: Findings) -> Figure | None:
    """Every run of both strategies on log-log axes, their envelopes, and one size alone."""
    rows = [
        row for o in findings.outcomes for run in o.runs if not o.replay for row in evaluations(run)
    ]
    if not rows:
        return None
    names = domain(findings.ratios)
    panels: list[alt.LayerChart] = []
    envelopes: list[Row] = []
    for fitted in findings.laws:
        ends: list[Row] = [  # of each envelope law, which is straight on log-log axes
            {"series": series_name(strategy), "target": fitted.target}
            | {"run": "power law of the envelope", "compute": C, "loss": float(power.loss(C=C))}
            for strategy, power in fitted.powers.items()
            for C in power.range["C"]
        ]
        own = [row for row in rows if row["target"] == fitted.target]
        (x, y), tint = _axes(rows), colour(names, series_of(own))
        place = Row(align="right", baseline="top")
        formulas = [
            formula(f"L = {A:.3g} · C^−{gamma:.3f}", name, "width", 2 + 19 * i, tint, **place)
            for i, (strategy, power) in enumerate(fitted.powers.items())
            for name, A, gamma in [
                (series_name(strategy), power.params["A"], power.params["gamma"])
            ]
        ]
        thin = line(own, x, y, tint, "run", width=1.1, opacity=0.5)
        law = line(ends, x, y, tint, strokeDash=[7, 4])
        tips = dots(own, x, y, opacity=0, said=RUN_TIPS)
        panels.append(panel(fitted.target, thin, law, tips, *formulas))
        envelopes += ends
    ended = any("laws" in fitted.by_ends for fitted in findings.laws)
    caption = (
        "Each thin line is a run, larger sizes further right; dashed, the power law along the "
        f"lowest {'final ' if ended else ''}losses of all sizes."
    )
    pairs = [pair for outcome in findings.plain for pair in outcome.pairs]
    usable = [pair for pair in pairs if pair.reached and pair.saved and pair.saved > 0]
    if usable:
        largest = max(usable, key=lambda pair: (pair.cpt.params, pair.saved))
        panels.append(_one_size(largest, names))
        caption += " Last panel: one size alone, with what CPT saved at the same loss."
    drawn = (*rows, *envelopes)
    return Figure("loss-against-compute", "Loss against compute", caption, tuple(panels), drawn)


def _axes(rows: Sequence[Row]) -> tuple[Axis, Axis]:
    compute, loss = ([row[name] for row in rows] for name in ("compute", "loss"))
    x = logs("compute", "Training compute (FLOPs)", compute, SCIENTIFIC, grid=False)
    return x, logs("loss", LOSS, loss, PLAIN)


def _one_size(pair: Pair, names: Sequence[str]) -> alt.LayerChart:
    """The two runs of a pair, and the step between them at the loss of scratch's end."""
    rows = [row for run in (pair.scratch, pair.cpt) for row in evaluations(run)]
    (x, y), tint, last = _axes(rows), colour(names, series_of(rows)), pair.points[-1]
    compute = last.compute_cpt, last.compute_scratch
    ends: list[Row] = [{"compute": C, "loss": last.loss} for C in compute]
    note = ends[0] | {"text": f"{100 * (pair.saved or 0):.0f} % saved"}
    return panel(
        f"{pair.cpt.target}, {pair.cpt.shape} alone",
        line(rows, x, y, tint),
        dots(rows, x, y, tint, size=30, said=RUN_TIPS),
        line(ends, x, y, width=2.2, style="step"),
        dots(ends, x, y, size=36, style="step"),
        *words([note], x, y, align="right", dx=-6, dy=13),
    )


def _through_training(findings: Findings) -> Figure | None:
    """The compute saved at equal loss and the data transferred, as the twin trains on."""
    pairs = [pair for outcome in findings.plain if outcome.saved for pair in outcome.pairs]
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
    sizes = size_order(pair.cpt for pair in pairs)
    saved, tokens, transferred = (
        [row[name] for row in rows] for name in ("saved", "tokens", "tokens_transferred")
    )
    least, top = max(_FLOOR, min(0.0, *saved)), min(100.0, max(10.0, 1.15 * max(saved)))
    end = max(tokens)
    time = logs("tokens", _SEEN, tokens, grid=False)
    share = linear(
        "saved", "Compute saved (%)", low=least, high=top, clamp=True, nice=True, tickCount=6
    )
    along = linear("tokens", _SEEN, low=0.0, high=1.03 * end, labelExpr=COUNT, grid=False)
    least = max(-end, min(0.0, *transferred))
    title = "Tokens transferred"
    y = linear("tokens_transferred", title, low=least, high=end, clamp=True, labelExpr=COUNT)
    all_of_it: list[Row] = [{"tokens": D, "tokens_transferred": D} for D in (0.0, end)]
    panels: list[alt.LayerChart] = []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = ranked([row for row in rows if row["target"] == target], sizes)
        for what, x, y_axis, below in (
            ("compute saved", time, share, rule(y=share, dash=())),
            (
                "data transferred",
                along,
                y,
                line(all_of_it, along, y, width=1.2, strokeDash=[4, 4], style="quiet"),
            ),
        ):
            lines = line(own, x, y_axis, ranks(sizes), "run", width=1.6)
            points = dots(own, x, y_axis, ranks(sizes), size=24, said=_POINT_TIPS)
            panels.append(panel(f"{target}, {what}", below, lines, points))
    caption = (
        "For each loss on the way, by model size, a line a run: how much less compute CPT needed "
        "than its twin from scratch (above 0 it saves; 100 % is a loss that the base had before "
        "its first step), and how many tokens of training from scratch that is: the data "
        "effectively transferred. Dashed: 100 % transfer."
    )
    title = "Compute saved and data transferred, through training"
    return Figure("saved-through-training", title, caption, tuple(panels), tuple(rows))
