"""The page of experts: the answer, then its tables and figures."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import fmean

from tongues.core.estimate import Estimate
from tongues.core.pages import Figure, estimate_cell, percent_cell, signed, value_cell
from tongues.core.pages import blocks as b
from tongues.core.pages.axes import Axis, Row, across, categories, colour, linear, logs
from tongues.core.pages.plots import alt, dots, heat, line, panel, rule, words
from tongues.core.quantities import show_bytes, show_count
from tongues.core.significance.correlation import correlate
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.settings import AddedLanguages, MeasuredExperts, Setting
from tongues.experts.ensemble import ROUTINGS
from tongues.report.evaluation.tables import show_perplexity
from tongues.report.experts.answer import WORDS, expert_answer, expert_tiles, forgotten, nats
from tongues.report.experts.partition import spread_panel

# The figures of experts: what they gain and cost, language by language, and what they forget.

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
    return Figure.of("cost", "What a loss costs", WORDS["joined"], [drawn], rows)


def _unlearned(experts: MeasuredExperts) -> Figure | None:
    each: dict[tuple[str, str], list[float]] = {}
    for rise in experts.rises:
        if rise.partition in experts.partitions and not rise.learned:
            each.setdefault((rise.partition, rise.lang), []).append(rise.rise)
    known = experts.scores.base_shares
    amounts = known or experts.scores.train_tokens
    each = {(name, lang): rises for (name, lang), rises in each.items() if lang in amounts}
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
    about = WORDS["unlearned"]
    caption = about["says"].format(
        amount=about["known" if known else "unknown"],
        related="; ".join(related) or about["few"],
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
    panels = (drawn for drawn, _ in spreads.values())
    return Figure.of("shares", WORDS["whose"], WORDS["spread"], panels, rows)


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
    caption = WORDS["forgot"].format(most=most)
    return Figure.of("forgetting", "What each expert forgot", caption, panels, map(asdict, rises))


_SETTINGS, _ADDED = "Partitions and routings", "Added languages"
_LANGUAGES, _FORGETTING = "Languages", "Forgetting"
_FIGURES = {_LANGUAGES: ("shares",), _FORGETTING: ("forgetting", "unlearned")}


def experts_page(evaluation: Evaluation, name: str) -> b.Page:
    """The page of an evaluation of experts."""
    experts = MeasuredExperts.of(evaluation)
    topics, figures = expert_answer(experts), expert_figures(experts)
    sure = [line for topic in ("Certainty", "Caveats") for line in topics.get(topic, ())]
    blocks: list[b.Block] = [
        b.Tiles(expert_tiles(experts)),
        figures.get("cost"),
        b.Details("How sure is this?", [b.Items(sure, "plain")]),
    ]
    for title, table in expert_tables(experts).items():
        inside: list[b.Block] = [WORDS["about"][title], table]
        if title == _SETTINGS:
            inside.append(b.Details("Routings", [routing_table(experts.settings)]))
        blocks.append(b.Details(title, [*inside, *map(figures.get, _FIGURES.get(title, ()))]))
    tokens = show_count(fmean(of.tokens for of in experts.base.losses.values()))
    scored = WORDS["scored"].format(base=experts.scores.base, tokens=tokens)
    blocks.append(b.Paragraph(scored, "notes"))
    return b.Page(
        f"Language experts: {name}",
        blocks,
        lead=[b.Paragraph(line, "lead") for line in topics.get("Choice", ())[:1]],
        numbers={"findings": topics, **evaluation.to_json()},
    )


def routing_table(settings: Sequence[Setting]) -> b.Table:
    """Which experts predict a token, by each routing of these."""
    kinds = dict.fromkeys(each.kind for each in settings if each.kind)
    return b.Table.of(
        {"routing": kind, "experts of a token": ROUTINGS.find(kind).summary.replace("`", "")}
        for kind in kinds
    )


def expert_tables(experts: MeasuredExperts) -> dict[str, b.Table]:
    """The tables of the page by their titles."""
    tables = {_SETTINGS: setting_table(experts)}
    if added := experts.added:
        tables[_ADDED] = _added_table(experts, added)
    tables[_LANGUAGES] = language_table(experts)
    if experts.scores.cells:
        names = [name for name in ("dense", *experts.partitions) if experts.cells(name)]
        heads = ("became worse", "share", "mean rise of loss")
        rows = [[name, *forgotten(experts, name)] for name in names]
        tables[_FORGETTING] = b.Table(["partition", *heads], rows)
    return tables


def _difference(of: Estimate | None) -> b.Cell:
    return replace(_estimate(of, plus=True), quiet=of is not None and not of.significant)


def _estimate(of: Estimate | None, *, plus: bool = False) -> b.Cell:
    return estimate_cell(of, nats, plus=plus, after=True)


def setting_table(experts: MeasuredExperts) -> b.Table:
    """Every partition by every routing: its losses, differences and costs."""
    top, rows = experts.best(), list[dict[str, b.Entry]]()
    for each in experts.settings:
        strong, whole = each is top, each.whole
        row: dict[str, b.Entry] = {
            "partition": b.Cell(each.partition, strong=strong),
            "routing": each.routing,
            "loss": value_cell(each.loss, nats, strong=strong) if whole else None,
            "perplexity": show_perplexity(each.perplexity) if whole else None,
            "bits per byte": nats(each.bits_per_byte) if whole else None,
        }
        for other in reversed(experts.references):
            row[f"versus {other}"] = _difference(each.difference(other) if whole else None)
        run, memory = f"{each.cost.experts_run:.2f}", show_bytes(each.cost.memory)
        rows.append(row | {"k": each.k, "experts run": run, "weights": memory})
    return b.Table.of(rows)


def language_table(experts: MeasuredExperts) -> b.Table:
    """Of each language the losses by the best routing of every partition, and what is unknown."""
    columns = {"base": experts.base, **({"dense": experts.dense} if experts.dense else {})}
    columns |= experts.best_of_each
    other, rows = experts.references[0], list[list[b.Entry]]()
    router, unknown = next(iter(experts.scores.unknown.items()), ("", {}))
    for lang in experts.languages:
        losses = [each.losses[lang].nats_per_token for each in columns.values()]
        best = experts.best(experts.scored(lang, experts.colours), lang)
        own = experts.best(experts.scored(lang, experts.partitions), lang)
        cells = [value_cell(loss, nats, strong=loss == min(losses)) for loss in losses]
        k = b.Cell(str(best.k), best.k, after=best.partition) if best else None
        change = _difference(own.difference(other, lang) if own else None)
        called = [percent_cell(unknown[lang])] if unknown else []
        rows.append([lang, *cells, k, own.name if own else None, change, *called])
    heads = [b.Cell(name, below=each.routing) for name, each in columns.items()]
    after = (
        "best k",
        "best experts",
        f"versus {other}",
        *([b.Cell("unknown", below=router)] if unknown else []),
    )
    return b.Table(["language", *heads, *after], rows)


def _added_table(experts: MeasuredExperts, added: AddedLanguages) -> b.Table:
    ways = [s for s in experts.settings if s.partition in ("before", "added")]
    rows: list[list[b.Entry]] = []
    for lang in experts.languages:
        if not (role := added.role(lang)):
            continue
        losses = [each.losses.get(lang) for each in (experts.base, *ways)]
        values = [*(of and of.nats_per_token for of in losses), added.alone.get(lang)]
        after = experts.own_setting("added", lang)
        change = _difference(after.difference("before", lang) if after else None)
        rows.append([lang, role, *(value_cell(value, nats) for value in values), change])
    heads = [b.Cell(each.partition, below=each.routing) for each in ways]
    return b.Table(["language", "", "base", *heads, "new expert alone", "versus before"], rows)
