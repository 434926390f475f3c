"""The cards of what is made of experts: an exported ensemble, an expert, and one model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from safetensors import safe_open

from tongues import __version__
from tongues.core.beside import read_beside
from tongues.core.files import read_json
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
    quantized_base,
    without_paths,
)

_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM takes as `--max-lora-rank`
_PARTS: dict[str, str] = read_beside(__file__, "card.toml")


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
        partition = _PARTS["partition"].format(by=made["by"], notes=notes)
    if how := quantized_base(lineage.base, workspace):
        partition = f"{partition}{how} "
    links = [f"[{folder}]({folder})" for folder in folders]
    about = _PARTS["ensemble"].format(
        head=_head(lineage.languages, lineage.base, workspace, "tongues"),
        name=name,
        count=_count(lineage),
        together="" if alone else _PARTS["together"],
        base=base_label(lineage.base, workspace),
        partition=partition,
        version=__version__,
        table=expert_table(lineage.experts, folder=links),
        language=next(iter(lineage.languages), "LANGUAGE"),
        folder=folders[0],
    )
    routing = ""
    if not alone:
        how = _PARTS["router"].format(centres=len(router.centres), switch=router.switch)
        folder_of = dict(zip(lineage.names, folders, strict=True))
        best = sorted(lineage.languages.items())
        table = _table({"language": lang, "expert": folder_of[expert]} for lang, expert in best)
        routing = _PARTS["routing"].format(how=how, table=table)
    files = [directory / folder / "adapter/adapter_config.json" for folder in folders]
    read = [read_json(file) for file in files if file.is_file()]
    bases = {config["base_model_name_or_path"] for config in read}
    apart = all(low_rank(file.with_name("adapter_model.safetensors")) for file in files)
    if apart and len(bases) == 1 and not alone:  # not of added ones, on a donor's adapter
        most = max(config["r"] for config in read)
        routing += _PARTS["adapters"].format(
            base=base_label(lineage.base, workspace),
            rank=next((rank for rank in _RANKS if rank >= most), most),
            each=" ".join(f"{folder}={folder}/adapter" for folder in folders),
        )
    (directory / CARD).write_text(about + routing, encoding="utf-8")


def low_rank(adapter: Path) -> bool:
    """Whether there is an adapter, of low-rank updates alone: vLLM takes no whole embeddings."""
    if not adapter.is_file():
        return False
    with safe_open(adapter, "np") as tensors:
        return all(".lora_" in name for name in tensors.keys())  # noqa: SIM118


def write_expert_card(directory: Path, expert: Expert, name: str, workspace: Path) -> None:
    """Write README.md next to an expert of which nothing else is known."""
    head = _head(expert.languages, expert.parent, workspace)
    base = f" from `{base_label(expert.parent, workspace)}`" if expert.parent else ""
    about = _PARTS["expert"].format(ensemble=name, base=base, **expert_row(expert))
    text = f"{head}\n# {expert.name}\n\n{about} {_PARTS['unrecorded']}\n\n{usage()}"
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
    merged = _PARTS["merged"].format(
        head=_head(lineage.languages, lineage.base, workspace),
        name=name,
        count=_count(lineage),
        about=" ".join(filter(None, [*about, quantized_base(lineage.base, workspace)])),
        base=base_label(lineage.base, workspace),
        version=__version__,
        table=expert_table(lineage.experts, expert=lineage.names),
        usage=usage(),
    )
    sections = [merged]
    if losses:
        sections.append(_PARTS["losses"].format(losses=losses))
    elif not measured:
        sections.append(_PARTS["unmeasured"])
    if records:
        first, *others = [record.settings for record in records.values()]
        shared = {key: first[key] for key in first if all(first[key] == o.get(key) for o in others)}
        recipe = json.dumps(without_paths(shared), indent=1, ensure_ascii=False)
        sections.append(_PARTS["recipe"].format(recipe=recipe))
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
