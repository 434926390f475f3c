"""The tables of experts: settings, languages, what was forgotten, what was added."""

from html import escape

from tongues.experts.ensemble import ROUTINGS
from tongues.quantities import show_bytes
from tongues.report.experts.correlation import correlate
from tongues.report.experts.numbers import (
    compared,
    nats,
    perplexity,
    setting_name,
    short_time,
)
from tongues.report.experts.outcome import (
    Experts,
    Setting,
    best,
    best_of_each,
    dense_setting,
    expert_divisions,
    expert_settings,
    frequencies,
    lowest,
    models,
    references,
    rise_by_language,
    seed_setting,
    spread,
    worse,
)
from tongues.report.experts.words import forgotten_share, rises
from tongues.report.html import table, word

__all__ = ["forgetting_table", "language_table", "routings_said", "setting_table"]


def setting_table(found: Experts) -> str:
    """A row per division and routing: losses in the mean over languages, and what they cost."""
    top = best(expert_settings(found))
    names = references(found)
    rows = []
    for one in found.settings:
        mean = one.mean
        first = "" if one.division in ("seed", "dense") else escape(one.routing)
        cells = [word(_strong(escape(one.division), one is top)), word(first), str(one.k)]
        cells += [
            f"{one.cost.experts_run:.2f}",
            short_time(one.cost.seconds),
            show_bytes(one.cost.memory),
        ]
        if not one.whole:
            cells += ["", "", "", *("" for _ in names)]
        else:
            cells += [
                _strong(nats(mean.loss), one is top),
                perplexity(mean.perplexity),
                nats(mean.bits_per_byte),
                *(compared(one.lower(name) if name in one.versus else None) for name in names),
            ]
        rows.append(cells)
    head = [word("division"), word("routing"), "k", "experts run", "time", "weights"]
    lower = [f"lower than {'the seed' if name == 'seed' else name}" for name in names]
    return table([*head, "loss", "perplexity", "bits per byte", *lower], rows)


def routings_said(found: Experts) -> str:
    """What the routings of the table are, and what its numbers mean, in a few sentences."""
    names = (one.routing for one in found.settings if one.k > 1)
    kinds = dict.fromkeys(name.partition(":")[0] for name in names)
    said = "; ".join(f"`{kind}`: {ROUTINGS.find(kind).summary}" for kind in kinds)
    gaps = not all(one.whole for one in found.settings)
    return (
        "Held-out text, the mean over languages; loss and differences in nats per token. For a "
        "token that is scored: how many experts read one, and the processor time of that and of "
        "the routing; weights are those of all experts that one text asked for, the most of any. "
        "After a difference stands its 95 % interval. "
        + ("Where a language has no expert, the mean is left out. " if gaps else "")
        + (f"Routings: {said}." if said else "")
    )


def language_table(found: Experts) -> str:
    """A row per language: losses of seed, dense and the best setting of every division."""
    columns = {"seed": seed_setting(found)}
    if dense := dense_setting(found):
        columns["dense"] = dense
    columns |= best_of_each(found)
    name = references(found)[-1]
    rows = []
    for lang in found.text:
        losses = {key: one.loss(lang) for key, one in columns.items()}
        least = min(losses.values())
        top = lowest(found, lang, models(found))
        experts = lowest(found, lang, expert_divisions(found))
        rows.append(
            [
                word(escape(lang)),
                *(_strong(nats(loss), loss == least) for loss in losses.values()),
                word(_best_k(top)),
                word(escape(setting_name(experts)) if experts else ""),
                compared(experts.lower(name, lang) if experts else None),
            ]
        )
    lower = f"lower than {'the seed' if name == 'seed' else name}"
    head = [word("language"), *_heads(columns), word("best k"), word("best experts"), lower]
    return table(head, rows)


def forgetting_table(found: Experts) -> str:
    """A row per division: how many pairs of expert and language became worse, and by how much."""
    amounts = frequencies(found)
    rows = []
    for name in [*(["dense"] if dense_setting(found) else []), *expert_divisions(found)]:
        cells, count = worse(found, name)
        if not count:
            continue
        by_perplexity, by_loss = rises(cells)
        rise = rise_by_language(found, name)
        related = correlate([amounts[lang] for lang in rise], list(rise.values()))
        rows.append(
            [
                word(escape(name)),
                *reversed(forgotten_share(found, name)),
                perplexity(by_perplexity) if cells else "",
                nats(by_loss) if cells else "",
                *([str(related) if related else ""] if spread(amounts) else []),
            ]
        )
    head = [word("division"), "became worse", "share", "mean rise of perplexity"]
    by = "the seed's share of it" if found.scores.base_shares else "amount of text"
    last = [f"against {by}"] if spread(amounts) else []
    return table([*head, "mean rise of loss", *last], rows)


def _heads(columns: dict[str, Setting]) -> list[str]:
    return [
        escape(key) + ("" if one.k == 1 else f"<br><small>{escape(one.routing)}</small>")
        for key, one in columns.items()
    ]


def _best_k(top: Setting | None) -> str:
    """The number of parts that serves a language best, and how they were divided."""
    return f'{top.k}<small class="beside">{escape(top.division)}</small>' if top else ""


def _strong(cell: str, is_so: bool) -> str:
    return f"<strong>{cell}</strong>" if is_so else cell
