"""What came of the experts: gains and losses, which setting to take, how sure, what it costs."""

from collections.abc import Iterator
from math import exp
from statistics import fmean

from tongues.evaluate.evaluation import ExpertCell
from tongues.experts.ensemble import ROUTINGS
from tongues.pages import fixed, interval, minus, number, percent, share, signed
from tongues.quantities import show_bytes
from tongues.report.evaluation.answer import describe_changes
from tongues.report.evaluation.measures import show_perplexity
from tongues.report.experts.measured import MeasuredExperts, Setting
from tongues.roles import list_languages
from tongues.significance.paired import FEWEST_DOCUMENTS

__all__ = ["REFERENCES", "expert_answer", "increase", "nats", "show_cost", "worse"]

nats = fixed(3)  # a loss
REFERENCES = {"base": "the base model", "dense": "the dense model", "before": "before"}
_UNIT = "nats per token"


def expert_answer(experts: MeasuredExperts) -> dict[str, list[str]]:
    """Sentences by topic, the most important first; topics without any are left out."""
    topics = {
        **_languages(experts),
        "Choice": list(_choice(experts)),
        "Certainty": list(_certainty(experts)),
        "Cost": list(_cost(experts)),
        "Forgotten": [
            _forgotten(experts, name)
            for name in ("dense", *experts.divisions)
            if experts.cells(name)
        ],
        "Caveats": list(_caveats(experts)),
    }
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def show_cost(setting: Setting) -> tuple[str, str, str]:
    """For a token: experts run, processor time; and the weights that are open."""
    cost = setting.cost
    units = ((1e6, "µs"), (1e3, "ms")) if cost.seconds < 1 else ((1.0, "s"),)
    scale, unit = next((u for u in units if cost.seconds * u[0] < 1000), units[-1])
    time = f"{cost.seconds * scale:.3g} {unit}"
    return f"{cost.experts_run:.2f}", time, show_bytes(cost.memory)


def worse(experts: MeasuredExperts, division: str) -> tuple[list[ExpertCell], str, str]:
    """Pairs of expert and language that became worse than the base; their count and share."""
    cells = experts.cells(division)
    pairs = [cell for cell in cells if cell.perplexity_rise > 0]
    return pairs, f"{len(pairs)} of {len(cells)}", percent(share(len(pairs), len(cells)))


def increase(cells: list[ExpertCell]) -> tuple[str, str]:
    """The mean rise of perplexity and of loss; nothing where there are no cells."""
    if not cells:
        return "", ""
    by_perplexity = show_perplexity(fmean(cell.perplexity_rise for cell in cells))
    return by_perplexity, nats(fmean(cell.rise for cell in cells))


def _languages(experts: MeasuredExperts) -> dict[str, list[str]]:
    """What languages gained or lost; where an ensemble grew, by what they were to that."""
    if growth := experts.growth:
        topics: dict[str, list[str]] = {"Added": [], "Donors": [], "Other languages": []}
        for lang in experts.languages:
            role = growth.role(lang)
            topic = next((name for name in topics if role.startswith(name.lower()[:5])), "")
            if sentence := _grown(experts, lang, role):
                topics[topic or "Other languages"].append(sentence)
        return topics
    top = experts.best()
    if top is None:
        return {}
    lines = []
    for other in experts.references:
        mean, by_language = top.difference(other), top.versus[other].languages
        of_mean = (
            f"mean {signed(mean.value, nats)} {interval(mean, nats)}; "
            if mean and len(by_language) > 1
            else ""
        )
        each = describe_changes(by_language, nats, _UNIT)
        lines.append(f"`{top.name}` versus {REFERENCES[other]}: {of_mean}{each}.")
    return {"Languages": lines}


def _grown(experts: MeasuredExperts, lang: str, role: str) -> str:
    after = experts.own_setting("grown", lang)
    if after is None:
        return ""
    differences = {other: after.difference(other, lang) for other in ("before", "base")}
    compared = [
        f"versus {REFERENCES[other]} {minus(describe_changes({lang: of}, nats, _UNIT))}"
        for other, of in differences.items()
        if of
    ]
    before, loss = differences["before"], after.losses[lang].nats_per_token
    way = after.versus["before"].others.get(lang, "") if before else ""
    start = f"{show_perplexity(exp(loss - before.value))} before" if before else ""
    by = f" ({way.partition('@')[2]})" if "@" in way else ""
    now = f"{show_perplexity(after.losses[lang].perplexity)} after"
    perplexity = f"perplexity {f'{start}{by}, ' if start else ''}{now}"
    return f"`{lang}`{f', {role}' if role else ''}: {'; '.join([perplexity, *compared])}."


def _choice(experts: MeasuredExperts) -> Iterator[str]:
    top = experts.best()
    if top is None:
        return
    yield (
        f"Of all divisions and routings `{top.name}` has the lowest mean loss: {nats(top.loss)} "
        f"{_UNIT}, perplexity {show_perplexity(top.perplexity)}, {nats(top.bits_per_byte)} bits "
        "per byte."
    )
    if dense := top.difference("dense"):
        what = "the dense model, trained on as many tokens"
        if dense.significant:
            take, side = (what, "higher") if dense.significant > 0 else ("the experts", "lower")
            size = number(dense.times(dense.significant), nats)
            yield f"Take {take}: the mean loss of experts is {size} {_UNIT} {side}."
        else:
            why = f": {dense.reason}" if dense.reason else ""
            yield f"No significant difference to {what}: {number(dense, nats)} {_UNIT}{why}."
    others = [each for each in experts.usable() if not each.needs_language]
    if top.needs_language and (other := experts.best(others)):
        yield (
            "This routing must be given each text's language. Of those that need not, "
            f"`{other.name}` is best, at {nats(other.loss)}."
        )


def _certainty(experts: MeasuredExperts) -> Iterator[str]:
    yield (
        "Brackets are 95 % confidence intervals over held-out documents; differences are "
        "significant at p < 0.05, Holm-corrected for all languages and settings."
    )
    top, dense = experts.best(), experts.dense
    seeds = len(next(iter(top.losses.values())).of_members) if top else 0
    if top is None or seeds < 2:
        yield "One random seed of training: intervals do not hold what another would change."
    elif dense and len(next(iter(dense.losses.values())).of_members) == seeds:
        apart = [
            fmean(
                of.of_members[seed] - dense.losses[lang].of_members[seed]
                for lang, of in top.losses.items()
            )
            for seed in range(seeds)
        ]
        same = "all agree" if len({value > 0 for value in apart}) == 1 else "they do not agree"
        each = ", ".join(signed(value, nats) for value in apart)
        yield f"`{top.name}` versus dense by random seed of training: {each} {_UNIT}; {same}."


def _cost(experts: MeasuredExperts) -> Iterator[str]:
    """The best setting, and what all experts cost instead of one."""
    cost = "{} experts run for a token, {} of processor time, {} of weights"
    if top := experts.best():
        yield f"`{top.name}`: {cost.format(*show_cost(top))}."
    for name in experts.divisions:
        by = {each.routing: each for each in experts.usable(name)}
        for kind in (routing.name for routing in ROUTINGS if routing.counted):
            if kind in by and f"{kind}:1" in by:
                every, one = by[kind], by[f"{kind}:1"]
                change = f"{signed(every.loss - one.loss, nats)} {_UNIT}"
                both = f"{cost.format(*show_cost(every))} versus {', '.join(show_cost(one))}"
                yield f"`{name}`, all by {kind} versus the nearest expert: {change}; {both}."


def _forgotten(experts: MeasuredExperts, division: str) -> str:
    pairs, count, of_all = worse(experts, division)
    if not pairs:
        return f"`{division}`: no expert became worse than the base on any language."
    by_perplexity, by_loss = increase(pairs)
    return (
        f"`{division}`: {count} pairs of expert and language ({of_all}) became worse than the "
        f"base, on average by {by_perplexity} of perplexity ({by_loss} {_UNIT})."
    )


def _caveats(experts: MeasuredExperts) -> Iterator[str]:
    counts = experts.base.losses
    top = experts.best()
    compared = [
        of for each in (top.versus.values() if top else ()) for of in each.languages.values()
    ]
    reasons = dict.fromkeys(of.reason.partition(", there ")[0] for of in compared if of.reason)
    if reasons:
        yield f"Where it says too few: {'; '.join(reasons)}. Hold out or score more text."
    if few := [lang for lang, of in counts.items() if of.documents < FEWEST_DOCUMENTS]:
        named = list_languages(f"`{lang}`" for lang in few)
        yield f"Fewer than {FEWEST_DOCUMENTS} held-out texts of {named} were scored: no interval."
    if not experts.scores.same_tokenizer:
        yield (
            "The base model has another tokenizer. It read the same texts in its own tokens, and "
            "its losses are shared out over the experts' tokens: they compare as bits per byte do."
        )
    if (count := len(experts.usable())) > 1:
        yield f"The best of {count} settings was chosen on the text that it is scored on."
    groups: dict[frozenset[tuple[tuple[str, float], ...]], list[str]] = {}
    for name, partition in experts.scores.partitions.items():
        if len(partition.shares) > 1:
            parts = frozenset(tuple(sorted(of.items())) for of in partition.shares)
            groups.setdefault(parts, []).append(f"`{name}`")
    for names in groups.values():
        if len(names) > 1:
            yield f"{list_languages(names)} came to the same parts: they differ by chance only."
