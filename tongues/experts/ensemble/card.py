"""The cards of what is made of experts: an exported ensemble, an expert, and one model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tongues import __version__
from tongues.core.pages import CARD, Table, as_markdown
from tongues.experts.ensemble.lineage import Expert, Lineage, expert_row
from tongues.experts.ensemble.router import Router
from tongues.runs.record import Run
from tongues.train.card import data_section, usage
from tongues.train.metadata import (
    base_label,
    first_base,
    front_matter,
    hub_name,
    licence_of,
    without_paths,
)

_ENSEMBLE = """{head}
# {name}

{count}{together}. All of it started from the weights of `{base}`. {partition}Exported with tongues
{version}.

{table}

Each folder has a card of its own, with its recipe and data.

## Use

All together with `tongues`, in this folder, wherever it is:

```sh
tongues generate . "…" --experts    # each token in the colour of the active expert
tongues generate . "…" --language {language}
tongues serve .                     # OpenAI's API, and a page
tongues experts show .              # whether every byte is as it was made
```

The folder of one expert, such as `{folder}`, is a model of transformers as any other.
"""
_ROUTER = """The router follows {centres} languages or topics of a text from token to token (a
hidden Markov model; a change has probability {switch:.2g}), so it may switch within a text. By
default the expert of the most probable one alone writes (`--routing filter:1`). Where the language
is given:"""
_MERGED = """{head}
# {name}, as one model

{count} as one model. {about} All of it started from `{base}`. Exported with tongues {version}.

{table}

{usage}"""
_ROUTING = """
## Routing

{how}

{table}
"""
_TOGETHER = " of one vocabulary, used as one: every token weighs them by the text so far"
_PARTITION = "Their text was partitioned by {by}{notes}. "
_EXPERT = "An expert of `{ensemble}`, trained{base} on {tokens} tokens ({languages})."
_UNRECORDED = "How it was trained is not known here."
_LOSSES = """
## Held-out text

Bits per byte:

{losses}
"""
_RECIPE = """
## Recipe

What its experts share:

```json
{recipe}
```

## Data
"""
_UNMEASURED = """
**Nobody has measured this model.** What was measured of the experts, or of their ensemble, does
not hold for it: measure it before it is used (`tongues evaluate`).
"""


def expert_table(experts: Sequence[Expert], **columns: Sequence[str]) -> str:
    """A row per expert: what it learned, and from which model; columns: more, before these."""
    rows = [
        dict(zip(columns, values, strict=True))
        | expert_row(expert)
        | {"branched from": without_paths(expert.parent or "")}
        for expert, *values in zip(experts, *columns.values(), strict=True)
    ]
    return _table(rows)


def write_ensemble_card(
    directory: Path,
    name: str,
    lineage: Lineage,
    folders: Sequence[str],
    router: Router,
    workspace: Path,
) -> None:
    """Write README.md about an ensemble next to its experts.

    folders: of the experts, in it. workspace: where the runs before its base may be.
    """
    alone, made = len(lineage.experts) == 1, lineage.partition
    partition = ""
    if made.get("by") not in (None, "dense"):
        notes = f" ({'; '.join(made['notes'])})" if made.get("notes") else ""
        partition = _PARTITION.format(by=made["by"], notes=notes)
    links = [f"[{folder}]({folder})" for folder in folders]
    about = _ENSEMBLE.format(
        head=_head(lineage.languages, lineage.base, workspace, "tongues"),
        name=name,
        count=_count(lineage),
        together="" if alone else _TOGETHER,
        base=base_label(lineage.base, workspace),
        partition=partition,
        version=__version__,
        table=expert_table(lineage.experts, folder=links),
        language=next(iter(lineage.languages), "LANGUAGE"),
        folder=folders[0],
    )
    routing = ""
    if not alone:
        how = _ROUTER.format(centres=len(router.centres), switch=router.switch)
        folder_of = dict(zip(lineage.names, folders, strict=True))
        best = sorted(lineage.languages.items())
        table = _table({"language": lang, "expert": folder_of[expert]} for lang, expert in best)
        routing = _ROUTING.format(how=how, table=table)
    (directory / CARD).write_text(about + routing, encoding="utf-8")


def write_expert_card(directory: Path, expert: Expert, name: str, workspace: Path) -> None:
    """Write README.md next to an expert of which nothing else is known."""
    head = _head(expert.languages, expert.parent, workspace)
    base = f" from `{base_label(expert.parent, workspace)}`" if expert.parent else ""
    about = _EXPERT.format(ensemble=name, base=base, **expert_row(expert))
    text = f"{head}\n# {expert.name}\n\n{about} {_UNRECORDED}\n\n{usage()}"
    (directory / CARD).write_text(text, encoding="utf-8")


def write_merged_card(
    directory: Path,
    name: str,
    lineage: Lineage,
    about: Sequence[str],
    records: Mapping[str, Run],
    workspace: Path,
    losses: str,
    measured: bool,
) -> None:
    """Write README.md next to experts that became one model.

    about: sentences on how. records: of the experts that are runs, by name. losses: on held-out
    text, as Markdown. measured: whether an evaluation of the model itself follows.
    """
    merged = _MERGED.format(
        head=_head(lineage.languages, lineage.base, workspace),
        name=name,
        count=_count(lineage),
        about=" ".join(about),
        base=base_label(lineage.base, workspace),
        version=__version__,
        table=expert_table(lineage.experts, expert=lineage.names),
        usage=usage(),
    )
    sections = [merged]
    if losses:
        sections.append(_LOSSES.format(losses=losses))
    elif not measured:
        sections.append(_UNMEASURED)
    if records:
        first, *others = [record.settings for record in records.values()]
        shared = {key: first[key] for key in first if all(first[key] == o.get(key) for o in others)}
        recipe = json.dumps(without_paths(shared), indent=1, ensure_ascii=False)
        sections.append(_RECIPE.format(recipe=recipe))
    for expert, record in records.items():
        section = data_section(record, workspace, f"### What `{expert}` read")
        sections.append(f"\n{section.rstrip()}\n")
    (directory / CARD).write_text("".join(sections), encoding="utf-8")


def _head(
    languages: Iterable[str], base: str | None, workspace: Path, library: str = "transformers"
) -> str:
    licence = licence_of(first_base(base, workspace))
    return front_matter([*languages], hub_name(base, workspace), licence, library=library)


def _table(rows: Iterable[Mapping[str, str]]) -> str:
    rows = list(rows)
    return as_markdown([Table.of(rows)]) if rows else ""


def _count(lineage: Lineage) -> str:
    count = len(lineage.experts)
    return "One language expert" if count == 1 else f"{count} language experts"
