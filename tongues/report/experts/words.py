"""What came out of the experts in plain sentences, each with its interval, welcome or not."""

from collections.abc import Sequence
from statistics import fmean

from tongues.evaluate.evaluation import ExpertCell
from tongues.quantities import show_bytes, show_count
from tongues.report.experts.correlation import correlate
from tongues.report.experts.growth import added_said
from tongues.report.experts.numbers import (
    difference,
    nats,
    perplexity,
    setting_name,
    short_time,
)
from tongues.report.experts.outcome import (
    Experts,
    Setting,
    best,
    dense_setting,
    expert_divisions,
    expert_settings,
    references,
    rise_by_language,
    spread,
    worse,
)
from tongues.report.shares import percent, share
from tongues.significance.paired import FEWEST_DOCUMENTS

__all__ = ["about", "findings", "forgotten_share", "rises"]


def about(found: Experts) -> str:
    """What was compared, in one line."""
    count, divisions = len(found.text), len(expert_divisions(found))
    seeds = max(one.seeds for one in found.settings)
    tokens = [of.tokens for of in found.text.values()]
    return " · ".join(
        (
            f"{count} language{'s' * (count != 1)}",
            f"{divisions} ensemble{'s' * (divisions != 1)} of experts"
            + (" and a dense model" if dense_setting(found) else ""),
            f"branched from {found.scores.base}",
            f"{seeds} seed{'s' * (seeds != 1)} of training",
            f"about {show_count(fmean(tokens))} held-out tokens of each language",
        )
    )


def findings(found: Experts) -> dict[str, list[str]]:
    """Sentences by topic, most important first; topics with nothing to say are left out."""
    topics = {
        "Experts": _experts(found),
        "Added": added_said(found),
        "Cost": _cost(found),
        "Forgotten": [
            _forgotten(found, name)
            for name in [*_dense(found), *expert_divisions(found)]
            if worse(found, name)[1]
        ],
        "Text": _amounts(found),
        "Caution": _to_know(found),
    }
    return {topic: told for topic, told in topics.items() if told}


def rises(cells: Sequence[ExpertCell]) -> tuple[float, float]:
    """The mean increase of perplexity and of loss among cells; nothing where there are none."""
    if not cells:
        return 0.0, 0.0
    return (
        fmean(cell.perplexity_rise for cell in cells),
        fmean(cell.rise for cell in cells),
    )


def forgotten_share(found: Experts, division: str) -> tuple[str, str]:
    """The share of a division's cells that became worse, and their count."""
    cells, count = worse(found, division)
    return percent(share(len(cells), count)), f"{len(cells)} of {count}"


def _experts(found: Experts) -> list[str]:
    top = best(expert_settings(found))
    if top is None:
        return []
    mean = top.mean
    said = [
        f"Of all ensembles and routings, `{setting_name(top)}` has the lowest loss: "
        f"{nats(mean.loss)} nats per token, perplexity {perplexity(mean.perplexity)} and "
        f"{nats(mean.bits_per_byte)} bits per byte in the mean over languages, with "
        f"{top.cost.experts_run:.2f} experts run for a token ({_took(top)})."
    ]
    if dense_setting(found):
        said += [_against(top, "dense"), _by_seed(top, dense_setting(found)), _counted(top)]
    said.append(_against(top, "seed"))
    untold = best(one for one in expert_settings(found) if one.routing != "language")
    if top.routing == "language" and untold:
        said.append(
            "This routing must be told each text's language. Of those that need not, "
            f"`{setting_name(untold)}` is best, at {nats(untold.mean.loss)}."
        )
    return [sentence for sentence in said if sentence]


def _took(one: Setting) -> str:
    """What a token costs, and how much is open for a text."""
    time = short_time(one.cost.seconds)
    return f"{time} of processor time, {show_bytes(one.cost.memory)} of weights open"


def _against(one: Setting, name: str) -> str:
    """Whether it beats the dense model or the seed."""
    less = one.lower(name)
    other = "the dense model on as many tokens in all" if name == "dense" else "the seed"
    if less.low is None:
        side = "lower" if less.value >= 0 else "higher"
        return (
            f"Its loss is {side} than that of {other} by {nats(abs(less.value))} nats per token, "
            "measured on too few texts to say more."
        )
    if less.significant == 0:
        return (
            f"It and {other} cannot be told apart: its loss is lower by {difference(less)} nats "
            "per token."
        )
    if less.significant > 0:
        return f"It beats {other}: its loss is lower by {difference(less)} nats per token."
    return f"It does not beat {other}: its loss is higher by {difference(-less)} nats per token."


def _by_seed(one: Setting, other: Setting | None) -> str:
    """Whether every seed of training says the same."""
    if other is None or one.seeds != other.seeds or one.seeds < 2:
        return ""
    apart = [
        fmean(
            other.losses[lang].of_members[seed] - of.of_members[seed]
            for lang, of in one.losses.items()
        )
        for seed in range(one.seeds)
    ]
    told = ", ".join(f"{value:+.3f}".replace("-", "−") for value in apart)
    alike = len({value > 0 for value in apart}) == 1
    return (
        f"Seed of training by seed, it is lower than dense by {told}"
        f"{': all agree' if alike else ': they do not agree'} on which is better."
    )


def _counted(one: Setting) -> str:
    """On how many languages it wins and loses."""
    found = [one.lower("dense", lang) for lang in one.losses]
    signs = [less.significant for less in found if less.low is not None]
    if not signs:
        return "Language by language, there are too few texts to say which is better."
    few = len(found) - len(signs)
    return (
        f"Language by language, it is better than dense on {signs.count(1)} of {len(found)}, "
        f"worse on {signs.count(-1)}, and on {signs.count(0)} the two cannot be told apart"
        + (f"; {few} {'has' if few == 1 else 'have'} too few texts." if few else ".")
    )


def _cost(found: Experts) -> list[str]:
    """What running all experts buys over running one, in every division."""
    said = []
    for name in expert_divisions(found):
        by = {one.routing: one for one in expert_settings(found, name)}
        one, every = by.get("tfidf:1"), by.get("tfidf")
        if one is None or every is None:
            continue
        less = one.mean.loss - every.mean.loss
        said.append(
            f"`{name}`: mixing all {every.k} by tfidf instead of taking the nearest "
            f"{'lowers' if less >= 0 else 'raises'} the loss by {nats(abs(less))} nats per token, "
            f"with {every.cost.experts_run:.2f} instead of {one.cost.experts_run:.2f} experts "
            f"run for a token: {short_time(every.cost.seconds)} instead of "
            f"{short_time(one.cost.seconds)} of processor time, "
            f"{show_bytes(every.cost.memory)} instead of {show_bytes(one.cost.memory)} of weights "
            "open."
        )
    return said


def _dense(found: Experts) -> list[str]:
    return ["dense"] if dense_setting(found) else []


def _forgotten(found: Experts, division: str) -> str:
    cells, count = worse(found, division)
    which = f"`{division}`: "
    if not cells:
        return f"{which}no expert became worse than the seed on any language."
    of_all, _ = forgotten_share(found, division)
    by_perplexity, by_loss = rises(cells)
    related = _related(found, division)
    return (
        f"{which}{len(cells)} of {count} pairs of expert and language ({of_all}) became worse than "
        f"the seed, in the mean by {perplexity(by_perplexity)} of perplexity ({nats(by_loss)} nats "
        f"per token).{related}"
    )


def _related(found: Experts, division: str) -> str:
    """How forgetting goes with the seed's languages, where it is known what they were."""
    rise, shares = rise_by_language(found, division), found.scores.base_shares
    if not shares or not spread(shares):
        return ""
    related = correlate([shares[lang] for lang in rise], list(rise.values()))
    if related is None:
        return ""
    least = "more" if related.rho > 0 else "less"
    told = (
        f"what the seed was trained on more, was forgotten {least}"
        if related.p < 0.05
        else "no relation that chance would not often give"
    )
    return (
        " The rise of loss on a language that an expert did not learn, against its share of the "
        f"seed's training: {related}; {told}."
    )


def _amounts(found: Experts) -> list[str]:
    """How the gain of the best goes with the amount of text."""
    top = best(expert_settings(found))
    if top is None:
        return []
    if not spread(found.scores.train_tokens):
        return ["All languages have about as much text, so what its amount does cannot be told."]
    said = []
    for name in references(found):
        langs = list(top.losses)
        gains = [top.lower(name, lang).value for lang in langs]
        found_one = correlate([found.scores.train_tokens[lang] for lang in langs], gains)
        if found_one is None:
            continue
        least = "more" if found_one.rho < 0 else "less"
        told = (
            f"languages with less text gained {least}"
            if found_one.p < 0.05
            else "no relation that chance would not often give"
        )
        said.append(
            f"Gain over {'the seed' if name == 'seed' else 'dense'} against amount of text, "
            f"`{setting_name(top)}`: {found_one}; {told}."
        )
    return said


def _to_know(found: Experts) -> list[str]:
    said = [
        "Intervals are of 95 %, over held-out documents; they do not hold what another seed of "
        "training would change. A language counts as better or worse where luck does as much in "
        "fewer than 5 cases of 100, allowing for the number of languages."
    ]
    if few := [lang for lang, of in found.text.items() if of.documents < FEWEST_DOCUMENTS]:
        named = ", ".join(f"`{lang}`" for lang in few)
        said.append(
            f"Fewer than {FEWEST_DOCUMENTS} held-out texts of {named} were scored: too few for an "
            "interval. Hold out or score more text."
        )
    if not found.scores.same_tokenizer:
        said.append(
            "The seed has another tokenizer. It read the same texts in its own tokens, and its "
            "losses are shared out over the experts' tokens: so they can be compared, as bits per "
            "byte can, but are not those per token of its own."
        )
    count = len(expert_settings(found))
    if count > 1:
        said.append(
            f"The best of {count} settings was chosen by the text that it is scored on, which "
            "flatters it a little."
        )
    return said + _alike(found)


def _alike(found: Experts) -> list[str]:
    """Divisions that came to the same parts by different ways."""
    groups: dict[frozenset[tuple[tuple[str, float], ...]], list[str]] = {}
    for name, partition in found.scores.partitions.items():
        if len(partition.shares) > 1:
            parts = frozenset(tuple(sorted(of.items())) for of in partition.shares)
            groups.setdefault(parts, []).append(name)
    return [
        f"{' and '.join(f'`{name}`' for name in names)} came to the same parts, so where they "
        "differ it is by chance."
        for names in groups.values()
        if len(names) > 1
    ]
