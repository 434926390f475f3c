"""The page of experts: what came out first, then settings, languages, forgetting, growth."""

from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path

from tongues.evaluate.evaluation import Evaluation
from tongues.report.charts import Figure
from tongues.report.experts.figures import expert_figures
from tongues.report.experts.growth import added_table
from tongues.report.experts.numbers import between, nats, perplexity, setting_name
from tongues.report.experts.outcome import (
    Experts,
    best,
    expert_settings,
    grown,
    read_experts,
    references,
    spread,
)
from tongues.report.experts.routed import routed_texts
from tongues.report.experts.tables import (
    forgetting_table,
    language_table,
    routings_said,
    setting_table,
)
from tongues.report.experts.words import about, findings, forgotten_share
from tongues.report.folder import write_folder
from tongues.report.html import figure, footer, items, number_card, prose

__all__ = ["write_experts_report"]


def write_experts_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation of experts; returns its `index.html`.

    An earlier report at `folder` is replaced, any other filled folder refused.
    """
    title = f"Language experts: {folder.name.removesuffix('-experts')}"
    found = read_experts(evaluation)
    figures, said = expert_figures(found), findings(found)
    versions = {name: version(name) for name in ("tongues", "altair")}
    told = "".join(f"<h3>{escape(topic)}</h3>{items(lines)}" for topic, lines in said.items())
    body = (
        f'<header><h1>{escape(title)}</h1><p class="lead">{prose(about(found))}</p></header>'
        f'{_numbers(found)}<div class="found">{told}</div>'
        f"{_sections(found, figures)}{footer(versions)}"
    )
    numbers = {"title": title, "versions": versions, "findings": said, **evaluation.to_json()}
    drawn = list(figures.values())
    return write_folder(folder, title, body, drawn, numbers, lambda line: None)


def _numbers(found: Experts) -> str:
    """The few numbers to remember."""
    top = best(expert_settings(found))
    if top is None:
        return ""
    mean, name = top.mean, setting_name(top)
    cards = [
        number_card(perplexity(mean.perplexity), name, "perplexity of the best experts"),
    ]
    for other in reversed(references(found)):
        less = top.lower(other)
        lower = less.value >= 0
        size = less if lower else -less
        than = "the seed" if other == "seed" else "the dense model"
        what = f"nats per token {'lower' if lower else 'higher'} than {than}"
        cards.append(number_card(nats(size.value), between(size), what))
    if top.division in {cell.division for cell in found.scores.cells}:
        of_all, count = forgotten_share(found, top.division)
        what = "of the pairs of its experts and languages became worse than the seed"
        cards.append(number_card(of_all, count, what))
    return f'<div class="numbers">{"".join(cards)}</div>'


def _sections(found: Experts, figures: Mapping[str, Figure]) -> str:
    """Tables and figures in reading order."""
    about_languages = (
        "The loss, nats per token, of every division by its best routing in the mean; the lowest "
        "is bold. Then the best of everything measured, by its number of parts, and the best of "
        "experts against one model."
    )
    forgot = (
        "Pairs of expert and language, over all seeds of training, that became worse than the "
        "seed, and the mean increase among those. "
        + (
            "Last, how the rise on languages that an expert did not learn goes with their shares "
            "of the seed's training."
            if found.scores.base_shares and spread(found.scores.base_shares)
            else ""
        )
    )
    parts = [
        _section("Divisions and routings", routings_said(found), setting_table(found)),
        *_drawn(figures, "settings", "cost"),
        routed_texts(found),
    ]
    if grown(found):
        said = "Loss, nats per token, by routing, before and after the languages were added."
        parts.append(_section("Growth", said, added_table(found)))
        parts += _drawn(figures, "added")
    parts.append(_section("Languages", about_languages, language_table(found)))
    parts += _drawn(figures, "languages", "gains", "shares")
    if found.scores.cells:
        parts.append(_section("Forgetting", forgot, forgetting_table(found)))
        parts += _drawn(figures, "forgetting", "unlearned")
    return "".join(parts)


def _section(title: str, said: str, table: str) -> str:
    return f'<section><h2>{escape(title)}</h2><p class="quiet">{prose(said)}</p>{table}</section>'


def _drawn(figures: Mapping[str, Figure], *names: str) -> list[str]:
    return [figure(figures[name]) for name in names if name in figures]
