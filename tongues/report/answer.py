"""The answer of a study by roles: what targets gained, what base languages lost, what to take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tongues.estimate import Estimate
from tongues.laws.observed import RunCurves
from tongues.pages import (
    Block,
    Cell,
    Entry,
    Items,
    Paragraph,
    Section,
    Show,
    Table,
    compact,
    estimate_cell,
    fixed,
    minus,
    number,
)
from tongues.report.findings import Findings
from tongues.report.statistics import over_sizes
from tongues.report.theme import series
from tongues.roles import list_languages

__all__ = ["Outcome", "advice", "answer_section", "outcomes", "show_nats", "unmeasured"]

_ABOUT = (
    "Losses in nats per token, below them 95 % confidence intervals (Student's t over shapes and "
    "seeds, not corrected for multiple tests) and bits per byte. Gain: the loss on the target "
    "before the first step less the final one. Lead: the loss of training from scratch less CPT's, "
    "after as many tokens. Saved: the share of scratch's tokens that CPT did without at the same "
    "loss. Rise: the final loss on a base language less the one before the first step. FLOPs: of "
    "all runs of the row, without the training of the base."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the runs of one strategy and share of replay came to on one target.

    gain: of the target since before the first step. lead: over training from scratch after as many
    tokens. rises: of each base language. All in nats per token, then in bits per byte. saved: share
    of scratch's tokens.
    """

    target: str
    strategy: str
    replay: float
    gain: tuple[Estimate, Estimate] | None
    lead: tuple[Estimate, Estimate] | None
    saved: Estimate | None
    rises: dict[str, tuple[Estimate, Estimate]]
    flops: float
    runs: int


def outcomes(findings: Findings) -> list[Outcome]:
    """One for each target, strategy and share of replay that was trained."""
    ways = [("scratch", 0.0), *(("cpt", ratio) for ratio in findings.ratios)]
    return [
        _outcome(findings, runs)
        for target in findings.targets
        for strategy, replay in ways
        if (runs := findings.of(target, strategy, replay))
    ]


def _outcome(findings: Findings, runs: Sequence[RunCurves]) -> Outcome:
    first = runs[0]
    cpt = first.strategy == "cpt"
    transfer = findings.transfer(first.target, first.replay) if cpt else None

    def change(
        values: Sequence[tuple[RunCurves, str, float]],
    ) -> tuple[Estimate, Estimate] | None:
        nats = over_sizes((run.unit, value) for run, _, value in values)
        bits = over_sizes(
            (run.unit, value * run.bits_per_byte[lang] / float(run.curves[lang].loss[-1]))
            for run, lang, value in values
        )
        return (nats, bits) if nats and bits else None

    def rise(lang: str) -> list[tuple[RunCurves, str, float]]:
        known = [(run, run.curves[lang]) for run in runs if lang in run.curves]
        ends = [(run, curve.loss) for run, curve in known if curve.tokens[0] == 0]
        return [(run, lang, float(loss[-1] - loss[0])) for run, loss in ends]

    rises = {lang: change(rise(lang)) for lang in findings.base_languages if cpt}
    return Outcome(
        first.target,
        first.strategy,
        first.replay,
        gain=change([(run, lang, -value) for run, lang, value in rise(first.lang)]),
        lead=change([(p.cpt, p.cpt.lang, p.ahead) for p in transfer.pairs] if transfer else []),
        saved=transfer.saved if transfer and transfer.measured else None,
        rises={lang: both for lang, both in rises.items() if both},
        flops=sum(float(run.learned.compute[-1]) for run in runs),
        runs=len(runs),
    )


def answer_section(findings: Findings) -> Section:
    """What to take on each target, and a row for everything that was trained."""
    rows = outcomes(findings)
    several = len({run.name for run in findings.usual}) > 1
    compared = any(row.lead for row in rows)
    langs = list(dict.fromkeys(lang for row in rows for lang in row.rises))
    table: list[dict[str, Entry]] = [
        {
            "target": row.target,
            "strategy": Cell(series(row.strategy, row.replay), kind=row.strategy),
            "gain": _cell(row.gain),
        }
        | ({"lead over scratch": _cell(row.lead)} if compared else {})
        | ({"tokens saved, %": _saved(row.saved)} if compared else {})
        | {f"rise on {lang}": _cell(row.rises.get(lang)) for lang in langs}
        | {"FLOPs": Cell(compact(row.flops, 2), row.flops)}
        | ({"runs": row.runs} if several else {})
        for row in rows
    ]
    lines = [*advice(findings), *findings.left_out] if several else findings.left_out
    blocks: list[Block] = [Items(lines, "plain"), Table.of(table), Paragraph(_ABOUT, "notes")]
    return Section("answer", "What to take" if several else "What the run did", blocks)


def _cell(change: tuple[Estimate, Estimate] | None) -> Entry:
    if change is None:
        return ""
    nats, bits = change
    cell = estimate_cell(nats, show_nats(nats))
    per_byte = f"{minus(fixed(3)(bits.value))} bits/byte"
    return Cell(cell.text, nats, below=f"{cell.below} · {per_byte}".removeprefix(" · "))


def _saved(saved: Estimate | None) -> Cell:
    return estimate_cell(saved and saved.times(100.0), fixed(0))


def show_nats(estimate: Estimate) -> Show:
    """To a hundredth of a nat, or a thousandth where it is small."""
    return fixed(2 if abs(estimate.value) >= 0.1 else 3)


def _nats(estimate: Estimate) -> str:
    return number(estimate, show_nats(estimate))


def _sign(estimate: Estimate) -> int:
    """1 or -1 where it is significant, else 0; one pair alone goes by its value."""
    return estimate.excludes_zero if (estimate.n or 0) > 1 else 1 - 2 * (estimate.value < 0)


def advice(findings: Findings) -> list[str]:
    """For each target which of the strategies to take, why, and how sure that is."""
    return [f"**`{target}`:** {' '.join(_advice(findings, target))}" for target in findings.targets]


def _advice(findings: Findings, target: str) -> Iterator[str]:
    """Replay is worth it where it lowers every base language by more nats than it costs."""
    effects = {e.replay: e for e in findings.replay_effects if e.target == target and e.on_base}
    kept = {replay: -max(c.value for c in e.on_base.values()) for replay, e in effects.items()}
    worth = {
        replay: kept[replay] - effect.on_target.value
        for replay, effect in effects.items()
        if all(_sign(change) < 0 for change in effect.on_base.values())
    }
    best = max(worth, key=lambda replay: worth[replay], default=0.0)
    best = best if worth.get(best, 0.0) > 0 else 0.0
    way = "CPT without replay" if effects and not best else series("cpt", best)
    transfers = [t for t in findings.transfers if t.target == target]
    if transfers:
        first = transfers[0]
        sign, chosen = _sign(first.ahead), findings.transfer(target, best) or first
        ahead, name = chosen.ahead, series("cpt", chosen.replay)
        yield {1: f"take {way}.", -1: "train from scratch.", 0: "no significant difference."}[sign]
        yield {
            1: f"After as many tokens {name} ends {_nats(ahead)} nats per token below training "
            "from scratch",
            -1: f"After as many tokens {name} ends {_nats(-ahead)} nats per token above training "
            "from scratch",
            0: f"After as many tokens the loss of {name} is not significantly below that of "
            f"training from scratch, {_nats(ahead)} nats per token",
        }[_sign(ahead)] + (f" ({ahead.n} pairs)." if (ahead.n or 0) > 1 else " (one pair).")
        if ahead.n == 1:
            yield "One pair has no interval: train more seeds before relying on it."
        if not first.equally_long:
            yield "Runs and twins differ in length, so this is no test."
    elif effects:
        yield f"take {way}."
    else:
        yield "trained in one way only, so there is nothing to compare."
    if best:
        effect = effects[best]
        kept_on = " and ".join(f"{_nats(-c)} on `{lang}`" for lang, c in effect.on_base.items())
        share = f"{best * 100:.3g} % replay reduced forgetting by {kept_on}"
        cost = effect.on_target
        change = "raised" if cost.value >= 0 else "lowered"
        size = _nats(cost if cost.value >= 0 else -cost)
        yield f"{share} and {change} the loss on `{target}` by {size}."
    elif effects:
        yield "No share of replay kept more of the base languages than it cost."


def unmeasured(findings: Findings) -> str:
    """On which targets it is unknown how much CPT saves, and why; empty where it is known."""
    counts: dict[str, int] = {}
    for target in findings.targets:
        own = [t for t in findings.transfers if t.target == target]
        if any(t.saturated for t in own) and not any(t.measured for t in own):
            counts[target] = sum(t.saturated for t in own)
    if not counts:
        return ""
    pairs = f"all {sum(counts.values())} pairs" if sum(counts.values()) > 1 else "the only pair"
    return (
        f"How much CPT saves on {list_languages(f'`{target}`' for target in counts)} is not known: "
        f"in {pairs} the base had, before its first step, the loss that the two are compared at, "
        "so that there was nothing left to save. Train on more tokens a run, or from a base that "
        "knows less of the target."
    )
