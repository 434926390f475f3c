"""The page of experts: the answer, then settings, routed texts, growth, languages, forgetting."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation
from tongues.experts.ensemble import ROUTINGS
from tongues.pages import blocks as b
from tongues.pages import estimate_card, estimate_cell, write_page
from tongues.quantities import show_count
from tongues.report.evaluation.measures import show_perplexity
from tongues.report.experts.answer import (
    REFERENCES,
    expert_answer,
    increase,
    nats,
    show_cost,
    worse,
)
from tongues.report.experts.figures import expert_figures
from tongues.report.experts.measured import Growth, MeasuredExperts, Setting

__all__ = ["expert_tables", "routing_sentences", "write_experts_report"]

_ABOUT_SETTINGS = (
    "Held-out text, mean over languages: the loss in nats per token; its difference to the base "
    "and the dense model, below 0 where it is lower. For a token: experts that read it and "
    "processor time; weights are of all experts that a text needed."
)
_ABOUT_LANGUAGES = (
    "Losses in nats per token, of every division by its best routing; the lowest is bold. Then the "
    "best of all by its number of parts, and the best experts versus one model."
)
_ABOUT_CELLS = (
    "Pairs of expert and language, over all random seeds of training, that became worse than the "
    "base model, and the mean increase among those."
)
_ABOUT_ROUTED = (
    "Beginnings of held-out texts under tfidf routing of `{}`. Underlined in one colour is where "
    "one expert has the highest weight; weights follow from the text so far, and at its start from "
    "how much each expert learned. Those of a token show under the pointer."
)


def write_experts_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation of experts; returns its `index.html`.

    An earlier report at `folder` is replaced, any other filled folder refused.
    """
    experts = MeasuredExperts.of(evaluation)
    topics = expert_answer(experts)
    page = b.Page(
        f"Language experts: {folder.name.removesuffix('-experts')}",
        [
            _cards(experts),
            b.Topics({topic: [b.Items(lines)] for topic, lines in topics.items()}),
            *_sections(experts),
        ],
        lead=[b.Paragraph(_about(experts), "lead")],
        versions={name: version(name) for name in ("tongues", "altair")},
        numbers={"findings": topics, **evaluation.to_json()},
    )
    return write_page(page, folder)


def _about(experts: MeasuredExperts) -> str:
    count, divisions = len(experts.languages), len(experts.divisions)
    seeds = max(len(of.of_members) for each in experts.settings for of in each.losses.values())
    tokens = fmean(of.tokens for of in experts.base.losses.values())
    dense = " and a dense model" if experts.dense else ""
    return (
        f"{count} language{'s' * (count != 1)} · {divisions} ensemble{'s' * (divisions != 1)} of "
        f"experts{dense} · base model {experts.scores.base} · {seeds} random "
        f"seed{'s' * (seeds != 1)} of training · about {show_count(tokens)} held-out tokens of "
        "each language"
    )


def _cards(experts: MeasuredExperts) -> b.Cards:
    if growth := experts.growth:  # no mean over added and older languages
        added = ((lang, experts.own_setting("grown", lang)) for lang in growth.donors)
        changed = ((lang, each and each.difference("before", lang)) for lang, each in added)
        what = "nats per token on `{}`, added, versus before"
        each = (estimate_card(of, nats, what.format(x), plus=True) for x, of in changed if of)
        return b.Cards(list(each)[:4])
    top = experts.best()
    if top is None:
        return b.Cards([])
    perplexity = show_perplexity(top.perplexity)
    cards = [b.Card(perplexity, top.name, "perplexity of the best experts, mean over languages")]
    for other in experts.references:
        if mean := top.difference(other):
            what = f"nats per token versus {REFERENCES[other]}"
            cards.append(estimate_card(mean, nats, what, plus=True))
    if experts.cells(top.division):
        _, count, of_all = worse(experts, top.division)
        cards.append(b.Card(of_all, count, "of expert and language pairs worse than the base"))
    return b.Cards(cards)


def _sections(experts: MeasuredExperts) -> Iterator[b.Block]:
    """Tables and figures in reading order."""
    figures, tables = expert_figures(experts), expert_tables(experts)
    about = {
        "Divisions and routings": f"{_ABOUT_SETTINGS} {routing_sentences(experts.settings)}",
        "Growth": "Losses in nats per token by routing, before and after languages were added.",
        "Languages": _ABOUT_LANGUAGES,
        "Forgetting": _ABOUT_CELLS,
    }
    drawn = {
        "Divisions and routings": ("settings", "cost"),
        "Growth": ("added",),
        "Languages": ("languages", "gains", "shares"),
        "Forgetting": ("forgetting", "unlearned"),
    }
    for title, table in tables.items():
        place = title.split()[0].lower()
        yield b.Section(f"table-{place}", title, [b.Paragraph(about[title], "quiet"), table])
        yield from (figures[name] for name in drawn[title] if name in figures)
        if title == "Divisions and routings":
            yield from _routed(experts)


def routing_sentences(settings: Sequence[Setting]) -> str:
    """Which experts predict a token, by each routing of the table."""
    kinds = dict.fromkeys(each.kind for each in settings if each.kind)
    clauses = "; ".join(f"`{kind}`: {ROUTINGS.find(kind).summary}" for kind in kinds)
    return f"Routings: {clauses}." if clauses else ""


def expert_tables(experts: MeasuredExperts) -> dict[str, b.Table]:
    """The tables of the page by their titles."""
    growth = experts.growth
    tables = {"Divisions and routings": _setting_table(experts)}
    tables |= {"Growth": _growth_table(experts, growth)} if growth else {}
    tables["Languages"] = _language_table(experts)
    return tables | ({"Forgetting": _forgetting_table(experts)} if experts.scores.cells else {})


def _difference(of: Estimate | None) -> b.Cell:
    quiet = of is not None and not of.significant
    cell = estimate_cell(of, nats, plus=True, beside=True, quiet=quiet)
    return replace(cell, beside="too few") if of and of.low is None else cell


def _setting_table(experts: MeasuredExperts) -> b.Table:
    """A row per division and routing."""
    top, rows = experts.best(), list[dict[str, b.Entry]]()
    for each in experts.settings:
        strong, whole = each is top, each.whole
        run, time, memory = show_cost(each)
        row: dict[str, b.Entry] = {
            "division": b.Cell(each.division, strong=strong),
            "routing": each.routing if each.k > 1 else "",
            "loss": b.Cell(nats(each.loss), each.loss, strong=strong) if whole else None,
            "perplexity": show_perplexity(each.perplexity) if whole else None,
            "bits per byte": nats(each.bits_per_byte) if whole else None,
        }
        for other in reversed(experts.references):
            row[f"versus {other}"] = _difference(each.difference(other) if whole else None)
        rows.append(row | {"k": each.k, "experts run": run, "time": time, "weights": memory})
    return b.Table.of(rows)


def _language_table(experts: MeasuredExperts) -> b.Table:
    """A row per language: losses of the base, dense and the best setting of every division."""
    columns = {"base": experts.base, **({"dense": experts.dense} if experts.dense else {})}
    columns |= experts.best_of_each
    other, rows = experts.references[0], list[list[b.Entry]]()
    for lang in experts.languages:
        losses = [each.losses[lang].nats_per_token for each in columns.values()]
        best = experts.best_on(lang, experts.colours)
        own = experts.best_on(lang, experts.divisions)
        rows.append(
            [
                lang,
                *(b.Cell(nats(loss), loss, strong=loss == min(losses)) for loss in losses),
                b.Cell(str(best.k), best.k, beside=best.division) if best else None,
                own.name if own else None,
                _difference(own.difference(other, lang) if own else None),
            ]
        )
    heads = [
        b.Cell(name, below=each.routing if each.k > 1 else "") for name, each in columns.items()
    ]
    return b.Table(["language", *heads, "best k", "best experts", f"versus {other}"], rows)


def _forgetting_table(experts: MeasuredExperts) -> b.Table:
    """A row per division: how many pairs of expert and language became worse, and by how much."""
    rows: list[list[b.Entry]] = []
    for name in ("dense", *experts.divisions):
        if not experts.cells(name):
            continue
        pairs, count, of_all = worse(experts, name)
        by_perplexity, by_loss = increase(pairs)
        rows.append([name, count, of_all, by_perplexity, by_loss])
    heads = ["division", "became worse", "share", "mean rise of perplexity", "mean rise of loss"]
    return b.Table(heads, rows)


def _growth_table(experts: MeasuredExperts, growth: Growth) -> b.Table:
    """A row per added language and donor: the base, the ensemble before and after."""
    ways = {
        (each.division, each.routing): each
        for each in experts.settings
        if each.division in ("before", "grown") and not each.baseline
    }
    rows: list[list[b.Entry]] = []
    for lang in experts.languages:
        if not (role := growth.role(lang)):
            continue
        losses = [each.losses.get(lang) for each in (experts.base, *ways.values())]
        after = experts.own_setting("grown", lang)
        rows.append(
            [
                lang,
                role,
                *(
                    b.Cell(nats(of.nats_per_token), of.nats_per_token) if of else None
                    for of in losses
                ),
                nats(growth.alone[lang]) if lang in growth.alone else None,
                _difference(after.difference("before", lang) if after else None),
            ]
        )
    heads = [b.Cell(division, below=routing) for division, routing in ways]
    return b.Table(["language", "", "base", *heads, "new expert alone", "versus before"], rows)


def _routed(experts: MeasuredExperts) -> Iterator[b.Section]:
    """Short held-out texts as the best division routes them, with a legend."""
    shown = experts.scores.routed
    top = experts.best(each for each in experts.usable() if each.division in shown)
    if top is None:
        return
    names = {
        rise.number: rise.expert.partition(": ")[2] or "languages in parts"
        for rise in experts.rises
        if rise.division == top.division
    }
    legend = b.Spans([(f"{name} ", number, "") for number, name in sorted(names.items())])
    texts = [
        b.Spans(
            [(piece.text, *_leader(piece.weights)) for piece in text.pieces],
            ", ".join(text.languages),
            text.languages[0] if len(text.languages) == 1 else "",
        )
        for text in shown[top.division]
    ]
    about = b.Paragraph(_ABOUT_ROUTED.format(top.division), "quiet")
    yield b.Section("routed", "What routing does", [about, legend, *texts])


def _leader(weights: Mapping[str, float]) -> tuple[int, str]:
    """The expert of the highest weight, and all weights in words."""
    each = ", ".join(f"{number}: {weight:.0%}" for number, weight in weights.items())
    return int(max(weights, key=lambda number: weights[number])), each
