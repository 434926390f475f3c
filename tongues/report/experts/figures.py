"""The figures of experts: what they gain and cost, language by language, and what they forget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import hypot, log, sqrt

from tongues.estimate import Estimate
from tongues.experts.ensemble import ROUTINGS
from tongues.pages import Figure
from tongues.pages.axes import Axis, Row, categories, colour, linear, logs
from tongues.pages.plots import alt, chart, dots, heat, line, panel, rule, words
from tongues.report.evaluation.figures import dots_panel
from tongues.report.experts.answer import REFERENCES
from tongues.report.experts.correlation import correlate
from tongues.report.experts.measured import ExpertRise, MeasuredExperts, differ
from tongues.report.experts.partition import spread_panel

__all__ = ["expert_figures"]

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_KINDS = ("worse", "better")
_WRITTEN = 9  # languages up to which a cell says its number
_NEAR = (0.085, 0.055)  # of a panel's width and height: what a short name takes
_LOSS = "nats per token"
_ENDS = ("value:.3f", "low:.3f", "high:.3f")


def expert_figures(experts: MeasuredExperts) -> dict[str, Figure]:
    """Every figure that there is something to show in, by its name."""
    makers = (_settings, _cost, _added, _languages, _gains, _shares, _forgetting, _unlearned)
    figures = (make(experts) for make in makers)
    return {figure.name: figure for figure in figures if figure}


def _settings(experts: MeasuredExperts) -> Figure | None:
    """How each setting's loss differs from that of dense and the base."""
    shown = sorted(experts.usable(), key=lambda each: each.loss)
    rows: list[Row] = [
        {"setting": each.name, "series": each.division, "versus": other, **_ends(difference)}
        for other in experts.references
        for each in shown
        if (difference := each.difference(other))
    ]
    panels = [
        dots_panel(
            f"Versus {REFERENCES[other]}",
            [row for row in rows if row["versus"] == other],
            _LOSS,
            experts.colours,
            category="setting",
            level=0.0,
            beside=False,
            said=("setting", *_ENDS),
        )
        for other in experts.references
    ]
    caption = (
        "The loss minus that of the models above the panels, mean over languages, best setting "
        "first: left of the line at 0 is better. Bars are 95 % confidence intervals over held-out "
        "documents. Baselines stand in the table only."
    )
    title = "What experts gain"
    return Figure("settings", title, caption, tuple(panels), tuple(rows)) if shown else None


def _cost(experts: MeasuredExperts) -> Figure | None:
    """The loss of each setting against the experts that it runs, and against parts."""
    shown, dense = [each for each in experts.usable() if each.k > 1], experts.dense
    if not shown:
        return None
    rows: list[Row] = [
        {
            "series": each.division,
            "routing": each.routing,
            "way": each.kind,
            "line": f"{each.division} {each.kind}",
            "experts run": each.cost.experts_run,
            "milliseconds": each.cost.seconds * 1e3,
            "megabytes": each.cost.memory / 1e6,
            "loss": each.loss,
        }
        for each in shown
    ]
    losses = [*(row["loss"] for row in rows), *([dense.loss] if dense else [])]
    x = _doubling("experts run", [1.0, *(row["experts run"] for row in rows)])
    y = linear("loss", f"mean loss ({_LOSS})", losses, room=0.08)
    ways = dict(zip((routing.name for routing in ROUTINGS), _SHAPES * 9, strict=False))
    used = {way: ways[way] for way in ways if any(row["way"] == way for row in rows)}
    scale = alt.Scale(domain=list(used), range=list(used.values()))
    shape = alt.Shape("way:N", scale=scale, legend=alt.Legend(symbolSize=70))
    said = ("series=division", "routing", "experts run:.2f", "milliseconds:.3~g", "loss:.3f")
    tint = colour(experts.colours, (row["series"] for row in rows), "circle")
    points = dots(rows, x, y, tint, said=said).mark_point(size=75, opacity=0.9, filled=True)
    level: tuple[alt.Chart | None, ...] = ()
    if dense:
        at, beside = [{"loss": dense.loss, "text": "dense"}], {"align": "right", "dy": -7}
        level = (rule(y=y, at=dense.loss), *words(at, "width", y, "note", **beside))
    variants = [row for row in rows if ":" in row["routing"] or ROUTINGS.find(row["way"]).counted]
    steps = line(variants, x, y, tint, "line", width=1.2, opacity=0.5) if variants else None
    panels = [panel("By experts run", *level, steps, points.encode(shape=shape))]
    caption = (
        "Every setting by the experts that run for a token, its cost versus one model of their "
        f"size; lines join one routing with more experts. Losses are means over languages"
        f"{'; the dashed line is the dense model' if dense else ''}."
    )
    best = [
        (experts.scores.partitions[name].by, each)
        for name, each in experts.best_of_each.items()
        if name not in ("before", "grown")
    ]
    by_k: list[Row] = [{"series": by, "parts": each.k, "loss": each.loss} for by, each in best]
    names = [row["series"] for row in by_k]
    by_k = [row for row in by_k if names.count(row["series"]) > 1]
    if by_k:
        x = _doubling("parts", [row["parts"] for row in by_k])
        names = list(dict.fromkeys(row["series"] for row in by_k))
        tint = colour([*experts.colours, *names], names)
        marks = dots(by_k, x, y, tint, size=70, said=("series", "parts", "loss:.3f"))
        panels.append(panel("By number of parts", line(by_k, x, y, tint, width=2), marks))
        caption += " Second, the best routing of each way to divide, by its number of parts."
    return Figure("cost", "What a loss costs", caption, tuple(panels), (*rows, *by_k))


def _added(experts: MeasuredExperts) -> Figure | None:
    """Added languages and their donors, before and after."""
    if (growth := experts.growth) is None:
        return None
    rows: list[Row] = []
    for lang in experts.languages:
        if not (role := growth.role(lang)):
            continue
        name = f"{lang}, {role.partition(',')[0].partition(' of')[0]}"
        through = {"base": experts.base, "before": experts.own_setting("before", lang)}
        through["grown"] = experts.own_setting("grown", lang)
        losses = {key: s.losses[lang].nats_per_token for key, s in through.items() if s}
        losses |= {"new expert alone": growth.alone[lang]} if lang in growth.alone else {}
        rows += [{"language": name, "series": key, "value": loss} for key, loss in losses.items()]
    names = list(dict.fromkeys(row["series"] for row in rows))
    drawn = dots_panel("Loss", rows, _LOSS, names, beside=False)
    caption = (
        "The loss of each added language and its donors: under the base model, the ensemble before "
        "and after, and the new expert alone. A language uses its own expert; one that has none, "
        "the nearest by its text."
    )
    return Figure("added", "Languages added", caption, (drawn,), tuple(rows))


def _languages(experts: MeasuredExperts) -> Figure | None:
    """Losses by language, and their differences to the reference."""
    tops, other = experts.best_of_each, experts.references[0]
    shown = {"base": experts.base, **({"dense": experts.dense} if experts.dense else {}), **tops}
    if len(shown) < 2:
        return None
    losses: list[Row] = [
        {"language": lang, "series": key, "value": each.losses[lang].nats_per_token}
        for key, each in shown.items()
        for lang in experts.languages
    ]
    differences: list[Row] = [
        {"language": lang, "series": key, "versus": other, **_ends(each.difference(other, lang))}
        for key, each in tops.items()
        for lang in experts.languages
    ]
    panels = [dots_panel("Loss", losses, _LOSS, experts.colours, beside=False)]
    if differences:
        title, names = f"Versus {REFERENCES[other]}", experts.colours
        panels.append(dots_panel(title, differences, _LOSS, names, level=0.0))
    caption = (
        "The loss of each language under the base model, the dense model and every division by its "
        f"best routing; then the difference to {REFERENCES[other]}, with 95 % confidence intervals "
        "over held-out documents: left of the line at 0 is better."
    )
    rows = (*losses, *differences)
    return Figure("languages", "Language by language", caption, tuple(panels), rows)


def _gains(experts: MeasuredExperts) -> Figure | None:
    """How each language's loss changed, against its amount of text."""
    top, dense, tokens = experts.best(), experts.dense, experts.scores.train_tokens
    if top is None or not differ(tokens):
        return None
    panels, rows, related = [], list[Row](), list[str]()
    for other in experts.references:
        own: list[Row] = [
            {"language": lang, "series": each.division, "versus": other, **_ends(of)}
            for each in [top, *([dense] if dense and other == "base" else [])]
            for lang, of in each.versus[other].languages.items()
        ]
        title = f"Versus {REFERENCES[other]}"
        drawn, found = _relation(experts, title, own, tokens, "difference of loss")
        panels.append(drawn)
        related += [f"{each} versus {REFERENCES[other]}" for each in found]
        rows += [{**row, "amount": tokens[row["language"]]} for row in own]
    caption = (
        "The change of a language's loss, below 0 where it is lower, against its training tokens "
        "in the experts' text, with 95 % confidence intervals over held-out documents. Spearman's "
        f"rank correlation: {'; '.join(related) or 'too few languages'}."
    )
    return Figure("gains", "Gain by amount of text", caption, tuple(panels), tuple(rows))


def _unlearned(experts: MeasuredExperts) -> Figure | None:
    """What became of languages that an expert did not learn, against how frequent they were."""
    frequency = experts.frequencies
    rows: list[Row] = [
        {"language": lang, "series": name, "value": rise, "amount": frequency[lang]}
        for name in experts.divisions
        for lang, rise in experts.unlearned(name).items()
    ]
    if not differ(frequency) or not rows:
        return None
    title = "Where it was not learned"
    drawn, related = _relation(experts, title, rows, frequency, "rise of loss")
    what = "its training tokens here (what the base was trained on is not known)"
    what = "its share of the base's training" if experts.scores.base_shares else what
    caption = (
        "The loss on a language minus the base's, mean over the experts that did not learn it, "
        f"against {what}. Spearman's rank correlation: {'; '.join(related) or 'too few languages'}."
    )
    return Figure("unlearned", "Forgetting by frequency", caption, (drawn,), tuple(rows))


def _relation(
    experts: MeasuredExperts,
    title: str,
    rows: Sequence[Row],
    amounts: Mapping[str, float],
    what: str,
) -> tuple[alt.LayerChart, list[str]]:
    """Values of languages against an amount of each, with the rank correlation of each series.

    amounts: tokens, or shares of what the base read, some of which may be 0.
    """
    shares = max(amounts.values()) <= 1
    rows = [{**row, "amount": float(amounts[row["language"]])} for row in rows]
    if shares:
        scale, axis = alt.Scale(type="sqrt", padding=12), alt.Axis(format="~%", grid=False)
        x = Axis("amount", "share of the base's training", scale, axis)
    else:
        x = logs("amount", "training tokens", amounts.values(), margin=0.08, grid=False)
    y = linear("value", f"{what} ({_LOSS})")
    names = list(dict.fromkeys(row["series"] for row in rows))
    related: list[str] = []
    for name in names:
        own = [row for row in rows if row["series"] == name]
        found = correlate([row["amount"] for row in own], [row["value"] for row in own])
        related += [f"{name}, {found}"] if found else []
    tint = colour(experts.colours, names, "circle")
    ranged = [row for row in rows if row.get("low") is not None]
    ends = chart(ranged).encode(x.channel(alt.X), y.of("low").channel(alt.Y), tint, y2="high:Q")
    said = ("language", "series", f"amount:{'.2%' if shares else '.3~s'}", *_ENDS)
    drawn = panel(
        title,
        ends.mark_rule(strokeWidth=1.5, opacity=0.6) if ranged else None,
        dots(rows, x, y, tint, size=70, said=said),
        *words(_apart(rows, sqrt if shares else log), x, y, field="language", align="left", dx=7),
    )
    return drawn, related


def _apart(rows: Sequence[Row], along: Callable[[float], float]) -> list[Row]:
    """Rows whose names, to the right of their points, would not lie on another point or name."""
    places = [(along(row["amount"]), row["value"]) for row in rows]
    units = [
        (max(values) - min(values) or 1.0) * near
        for values, near in zip(zip(*places, strict=True), _NEAR, strict=True)
    ]
    scaled = [(a / units[0], b / units[1]) for a, b in places]
    chosen: list[int] = []
    for i, (a, b) in enumerate(scaled):
        others = (*scaled[:i], *scaled[i + 1 :])
        covered = any(0 <= c - a < 1 and abs(d - b) < 1 for c, d in others)
        if not covered and all(hypot(scaled[j][0] - a, scaled[j][1] - b) >= 1 for j in chosen):
            chosen.append(i)
    return [rows[i] for i in chosen]


def _shares(experts: MeasuredExperts) -> Figure | None:
    """How every partition that puts languages together spreads their text over its experts."""
    panels, rows = [], list[Row]()
    for name, partition in experts.scores.partitions.items():
        if partition.k > 1 and any(
            sum(s > 0.01 for s in of.values()) > 1 for of in partition.shares
        ):
            drawn, own = spread_panel(name, partition)
            panels.append(drawn)
            rows += [{"division": name, **row} for row in own]
    if not panels:
        return None
    caption = "The share of each language's text that goes to each expert, by its number."
    return Figure("shares", "Whose text each expert learned", caption, tuple(panels), tuple(rows))


def _forgetting(experts: MeasuredExperts) -> Figure | None:
    """A heat map for each division: the loss of its experts minus the base's."""
    rises = experts.rises
    if not rises:
        return None
    most = max(abs(rise.rise) for rise in rises)
    divisions = dict.fromkeys(rise.division for rise in rises)
    panels = [
        _heat(name, [rise for rise in rises if rise.division == name], most, experts.languages)
        for name in divisions
    ]
    caption = (
        "Every expert (row) on every language (column): its loss minus the base's, nats per token. "
        "Orange became worse, blue better; outlined are the languages of which it learned at "
        f"least half the text. The strongest colour stands for {most:.2f}."
    )
    rows = tuple(asdict(rise) for rise in rises)
    return Figure("forgetting", "What each expert forgot", caption, tuple(panels), rows)


def _heat(
    name: str, rises: Sequence[ExpertRise], most: float, languages: list[str]
) -> alt.LayerChart:
    written = len(languages) <= _WRITTEN
    order = list(dict.fromkeys(rise.expert for rise in sorted(rises, key=lambda r: r.number)))
    rows = [
        asdict(rise) | {"kind": _KINDS[rise.rise <= 0], "size": abs(rise.rise)} for rise in rises
    ]
    return heat(
        name,
        rows,
        categories("lang", languages, size=12, labelAngle=0 if written else -90, orient="top"),
        categories("expert", order, labelLimit=120),
        colour(_KINDS, field="kind"),
        "size",
        {"type": "sqrt", "domain": [0, most], "range": [0.06, 0.9]},
        height=30 * len(order) + 20,
        said=("expert", "lang=language", "rise:+.3f"),
        written="format(datum.rise, '+.2f')" if written else "",
        outlined="learned",
    )


def _ends(of: Estimate | None) -> Row:
    return {"value": of and of.value, "low": of and of.low, "high": of and of.high}


def _doubling(field: str, values: Sequence[float]) -> Axis:
    """An axis of counts that double."""
    low, high = min(values), max(values)
    ticks = [2**i for i in range(12) if low * 0.99 <= 2**i <= high * 1.01]
    scale = alt.Scale(type="log", base=2, domain=[low * 0.92, high * 1.09], nice=False)
    title = "k, parts of the text" if field == "parts" else f"{field} for a token"
    return Axis(field, title, scale, alt.Axis(values=ticks, format="d", grid=False))
