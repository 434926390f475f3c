"""What came of the experts: gains and losses, which setting to take, how sure, what it costs."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.pages import Tile, fixed, interval, percent, share, signed, too_few
from tongues.core.roles import list_languages
from tongues.core.significance.paired import FEWEST_DOCUMENTS
from tongues.evaluate.settings import MeasuredExperts, Setting

nats = fixed(3)  # a loss

WORDS: dict[str, Any] = read_beside(__file__)


def expert_tiles(experts: MeasuredExperts) -> list[Tile]:
    """The base, the dense model and the best experts, by their mean losses."""
    shown = {"base": experts.base, "dense": experts.dense, "experts": experts.best()}
    return [_tile(kind, of) for kind, of in shown.items() if of and of.whole]


def _tile(kind: str, of: Setting) -> Tile:
    versus = of.difference("dense") if kind == "experts" else None
    size = f"{signed(versus.value, nats)} {interval(versus, nats)}".rstrip() if versus else ""
    below = WORDS["versus" if versus else "read"].format(loss=nats(of.loss), size=size)
    if kind == "experts":
        below = WORDS["setting"].format(name=of.name, below=below)
    label = WORDS["mean"].format(name=WORDS[kind])
    return Tile(label, nats(of.bits_per_byte), below, "target" if kind == "experts" else "")


def expert_answer(experts: MeasuredExperts) -> dict[str, list[str]]:
    """Sentences by topic, the most important first; topics without any are left out."""
    top = experts.best()
    topics = {"Choice": list(_choice(experts, top)) if top else []}
    topics["Certainty"] = [WORDS["certainty"], *_seeds(experts, top)]
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
        kind = "untested" if dense.reason else "either"
        if dense.significant:
            kind = "dense" if dense.significant > 0 else "experts"
        yield WORDS["choice"][kind].format(name=top.name, lower=lower, reason=dense.reason)
    others = [each for each in experts.usable() if not each.needs_language]
    if top.needs_language and (other := experts.best(others)):
        yield WORDS["needs_language"].format(name=other.name, loss=nats(other.loss))


def _seeds(experts: MeasuredExperts, top: Setting | None) -> Iterator[str]:
    dense = experts.dense
    seeds = len(next(iter(top.losses.values())).of_members) if top else 0
    if top is None or seeds < 2:
        yield WORDS["one_seed"]
    elif dense and len(next(iter(dense.losses.values())).of_members) == seeds:
        pairs = [(of.of_members, dense.losses[lang].of_members) for lang, of in top.losses.items()]
        apart = [fmean(own[seed] - other[seed] for own, other in pairs) for seed in range(seeds)]
        agree = len({value > 0 for value in apart}) == 1
        each = ", ".join(signed(value, nats) for value in apart)
        yield WORDS["seeds"].format(
            name=top.name, each=each, agreement=WORDS["agree" if agree else "disagree"]
        )


def _caveats(experts: MeasuredExperts, top: Setting | None) -> Iterator[str]:
    compared = [of for c in (top.versus.values() if top else ()) for of in c.languages.values()]
    if few := too_few(compared):
        yield WORDS["more_text"].format(few=few)
    counts = {lang: of.documents for lang, of in experts.base.losses.items()}
    if short := [f"`{lang}`" for lang, count in counts.items() if count < FEWEST_DOCUMENTS]:
        yield WORDS["no_interval"].format(least=FEWEST_DOCUMENTS, languages=list_languages(short))
    if not experts.scores.same_tokenizer:
        yield WORDS["other_tokenizer"]
    if (count := len(experts.usable())) > 1:
        yield WORDS["chosen"].format(count=count)
    groups: dict[frozenset[tuple[tuple[str, float], ...]], list[str]] = {}
    for name, partition in experts.scores.partitions.items():
        if len(partition.shares) > 1:
            shares = frozenset(tuple(sorted(of.items())) for of in partition.shares)
            groups.setdefault(shares, []).append(f"`{name}`")
    for names in groups.values():
        if len(names) > 1:
            yield WORDS["same_clusters"].format(partitions=list_languages(names))
