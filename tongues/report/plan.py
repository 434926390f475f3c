"""The page of a plan: what to do, what it costs, what comes out, and how sure that is."""

from collections.abc import Iterator

from tongues.core.pages import Figure, fixed, interval, signed
from tongues.core.pages import blocks as b
from tongues.core.pages.axes import LOSS, Axis, Row, colour, domain, linear, series_name
from tongues.core.pages.plots import Marks, intervals, words
from tongues.core.quantities import show_count
from tongues.plan import Option, Plan
from tongues.report.words import SAID

_ROW, _WIDE = 58, 424  # pixels of an option, and that a name may take


def plan_page(plan: Plan) -> b.Page:
    """The page of a plan."""
    first, *others = plan.sentences()
    parts = (line.partition(": ") for line in others)
    terms = {topic.capitalize(): said[:1].upper() + said[1:] for topic, _, said in parts}
    blocks = [
        b.Tiles([*_tiles(plan)]),
        _losses(plan),
        options_section(plan),
        b.Details("What it takes", [b.Terms(terms)], open=True),
        b.Details("Why", [b.Items(plan.reasons())]),
    ]
    return b.Page("What to train", blocks, [b.Paragraph(first, "lead")], numbers=plan.to_json())


def options_section(plan: Plan) -> b.Section:
    """All options."""
    return b.Section("options", "Options", [b.Table.of(plan.rows())])


def _tiles(plan: Plan) -> Iterator[b.Tile]:
    """Of the advised option: the loss after it, what the base forgets, and what it costs."""
    option = plan.decision.option
    if loss := option.loss:
        label = SAID["loss_after"].format(unit="nats per token" if plan.laws else "bits per byte")
        yield b.Tile(label, fixed(2)(loss.value), interval(loss, fixed(2)), "target")
    if rise := option.rise:
        percent = rise.times(100.0)
        yield b.Tile(
            SAID["base_rises"],
            f"{signed(percent.value, fixed(1))} %",
            SAID["above_nothing"].format(interval=interval(percent, fixed(0))),
            "base",
        )
    hours = f"{option.hours:,.3g} hours" if option.hours is not None else ""
    cost = f"US$ {option.cost:,.3g}" if option.cost is not None else hours
    tokens = f"{show_count(option.tokens)} tokens"
    about = SAID["of_replay"].format(tokens=tokens, share=f"{100 * option.replay:.0f}")
    below = f"{hours}; {about}" if option.cost is not None and hours else about
    yield b.Tile(SAID["it_takes"], cost or tokens, below)


def _losses(plan: Plan) -> Figure | None:
    """Every option's loss with its interval, the best first; None where no law knows one."""
    known = sorted((one.loss.value, i) for i, one in enumerate(plan.options) if one.loss)
    if not known:
        return None
    rows = [_row(plan.options[i], rank, plan) for rank, (_, i) in enumerate(known)]
    values = [row[key] for row in rows for key in ("value", "low", "high")]
    x = linear("value", LOSS if plan.laws else "Loss (bits per byte)", values, room=0.05)
    y = Axis("rank", None, None, None, "O")
    names = Row(align="left", limit=_WIDE, dx=2)
    drawn = intervals(
        "After training, the best first",
        rows,
        x,
        y,
        colour(domain(), rows, "circle"),
        height=_ROW * len(rows),
        tooltip=("option", "value:.3f"),
        marks=Marks(size=110, width=3, lower=17),
        over=(
            *words(rows, 0, y, field="heading", dy=-19, **names),
            *words(rows, 0, y, "note", field="details", dy=-2, **names),
        ),
    )
    return Figure("options", "What comes out", "Bars are 95 % intervals.", (drawn,), tuple(rows))


def _row(option: Option, rank: int, plan: Plan) -> Row:
    loss, details = option.loss, [f"{show_count(option.tokens)} tokens", option.method.name]
    assert loss is not None
    if option.hours is not None:
        details.append(f"{option.hours:,.3g} h")
    row: Row = {"rank": rank, "option": option.name}
    advised = option is plan.decision.option
    row["heading"] = f"{option.name} · advised" if advised else option.name
    row |= {"value": loss.value, "low": loss.low, "high": loss.high}
    return row | {"series": series_name(option.role), "details": " · ".join(details)}
