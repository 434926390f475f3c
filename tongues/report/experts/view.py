"""The page of experts: the answer, then its tables and figures."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from tongues.core.estimate import Estimate
from tongues.core.pages import blocks as b
from tongues.core.pages import estimate_cell, value_cell
from tongues.core.quantities import counted, show_bytes, show_count
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.settings import AddedLanguages, MeasuredExperts, Setting
from tongues.experts.ensemble import ROUTINGS
from tongues.report.evaluation.measures import show_perplexity
from tongues.report.experts.answer import expert_answer, forgotten, nats
from tongues.report.experts.figures import expert_figures

_SETTINGS, _ADDED = "Partitions and routings", "Added languages"
_LANGUAGES, _FORGETTING = "Languages", "Forgetting"
_ABOUT = {
    _SETTINGS: "Held-out text, mean over languages: the loss in nats per token; its difference to "
    "the base and the dense model, below 0 where it is lower. Experts run are those that read a "
    "token; weights are of all experts that a text needed.",
    _ADDED: "Losses in nats per token by routing, before and after languages were added.",
    _LANGUAGES: "Losses in nats per token, of every partition by its best routing; the lowest is "
    "bold. Then the best of all by its number of clusters, and the best experts versus one model.",
    _FORGETTING: "Pairs of expert and language, over all random seeds of training, that became "
    "worse than the base model, and the mean increase among those.",
}
_FIGURES = {
    _SETTINGS: ("cost",),
    _LANGUAGES: ("shares",),
    _FORGETTING: ("forgetting", "unlearned"),
}


def experts_page(evaluation: Evaluation, name: str) -> b.Page:
    """The page of an evaluation of experts."""
    experts = MeasuredExperts.of(evaluation)
    topics, figures = expert_answer(experts), expert_figures(experts)
    blocks: list[b.Block] = [b.Topics.of(topics)]
    for title, table in expert_tables(experts).items():
        first, place = title == _SETTINGS, f"table-{title.split()[0].lower()}"
        about = _ABOUT[title] + (f" {routing_sentences(experts.settings)}" if first else "")
        blocks.append(b.Section(place, title, [about, table]))
        blocks += map(figures.get, _FIGURES.get(title, ()))
    tokens = fmean(of.tokens for of in experts.base.losses.values())
    lead = [
        counted(len(experts.languages), "language"),
        counted(len(experts.partitions), "ensemble"),
        counted(
            max(len(x.of_members) for s in experts.settings for x in s.losses.values()),
            "random seed",
        ),
        f"base model {experts.scores.base}",
        f"about {show_count(tokens)} held-out tokens of each language",
    ]
    return b.Page(
        f"Language experts: {name}",
        blocks,
        lead=[b.Paragraph(" · ".join(lead), "lead")],
        numbers={"findings": topics, **evaluation.to_json()},
    )


def routing_sentences(settings: Sequence[Setting]) -> str:
    """Which experts predict a token, by each routing of the table."""
    kinds = dict.fromkeys(each.kind for each in settings if each.kind)
    clauses = "; ".join(f"`{kind}`: {ROUTINGS.find(kind).summary}" for kind in kinds)
    return f"Routings: {clauses}." if clauses else ""


def expert_tables(experts: MeasuredExperts) -> dict[str, b.Table]:
    """The tables of the page by their titles."""
    tables = {_SETTINGS: setting_table(experts)}
    if added := experts.added:
        tables[_ADDED] = _added_table(experts, added)
    tables[_LANGUAGES] = _language_table(experts)
    if experts.scores.cells:
        names = [name for name in ("dense", *experts.partitions) if experts.cells(name)]
        heads = ("became worse", "share", "mean rise of loss")
        rows = [[name, *forgotten(experts, name)] for name in names]
        tables[_FORGETTING] = b.Table(["partition", *heads], rows)
    return tables


def _difference(of: Estimate | None) -> b.Cell:
    return replace(_estimate(of, plus=True), quiet=of is not None and not of.significant)


def _estimate(of: Estimate | None, *, plus: bool = False) -> b.Cell:
    return estimate_cell(of, nats, plus=plus, after=True)


def setting_table(experts: MeasuredExperts) -> b.Table:
    """Every partition by every routing: its losses, differences and costs."""
    top, rows = experts.best(), list[dict[str, b.Entry]]()
    for each in experts.settings:
        strong, whole = each is top, each.whole
        row: dict[str, b.Entry] = {
            "partition": b.Cell(each.partition, strong=strong),
            "routing": each.routing,
            "loss": value_cell(each.loss, nats, strong=strong) if whole else None,
            "perplexity": show_perplexity(each.perplexity) if whole else None,
            "bits per byte": nats(each.bits_per_byte) if whole else None,
        }
        for other in reversed(experts.references):
            row[f"versus {other}"] = _difference(each.difference(other) if whole else None)
        run, memory = f"{each.cost.experts_run:.2f}", show_bytes(each.cost.memory)
        rows.append(row | {"k": each.k, "experts run": run, "weights": memory})
    return b.Table.of(rows)


def _language_table(experts: MeasuredExperts) -> b.Table:
    columns = {"base": experts.base, **({"dense": experts.dense} if experts.dense else {})}
    columns |= experts.best_of_each
    other, rows = experts.references[0], list[list[b.Entry]]()
    for lang in experts.languages:
        losses = [each.losses[lang].nats_per_token for each in columns.values()]
        best = experts.best(experts.scored(lang, experts.colours), lang)
        own = experts.best(experts.scored(lang, experts.partitions), lang)
        cells = [value_cell(loss, nats, strong=loss == min(losses)) for loss in losses]
        k = b.Cell(str(best.k), best.k, after=best.partition) if best else None
        change = _difference(own.difference(other, lang) if own else None)
        rows.append([lang, *cells, k, own.name if own else None, change])
    heads = [b.Cell(name, below=each.routing) for name, each in columns.items()]
    return b.Table(["language", *heads, "best k", "best experts", f"versus {other}"], rows)


def _added_table(experts: MeasuredExperts, added: AddedLanguages) -> b.Table:
    ways = [s for s in experts.settings if s.partition in ("before", "added")]
    rows: list[list[b.Entry]] = []
    for lang in experts.languages:
        if not (role := added.role(lang)):
            continue
        losses = [each.losses.get(lang) for each in (experts.base, *ways)]
        values = [*(of and of.nats_per_token for of in losses), added.alone.get(lang)]
        after = experts.own_setting("added", lang)
        change = _difference(after.difference("before", lang) if after else None)
        rows.append([lang, role, *(value_cell(value, nats) for value in values), change])
    heads = [b.Cell(each.partition, below=each.routing) for each in ways]
    return b.Table(["language", "", "base", *heads, "new expert alone", "versus before"], rows)
