"""The figures of experts: what they gain and cost, language by language, and what they forget."""

from dataclasses import asdict
from statistics import fmean

from tongues.core.pages import Figure, signed
from tongues.core.pages.axes import Axis, Row, across, categories, colour, linear, logs
from tongues.core.pages.plots import alt, dots, heat, line, panel, rule, words
from tongues.core.significance.correlation import correlate
from tongues.evaluate.settings import MeasuredExperts
from tongues.experts.ensemble import ROUTINGS
from tongues.report.experts.partition import spread_panel

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_KINDS = ("worse", "better")
_WRITTEN = 9  # languages up to which a cell says its number
_NAMED = 16  # points up to which each has its name beside it
_EVEN = 1.1  # the most text is so many times the least, where all languages have alike
_LOSS = "nats per token"


def expert_figures(experts: MeasuredExperts) -> dict[str, Figure]:
    """Every figure that there is something to show in, by its name."""
    figures = (make(experts) for make in (_cost, _shares, _forgetting, _unlearned))
    return {figure.name: figure for figure in figures if figure}


def _cost(experts: MeasuredExperts) -> Figure | None:
    shown, dense = [each for each in experts.usable() if each.k > 1], experts.dense
    if not shown:
        return None
    rows: list[Row] = [
        {"series": each.partition, "routing": each.routing, "way": each.kind}
        | {"line": f"{each.partition} {each.kind}", "experts run": each.cost.experts_run}
        | {"megabytes": each.cost.memory / 1e6, "loss": each.loss}
        for each in shown
    ]
    most = max(row["experts run"] for row in rows)
    ticks = [2**i for i in range(12) if 2**i <= most * 1.01]
    scale = alt.Scale(type="log", base=2, domain=[0.92, most * 1.09], nice=False)
    axis = alt.Axis(values=ticks, format="d", grid=False)
    x = Axis("experts run", "experts run for a token", scale, axis)
    y = linear("loss", f"mean loss ({_LOSS})", [*rows, *([dense.loss] if dense else [])], room=0.08)
    ways = dict(zip((routing.name for routing in ROUTINGS), _SHAPES * 9, strict=False))
    used = {way: ways[way] for way in ways if any(row["way"] == way for row in rows)}
    scale = alt.Scale(domain=list(used), range=list(used.values()))
    grey = Row(symbolFillColor="gray", symbolStrokeColor="gray")  # seen on light and on dark
    shape = alt.Shape("way:N", scale=scale, legend=alt.Legend(symbolSize=70, columns=3, **grey))
    tips = ("series=partition", "routing", "experts run:.2f", "loss:.3f")
    tint = colour(experts.colours, rows, "circle")
    points = dots(rows, x, y, tint, tooltip=tips).mark_point(size=75, opacity=0.9, filled=True)
    level: tuple[alt.Chart | None, ...] = ()
    if dense:
        at, beside = [{"loss": dense.loss, "text": "dense"}], {"align": "right", "dy": -7}
        level = (rule(y=y, at=dense.loss), *words(at, "width", y, "note", **beside))
    variants = [row for row in rows if ":" in row["routing"] or ROUTINGS.find(row["way"]).counted]
    steps = line(variants, x, y, tint, "line", width=1.2, opacity=0.5) if variants else None
    drawn = panel("By experts run", *level, steps, points.encode(shape=shape))
    caption = "Lines join one routing with more experts. Losses are means over languages."
    return Figure.of("cost", "What a loss costs", caption, [drawn], rows)


def _unlearned(experts: MeasuredExperts) -> Figure | None:
    each: dict[tuple[str, str], list[float]] = {}
    for rise in experts.rises:
        if rise.partition in experts.partitions and not rise.learned:
            each.setdefault((rise.partition, rise.lang), []).append(rise.rise)
    known = experts.scores.base_shares
    amounts = known or experts.scores.train_tokens
    if not each or max(amounts.values()) <= _EVEN * min(amounts.values()):
        return None
    rows: list[Row] = [
        {"language": lang, "series": name, "value": fmean(rises), "amount": float(amounts[lang])}
        for (name, lang), rises in each.items()
    ]
    related: list[str] = []
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [(row["amount"], row["value"]) for row in rows if row["series"] == name]
        if correlation := correlate(*zip(*own, strict=True)):
            rho, p = signed(correlation[0], "{:.2f}".format), correlation[1]
            p = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
            related.append(f"{name}, ρ = {rho}, {p}, {len(own)} languages")
    if max(amounts.values()) <= 1:  # shares, of which some may be 0
        scale, axis = alt.Scale(type="sqrt", padding=12), alt.Axis(format="~%", grid=False)
        x, form = Axis("amount", "share of the base's training", scale, axis), ".2%"
    else:
        x = logs("amount", "training tokens", amounts.values(), margin=0.08, grid=False)
        form = ".3~s"
    y, tint = linear("value", f"change of loss ({_LOSS})"), colour(experts.colours, rows, "circle")
    points = dots(
        rows, x, y, tint, size=70, tooltip=("language", "series", f"amount:{form}", "value:.3f")
    )
    named = words(rows, x, y, field="language", align="left", dx=7) if len(rows) <= _NAMED else ()
    drawn = panel("Versus the base model", points, *named)
    what = "its training tokens here (what the base was trained on is not known)"
    what = "its share of the base's training" if known else what
    caption = (
        "The mean change over the experts that did not learn a language, against "
        f"{what}. Spearman's rank correlation: {'; '.join(related) or 'too few languages'}."
    )
    return Figure.of("unlearned", "Forgetting by frequency", caption, [drawn], rows)


def _shares(experts: MeasuredExperts) -> Figure | None:
    spreads = {
        name: spread_panel(name, partition)
        for name, partition in experts.scores.partitions.items()
        if partition.k > 1
        and max(sum(s > 0.01 for s in of.values()) for of in partition.shares) > 1
    }
    rows = [{"partition": name, **row} for name, (_, own) in spreads.items() for row in own]
    caption = "The share of each language's text that goes to each expert, by its number."
    panels = (drawn for drawn, _ in spreads.values())
    return Figure.of("shares", "Whose text each expert learned", caption, panels, rows)


def _forgetting(experts: MeasuredExperts) -> Figure | None:
    rises, panels = experts.rises, list[alt.LayerChart]()
    most = max((abs(rise.rise) for rise in rises), default=0.0)
    written = len(experts.languages) <= _WRITTEN
    for name in dict.fromkeys(rise.partition for rise in rises):
        own = sorted((r for r in rises if r.partition == name), key=lambda rise: rise.number)
        drawn = heat(
            name,
            [asdict(r) | {"kind": _KINDS[r.rise <= 0], "size": abs(r.rise)} for r in own],
            across("lang", experts.languages),
            categories("expert", list(dict.fromkeys(rise.expert for rise in own)), labelLimit=120),
            colour(_KINDS, field="kind"),
            "size",
            {"type": "sqrt", "domain": [0, most], "range": [0.06, 0.9]},
            tooltip=("expert", "lang=language", "rise:+.3f"),
            written="format(datum.rise, '+.2f')" if written else "",
            outlined="learned",
        )
        panels.append(drawn)
    caption = (
        "Every expert (row) on every language (column): its loss minus the base's, nats per token. "
        "Orange became worse, blue better; outlined are the languages of which it learned at "
        f"least half the text. The strongest colour is {most:.2f}."
    )
    return Figure.of("forgetting", "What each expert forgot", caption, panels, map(asdict, rises))
