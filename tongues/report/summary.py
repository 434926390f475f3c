"""The title of a page of runs, what it is about, and its large numbers."""

from tongues.estimate import Estimate
from tongues.laws.observed import size_order
from tongues.pages import blocks as b
from tongues.pages import estimate_card, fixed
from tongues.pages.axes import series_name
from tongues.pages.blocks import Block, Paragraph
from tongues.quantities import counted, show_count
from tongues.report.answer import advised_replay, show_nats, unmeasured
from tongues.roles import list_languages
from tongues.study.findings import Findings
from tongues.study.outcomes import Outcome


def page_title(known: Findings) -> str:
    """From which languages to which; of one run alone with its name."""
    learned = [run for target in known.targets for run in known.runs if run.target == target]
    if not learned:
        return "Runs"
    bases = known.base_languages
    targets = dict.fromkeys(x for run in learned for x in run.targets if x not in bases)
    targets = list_languages(targets or bases)
    title = f"From {list_languages(bases)} to {targets}" if bases else f"Learning {targets}"
    only = known.only
    return f"{only.name}: {title[0].lower()}{title[1:]}" if only else title


def page_lead(findings: Findings) -> list[Block]:
    """How much was run, and what it cannot show."""
    runs, sizes = findings.runs, size_order(findings.runs)
    one = [f"1 run, {sizes[0]}", f"seed {runs[0].seed}", f"{show_count(runs[0].tokens)} tokens"]
    parts = (
        one
        if findings.only
        else [
            counted(len({run.name for run in runs}), "run"),  # one of two languages is there twice
            f"{counted(len(sizes), 'size')}, {' to '.join(dict.fromkeys([sizes[0], sizes[-1]]))}",
            counted(len({run.seed for run in runs}), "seed"),
            f"up to {show_count(max(run.tokens for run in runs))} tokens",
        ]
    )
    if any(findings.ratios):
        parts.append("replay " + ", ".join(f"{ratio * 100:.3g} %" for ratio in findings.ratios))
    doubt = unmeasured(findings)
    return [Paragraph(" · ".join(parts), "lead"), b.Callout("", [doubt]) if doubt else None]


def page_cards(findings: Findings) -> list[b.Card]:
    """What targets gained by the advised replay; what base languages lost by it and by none."""

    def card(of: Estimate, what: str, unit: str = "", pair: str = "one pair") -> b.Card:
        below = f"{pair}, no interval" if of.low is None else f"n\u00a0=\u00a0{of.n}"
        show = fixed(0) if unit else show_nats(of)
        return estimate_card(of, show, what, unit, plus=what.startswith("nats on"), below=below)

    advised = {target: advised_replay(findings, target) for target in findings.targets}
    taken = [o for o in findings.outcomes if o.replay == advised[o.target]]
    saved = [(o, o.saved) for o in taken if o.measured and o.saved]
    several = len({o.replay for o in findings.outcomes}) > 1
    cards = [
        card(value.times(100.0), f"fewer tokens with {_way(o, several)} on `{o.target}`", " %")
        for o, value in {o.target: (o, value) for o, value in [*saved[:1], *saved[-1:]]}.values()
    ]
    groups: dict[str, list[Outcome]] = {}
    for o in findings.rows:
        if o.target == findings.targets[0]:
            groups.setdefault(o.group, []).append(o)
    own = max([*groups.values()][::-1], key=len, default=[])  # of several the longest runs
    replay = advised[findings.targets[0]] if own else 0.0
    for o in [] if cards else sorted(own, key=lambda o: (not o.lead, o.replay != replay))[:1]:
        how = series_name(o.strategy, o.replay)
        if o.lead:
            what = f"nats below training from scratch on `{o.label}`, {how}"
            cards.append(card(o.lead.nats, what))
        elif o.gain:
            what = f"nats on `{o.label}` after learning it, {how}"
            cards.append(card(o.gain.nats.times(-1.0), what, pair="one run"))
        elif o.loss:
            what = f"nats per token at the end on `{o.label}`, {how}"
            cards.append(card(o.loss.nats, what, pair="one run"))
    risen = [o for o in own if o.rises]
    shown = {risen[0].replay, replay} if risen else set[float]()
    for o in (o for o in risen if o.replay in shown):
        lang, change = next(iter(o.rises.items()))
        what = f"nats on `{lang}` after learning {o.label}"
        what += f", {o.replay * 100:.3g} % replay" * several
        cards.append(card(change.nats, what, pair="one run"))
    return cards


def _way(outcome: Outcome, several: bool) -> str:
    """CPT with its share of replay, where there are several."""
    plain = "CPT without replay" if several else "CPT"
    return series_name("cpt", outcome.replay) if outcome.replay else plain
