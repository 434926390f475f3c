"""The cards of what is made of experts: of an ensemble that is exported, and of their average."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tongues import __version__
from tongues.experts.ensemble.lineage import Expert, Lineage
from tongues.experts.ensemble.router import Router
from tongues.pages import CARD, Table, as_markdown, card_head
from tongues.quantities import show_count
from tongues.runs import Run
from tongues.train.card import base_of
from tongues.train.card_data import data_section

__all__ = ["write_average_card", "write_ensemble_card", "write_expert_card"]


def write_ensemble_card(
    directory: Path,
    name: str,
    lineage: Lineage,
    folders: Sequence[str],
    router: Router | None,
    workspace: Path,
) -> None:
    """Write README.md about an ensemble beside its experts.

    folders: of the experts, in it. workspace: what of its seed lies there is told.
    """
    base = base_of(lineage.seed, workspace)
    lines = [
        card_head("tongues", lineage.languages, base),
        f"# {name}",
        "",
        f"{_count(lineage)}{_together(lineage)}. All of it began with the weights of "
        f"`{lineage.seed}`. {_division(lineage)}Exported with tongues {__version__}.",
        "",
        as_markdown([Table.of([_row(*of) for of in zip(folders, lineage.experts, strict=True)])]),
        "",
        "Each folder has a card of its own, with its recipe and data.",
        "",
        *_use(folders[0], lineage),
        *_routing(lineage, dict(zip(lineage.names, folders, strict=True)), router),
        *_rounds(lineage),
    ]
    _write(directory, lines)


def write_expert_card(directory: Path, expert: Expert, name: str, workspace: Path) -> None:
    """Write README.md beside an expert of which nothing else is known."""
    base = base_of(expert.parent, workspace)
    lines = [
        card_head("transformers", expert.languages, base),
        f"# {expert.name}",
        "",
        f"An expert of `{name}`, {_learned(expert)}. How it was trained is not known here.",
    ]
    _write(directory, lines)


def write_average_card(
    directory: Path,
    name: str,
    lineage: Lineage,
    shares: Sequence[float],
    records: Mapping[str, Run],
    workspace: Path,
    *,
    measured: bool,
) -> None:
    """Write README.md beside an average of experts.

    shares: of each expert in it. records: of the experts that are runs, by name. measured:
    whether an evaluation of the average itself is told below.
    """
    base = base_of(lineage.seed, workspace)
    rows = [
        {"expert": expert.name, "counts": f"{share:.1%}", **_about(expert)}
        for expert, share in zip(lineage.experts, shares, strict=True)
    ]
    lines = [
        card_head("transformers", lineage.languages, base),
        f"# {name}, averaged",
        "",
        f"The mean of the weights of {_count(lineage)}, as one model that costs what one of them "
        f"costs. All of it began with `{lineage.seed}`. Averaged with tongues {__version__}.",
        "",
        as_markdown([Table.of(rows)]),
        "",
    ]
    if not measured:
        lines += [
            "**Nobody has measured this average.** What was found of the experts, or of the "
            "ensemble that they are, does not hold for it: measure it before it is used "
            "(`tongues evaluate`).",
            "",
        ]
    if records:
        lines += [
            *_shared_recipe([record.settings for record in records.values()]),
            "## Data",
            "",
        ]
    for expert, record in records.items():
        lines += [data_section(record, workspace, f"### What `{expert}` read")]
    _write(directory, lines)


def _write(directory: Path, lines: Sequence[str]) -> None:
    text = "\n".join(lines).rstrip("\n") + "\n"
    (directory / CARD).write_text(text, encoding="utf-8")


def _shared_recipe(settings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What all experts were trained with."""
    first, *others = settings
    shared = {key: first[key] for key in first if all(first[key] == o.get(key) for o in others)}
    yield from ("## Recipe", "", "Of its experts, as far as it is one:", "", "```json")
    yield json.dumps(shared, indent=1, ensure_ascii=False)
    yield from ("```", "")


def _count(lineage: Lineage) -> str:
    count = len(lineage.experts)
    return "One language expert" if count == 1 else f"{count} language experts"


def _together(lineage: Lineage) -> str:
    if len(lineage.experts) == 1:
        return ""
    return " of one vocabulary, used as one: for every token they are weighed by the text so far"


def _row(folder: str, expert: Expert) -> dict[str, str]:
    return {"folder": f"[{folder}]({folder})", **_about(expert)}


def _about(expert: Expert) -> dict[str, str]:
    return {
        "languages": ", ".join(
            lang if share > 0.995 else f"{lang} {share:.0%}"
            for lang, share in expert.languages.items()
        ),
        "tokens": show_count(expert.tokens),
        "branched from": f"`{expert.parent}`" if expert.parent else "",
    }


def _learned(expert: Expert) -> str:
    about = _about(expert)
    parent = f" from {about['branched from']}" if expert.parent else ""
    return f"trained{parent} on {about['tokens']} tokens ({about['languages']})"


def _division(lineage: Lineage) -> str:
    """How the text was divided; nothing where that was not kept."""
    way, notes = lineage.partition.get("by"), lineage.partition.get("notes") or ()
    if not way or way == "dense":
        return ""
    told = f" ({'; '.join(notes)})" if notes else ""
    return f"Their text was divided by {way}{told}. "


def _use(folder: str, lineage: Lineage) -> Iterator[str]:
    language = next(iter(lineage.languages), "")
    yield from ("## Use", "", "All together with `tongues`, in this folder, wherever it lies:", "")
    yield "```sh"
    yield 'tongues generate . "…" --experts    # each piece in the colour of the expert that spoke'
    if language:
        yield f'tongues generate . "…" --language {language}'
    yield "tongues serve .                     # OpenAI's API, and a page"
    yield "tongues experts show .              # whether every byte is as it was made"
    yield from ("```", "", "One expert by itself is a model as any other:", "")
    yield "```python"
    yield "from transformers import AutoModelForCausalLM, AutoTokenizer"
    yield ""
    yield f'model = AutoModelForCausalLM.from_pretrained("{folder}")'
    yield f'tokenizer = AutoTokenizer.from_pretrained("{folder}")'
    yield from ("```", "")


def _routing(lineage: Lineage, folders: Mapping[str, str], router: Router | None) -> Iterator[str]:
    if len(lineage.experts) == 1:
        return
    yield from ("## Routing", "")
    if router:
        yield (
            f"The router knows {len(router.centres)} centres of text; the weight of one goes with "
            f"exp(−distance{'²' if router.power == 2 else '⁴'} / {router.temperature:.3g}) of the "
            "text so far from it, and that of an expert is its centres' sum. By default the "
            "heaviest expert alone writes (`--routing tfidf:1`). Where the language is said:"
        )
    else:
        yield "There is no router: the language must be said."
    languages = sorted(lineage.languages.items())
    rows = [{"language": lang, "expert": folders[name]} for lang, name in languages]
    yield from ("", as_markdown([Table.of(rows)]), "") if rows else ("",)


def _rounds(lineage: Lineage) -> Iterator[str]:
    """What came when, of an ensemble that grew."""
    if len({made["made"] for made in lineage.rounds}) < 2:
        return
    yield from ("## How it grew", "")
    names = {"made": "ensemble", "expert": "expert", "from": "branched from"}
    rows = [{names[key]: f"`{made[key]}`" for key in names} for made in lineage.rounds]
    yield from (as_markdown([Table.of(rows)]), "")
