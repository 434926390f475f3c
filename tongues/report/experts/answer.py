"""What came of the experts: gains and losses, which setting to take, how sure, what it costs."""

from collections.abc import Iterator
from statistics import fmean

from tongues.core.pages import fixed, interval, number, percent, share, signed, too_few
from tongues.core.roles import list_languages
from tongues.core.significance.paired import FEWEST_DOCUMENTS
from tongues.evaluate.settings import MeasuredExperts, Setting
from tongues.report.evaluation.tables import show_perplexity

nats = fixed(3)  # a loss

_CHOICE = {
    "experts": "Take the experts: their mean loss is {size} nats per token lower.",
    "dense": "Take the dense model, trained on as many tokens: the mean loss of experts is "
    "{size} nats per token higher.",
    "untested": "Not decided: the mean loss is {size} nats per token lower with {lower}, "
    "which cannot be tested: {reason}.",
    "either": "Either may be taken: the mean loss of `{name}` is not significantly different "
    "from that of the dense model: {size} nats per token. The dense model is smaller.",
}
_BEST = (
    "Of the experts' partitions and routings `{name}` has the lowest mean loss: {loss} nats per "
    "token, perplexity {perplexity}, {bits} bits per byte."
)
_NEEDS_LANGUAGE = (
    "This routing must be given each text's language. Of those that need not, `{name}` is best, at "
    "{loss}."
)
_CERTAINTY = (
    "Brackets are 95 % confidence intervals over held-out documents; differences are significant "
    "at p < 0.05, Holm-corrected for all languages and settings."
)
_ONE_SEED = "One random seed of training: intervals do not include the variance between seeds."
_SEEDS = "`{name}` versus dense by random seed of training: {each} nats per token; {agreement}."
_AGREE = {True: "all agree", False: "they do not agree"}

_MORE_TEXT = "{few} Hold out or score more text."
_NO_INTERVAL = "Fewer than {least} held-out texts of {languages} were scored: no interval."
_OTHER_TOKENIZER = (
    "The base model has another tokenizer. It read the same texts in its own tokens, and its "
    "losses are distributed over the experts' tokens, so they are comparable, as bits per byte are."
)
_CHOSEN = (
    "The best of {count} settings was chosen on the text that it is scored on, so its loss is a "
    "little too low."
)
_SAME_CLUSTERS = "{partitions} came to the same clusters: they differ by chance only."


def expert_answer(experts: MeasuredExperts) -> dict[str, list[str]]:
    """Sentences by topic, the most important first; topics without any are left out."""
    top = experts.best()
    topics = {"Choice": list(_choice(experts, top)) if top else []}
    topics["Certainty"] = [_CERTAINTY, *_seeds(experts, top)]
    topics["Caveats"] = list(_caveats(experts, top))
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def forgotten(experts: MeasuredExperts, partition: str) -> tuple[str, str, str]:
    """Pairs of expert and language that became worse than the base: their count and share.

    Then their mean rise of loss, empty where there is none.
    """
    cells = experts.cells(partition)
    worse = [cell for cell in cells if cell.perplexity_rise > 0]
    count = f"{len(worse)} of {len(cells)}", percent(share(len(worse), len(cells)))
    if not worse:
        return *count, ""
    return *count, nats(fmean(cell.rise for cell in worse))


def _choice(experts: MeasuredExperts, top: Setting) -> Iterator[str]:
    if dense := top.difference("dense"):
        lower = "the dense model" if dense.value > 0 else f"`{top.name}`"
        if dense.significant:
            kind = "dense" if dense.significant > 0 else "experts"
            size = number(dense.times(dense.significant), nats)
        elif dense.reason:
            kind, size = "untested", nats(abs(dense.value))
        else:
            kind, size = "either", f"{signed(dense.value, nats)} {interval(dense, nats)}".rstrip()
        yield _CHOICE[kind].format(name=top.name, size=size, lower=lower, reason=dense.reason)
    yield _BEST.format(
        name=top.name,
        loss=nats(top.loss),
        perplexity=show_perplexity(top.perplexity),
        bits=nats(top.bits_per_byte),
    )
    others = [each for each in experts.usable() if not each.needs_language]
    if top.needs_language and (other := experts.best(others)):
        yield _NEEDS_LANGUAGE.format(name=other.name, loss=nats(other.loss))


def _seeds(experts: MeasuredExperts, top: Setting | None) -> Iterator[str]:
    dense = experts.dense
    seeds = len(next(iter(top.losses.values())).of_members) if top else 0
    if top is None or seeds < 2:
        yield _ONE_SEED
    elif dense and len(next(iter(dense.losses.values())).of_members) == seeds:
        pairs = [(of.of_members, dense.losses[lang].of_members) for lang, of in top.losses.items()]
        apart = [fmean(own[seed] - other[seed] for own, other in pairs) for seed in range(seeds)]
        agree = len({value > 0 for value in apart}) == 1
        each = ", ".join(signed(value, nats) for value in apart)
        yield _SEEDS.format(name=top.name, each=each, agreement=_AGREE[agree])


def _caveats(experts: MeasuredExperts, top: Setting | None) -> Iterator[str]:
    compared = [of for c in (top.versus.values() if top else ()) for of in c.languages.values()]
    if few := too_few(compared):
        yield _MORE_TEXT.format(few=few)
    counts = {lang: of.documents for lang, of in experts.base.losses.items()}
    if short := [f"`{lang}`" for lang, count in counts.items() if count < FEWEST_DOCUMENTS]:
        yield _NO_INTERVAL.format(least=FEWEST_DOCUMENTS, languages=list_languages(short))
    if not experts.scores.same_tokenizer:
        yield _OTHER_TOKENIZER
    if (count := len(experts.usable())) > 1:
        yield _CHOSEN.format(count=count)
    groups: dict[frozenset[tuple[tuple[str, float], ...]], list[str]] = {}
    for name, partition in experts.scores.partitions.items():
        if len(partition.shares) > 1:
            shares = frozenset(tuple(sorted(of.items())) for of in partition.shares)
            groups.setdefault(shares, []).append(f"`{name}`")
    for names in groups.values():
        if len(names) > 1:
            yield _SAME_CLUSTERS.format(partitions=list_languages(names))
