"""The answer of a study by roles: what targets gained, what base languages lost, what to take."""

from collections.abc import Iterator, Mapping

from tongues.core.estimate import Estimate
from tongues.core.pages import Show, compact, estimate_cell, fixed, interval, minus, signed
from tongues.core.pages import blocks as b
from tongues.core.pages.axes import series_name
from tongues.core.quantities import show_count
from tongues.core.roles import list_languages
from tongues.languages import language_name
from tongues.laws.observed import RunCurves
from tongues.report.words import SAID
from tongues.train.study.findings import Findings
from tongues.train.study.outcomes import LossChange

_LANGUAGES = 2  # of one run alone that have a number of their own: the page's figures have all


def answer_section(findings: Findings, step: str = "", figure: b.Figure | None = None) -> b.Section:
    """What to take on each target, and a row for everything that was trained.

    step: what to do next; of one run alone it follows what the run did. figure: what is seen first.
    """
    if run := findings.only:
        lines = [*([step] if step else []), SAID["sample"], *findings.left_out]
        tiles = b.Tiles(_tiles(findings, run))
        return b.Section("answer", "", [tiles, b.Items(lines, "plain"), figure])
    rows = findings.rows
    several = len({(row.strategy, row.replay) for row in rows}) > 1
    ends = several or any(row.gain is None for row in rows)
    langs = list(dict.fromkeys(lang for row in rows for lang in row.rises))
    lead, known = any(row.lead for row in rows), any(row.measured for row in rows)
    table: list[dict[str, b.Entry]] = []
    for row in rows:
        cells: dict[str, b.Entry] = {
            "target": b.Cell(row.target, below=row.group),
            "strategy": b.Cell(series_name(row.strategy, row.replay), kind=row.strategy),
            "final loss" if ends else "gain": _cell(row.loss if ends else row.gain),
        }
        if lead:
            saved = row.saved.times(100.0) if row.saved and row.measured else None
            cells["lead over scratch"] = _cell(row.lead)
            cells |= {"tokens saved, %": estimate_cell(saved, fixed(0))} if known else {}
        cells |= {f"rise on {lang}": _cell(row.rises.get(lang)) for lang in langs}
        cells["FLOPs"] = b.Cell(compact(row.flops, 2), row.flops)
        cells |= {"runs": len(row.runs)} if len(findings.usual) > 1 else {}
        table.append(cells)
    counts = [len(row.runs) for row in rows]
    new = any(run.new_tokens for row in rows for run in row.runs)
    shown = [x for row in rows for x in (row.loss, row.gain, row.lead, *row.rises.values()) if x]
    intervals = any(change.nats.low is not None for change in shown)
    about = [
        SAID["about_intervals"] if intervals else SAID["about"],
        SAID["loss"] if ends else SAID["gain"],
        SAID["lead"] * lead,
        SAID["saved"] * known,
        SAID["rise"] * bool(langs),
        SAID["flops"],
        SAID["twice"] * (len({run.name for row in rows for run in row.runs}) < sum(counts)),
    ]
    columns = [*filter(None, [*about, SAID["new_tokens"] * new])]
    lines = [*(advice(findings) if several else []), *findings.left_out]
    blocks: list[b.Block] = [b.Tiles([*_study_tiles(findings)]), b.Items(lines, "plain"), figure]
    blocks += [b.Table.of(table), b.Details("What the columns mean", [b.Items(columns, "notes")])]
    return b.Section("answer", "", blocks)


def _tiles(findings: Findings, run: RunCurves) -> list[b.Tile]:
    """What one run learned and forgot, and what it is; three languages at most."""
    base = f"`{run.base}`" if run.base else "random weights"
    about = SAID["from"].format(params=show_count(run.params), base=base)
    first = findings.outcomes[0] if findings.outcomes else None
    langs = [(o.runs[0].lang, "target" if o.gain else "ended") for o in findings.outcomes]
    langs[1:1] = [(lang, "base") for lang in (first.rises if first else ())]
    each = [_moved(run, lang, role) for lang, role in langs[:_LANGUAGES]]
    return [*each, b.Tile(SAID["trained"], f"{show_count(run.tokens)} tokens", about)]


def _moved(run: RunCurves, lang: str, role: str) -> b.Tile:
    """How the loss on a language moved; role: `ended` where the first loss is of untrained rows."""
    before, last = (float(run.curves[lang].loss[at]) for at in (0, -1))
    bits, three = run.bits_per_byte[lang], fixed(3)
    label = SAID["language"].format(name=language_name(lang))
    if role == "ended":
        return b.Tile(label, three(bits), SAID["ended"].format(last=three(last)), "target")
    said = SAID["known" if role == "base" else "learned"]["rose" if last > before else "fell"]
    change = signed(last - before, show_nats(Estimate(last - before)))
    value = f"{three(bits * before / last)} → {three(bits)}"
    return b.Tile(label, value, said.format(change=change), role)


def _cell(change: LossChange | None) -> b.Entry:
    if change is None:
        return ""
    cell = estimate_cell(change.nats, show_nats(change.nats))
    per_byte = f"{minus(fixed(3)(change.bits.value))} bits/byte"
    return b.Cell(cell.text, change.nats, below=f"{cell.below} · {per_byte}".removeprefix(" · "))


def show_nats(estimate: Estimate) -> Show:
    """To a hundredth of a nat, or a thousandth where it is small."""
    return fixed(2 if abs(estimate.value) >= 0.1 else 3)


def _sign(estimate: Estimate) -> int:
    """1 or -1 where it is significant, else 0; one pair alone goes by its value."""
    return estimate.excludes_zero if (estimate.n or 0) > 1 else 1 - 2 * (estimate.value < 0)


def advice(findings: Findings) -> list[str]:
    """For each target which of the strategies to take, why, and how sure that is.

    Of one run alone what it came to.
    """
    if run := findings.only:
        return [tile.line for tile in _tiles(findings, run)]
    targets = [target for target in findings.targets if target not in findings.base_languages]
    return [f"**`{language_name(x)}`:** {' '.join(_advice(findings, x))}" for x in targets]


def advised_replay(findings: Findings, target: str) -> float:
    """The share of replay to take: it lowers every base language by more nats than it costs."""
    effects, costs = _replayed(findings, target)
    worth = {
        replay: -max(change.value for change in kept.values()) - costs[replay].value
        for replay, kept in effects.items()
        if all(_sign(change) < 0 for change in kept.values())
    }
    best = max(worth, key=lambda replay: worth[replay], default=0.0)
    return best if worth.get(best, 0.0) > 0 else 0.0


def _undecided(
    effects: Mapping[float, Mapping[str, Estimate]], costs: Mapping[float, Estimate]
) -> str:
    """That a share of replay kept more than it cost, if not significantly; else empty."""
    kept = {replay: -max(change.value for change in of.values()) for replay, of in effects.items()}
    best = max(kept, key=lambda replay: kept[replay] - costs[replay].value, default=0.0)
    if not kept or kept[best] <= costs[best].value:
        return ""
    return SAID["undecided"].format(best * 100, kept[best], costs[best].value)


def _replayed(
    findings: Findings, target: str
) -> tuple[dict[float, dict[str, Estimate]], dict[float, Estimate]]:
    """By share of replay: how the loss on each base language changed, and on the target."""
    tried = (o for o in findings.outcomes if o.target == target and len(o.replayed) > 1)
    effects = {o.replay: dict(o.replayed) for o in tried}
    costs = {replay: effects[replay].pop(next(iter(effects[replay]))) for replay in effects}
    return effects, costs


def _advice(findings: Findings, target: str) -> Iterator[str]:
    tried = [o for o in findings.outcomes if o.target == target]
    effects, costs = _replayed(findings, target)
    best = advised_replay(findings, target)
    unsure = None if best else _undecided(effects, costs)
    way = "CPT without replay" if effects and not best else series_name("cpt", best)
    way = "CPT, with or without replay" if unsure else way
    led = {o.replay: o.lead.nats for o in tried if o.lead}
    if led:
        sign = _sign(led[min(led)])
        yield {1: f"take {way}.", -1: "train from scratch.", 0: "no significant difference."}[sign]
        if not all(o.equally_long for o in tried):
            yield "Runs and twins differ in length, so this is not a test."
    else:
        yield f"take {way}." if effects else "trained in one way only, nothing to compare."
    if unsure:
        yield unsure
    elif effects and not best:
        yield "No share of replay kept more of the base languages than it cost."
    if any(lead.n == 1 for lead in led.values()) or any(cost.n == 1 for cost in costs.values()):
        yield "One pair has no interval: train more seeds before relying on it."


def _study_tiles(findings: Findings) -> Iterator[b.Tile]:
    """Of the first target: CPT versus from scratch, what replay keeps, and what CPT saves."""
    target = next((t for t in findings.targets if t not in findings.base_languages), "")
    tried = [o for o in findings.outcomes if o.target == target]
    effects, costs = _replayed(findings, target)
    replay = advised_replay(findings, target) or max(effects, default=0.0)
    name, share = language_name(target), f"{100 * replay:.3g}"
    for outcome in tried:
        if outcome.lead and outcome.replay == replay:
            label, way = SAID["versus_scratch"].format(name=name), series_name("cpt", replay)
            yield _change(label, -outcome.lead.nats, way, "target")
    if replay in effects:
        lang, kept = max(effects[replay].items(), key=lambda each: each[1].value)
        label = SAID["with_replay"].format(name=language_name(lang), share=share)
        cost = costs[replay]
        paid = signed(cost.value, show_nats(cost))
        yield _change(label, kept, SAID["paid"].format(name=name, cost=paid), "base")
    for outcome in tried:
        if outcome.saved and outcome.measured and outcome.replay == replay:
            saved = outcome.saved.times(100.0)
            below = SAID["saved_by"].format(interval=interval(saved, fixed(0)))
            label = SAID["tokens_saved"].format(way=series_name("cpt", replay))
            yield b.Tile(label, f"{saved.value:.0f} %", below, "scratch")


def _change(label: str, change: Estimate, below: str, role: str) -> b.Tile:
    show = show_nats(change)
    below = "; ".join(filter(None, [interval(change, show), below]))
    return b.Tile(label, SAID["nats"].format(signed(change.value, show)), below, role)


def unmeasured(findings: Findings) -> str:
    """On which targets it is unknown how much CPT saves, and why; empty where it is known."""
    counts: dict[str, int] = {}
    for target in findings.targets:
        own = [o for o in findings.outcomes if o.target == target]
        if any(o.saturated for o in own) and not any(o.measured for o in own):
            counts[target] = sum(o.saturated for o in own)
    if not counts:
        return ""
    number = sum(counts.values())
    pairs = {1: "the only pair", 2: "both pairs"}.get(number, f"all {number} pairs")
    return SAID["saturated"].format(list_languages(f"`{target}`" for target in counts), pairs)
