"""The model card: what a model is, how it was made, and on what text, as far as that is known."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, code_text
from tongues.core.files import read_json
from tongues.core.pages import CARD, Items, Table, as_markdown
from tongues.core.pages.blocks import Block, Paragraph
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.runs.record import Run, read_run
from tongues.text.tokens.store import Counts, Manifest, corpus_of, read_manifest
from tongues.train.metadata import (
    ScoredText,
    base_label,
    first_base,
    front_matter,
    hub_name,
    licence_of,
    model_index,
    quantized_base,
    without_paths,
)

_PARTS: dict[str, str] = read_beside(__file__, "card.toml")
DATA = "## Data"
_PATHS = 5  # of a language's files, named
_INSIDE = 0.01  # share of another language in a language's text that is worth a word


def write_card(directory: Path, record: Run, workspace: Path) -> None:
    """Write README.md into a model folder, in the form the Hugging Face hub reads.

    workspace: where the run was made; the card uses what of its text and bases is there.
    """
    params, base = record.params, record.base
    shares = ", ".join(f"{share * 100:.4g}% {lang}" for lang, share in record.shares.items())
    start = f"the weights of `{base_label(base.model, workspace)}`" if base else "random weights"
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    made, read = f"tongues {record.versions['tongues']} from {start}", show_count(record.tokens)
    how = f"Trained with {made} on {read} tokens ({shares}), {record.flops:.3g} FLOPs."
    if not record.tokens:
        how = f"Made by {made}: a base for a run on {shares}, not trained yet."
    how += f"\n{quantized_base(record.base_model, workspace)}".rstrip()
    roles = [f"- target languages: {list_languages(record.targets)}"]
    if base:
        replay = ", ".join(f"{share * 100:.4g}% {lang}" for lang, share in record.replay.items())
        roles.append(f"- base languages: {list_languages(base.languages)}")
        roles.append(f"- replay of base languages: {replay or 'none'}")
    licence = licence_of(first_base(record.base_model, workspace))
    base_model, datasets = hub_name(record.base_model, workspace), _datasets(record, workspace)
    card = _PARTS["card"].format(
        head=front_matter(record.languages, base_model, licence, datasets),
        run=record.run,
        family=record.family,
        shape=record.shape,
        total=params["total"],
        outside=params["non_embedding"],
        how=how,
        roles="\n".join(roles),
        usage=usage(),
        licence=licence.sentence,
        versions=versions,
        settings=json.dumps(without_paths(record.settings), indent=1, ensure_ascii=False),
        data=data_section(record, workspace),
    )
    (directory / CARD).write_text(card, encoding="utf-8")


def usage() -> str:
    """How a folder is used, as Markdown."""
    return _PARTS["usage"]


def add_sections(directory: Path, *sections: str, scores: Sequence[ScoredText] = ()) -> None:
    """Put sections of Markdown at the end of a folder's card, and scores into its head."""
    file = directory / CARD
    card = file.read_text(encoding="utf-8") + "".join(f"\n{each}" for each in sections if each)
    if scores and card.startswith("---\n"):
        head, _, rest = card.removeprefix("---\n").partition("\n---\n")
        name = re.search(r"^# (.*)", rest, re.MULTILINE)
        index = model_index(name[1] if name else directory.name, scores)
        card = f"---\n{head}\n{index}\n---\n{rest}"
    file.write_text(card, encoding="utf-8")


def find_tokens(record: Run, workspace: Path) -> Path | None:
    """The folder of the tokens that a run read; None where they are missing."""
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        with suppress(UserError):  # others' damage is not this run's business
            if read_manifest(place.parent)["fingerprint"] == record.tokens_fingerprint:
                return place.parent
    return None


def data_section(record: Run, workspace: Path, title: str = DATA) -> str:
    """`data_blocks` as Markdown."""
    return f"{title}\n\n{as_markdown(data_blocks(record, workspace))}\n"


def data_blocks(record: Run, workspace: Path) -> list[Block]:
    """Languages, amounts, where the text came from and what was dropped."""
    place = find_tokens(record, workspace)
    manifest = read_manifest(place) if place else None
    counts = _counts(record, place, manifest) if place and manifest else {}
    blocks: list[Block] = [Table.of([_row(record, lang, counts) for lang in record.shares])]
    lines: list[str] = []
    if place and manifest:
        corpus = _corpus(corpus_of(place) / "corpus.json", manifest)
        texts = {lang: _text_of(lang, record, manifest, corpus) for lang in record.shares}
        blocks.append(
            Items([f"{lang}: {' '.join(sentences)}" for lang, sentences in texts.items()])
        )
        settings, size = manifest["inputs"]["tokens"], f"{manifest['vocabulary_size']:,}"
        origin = "trained on this text"
        if settings["base"] is not None:
            extended = ", extended for this text" if settings["extend"] else ""
            origin = f"taken from `{base_label(settings['base'], workspace)}`{extended}"
        lines.append(f"Its tokenizer of {size} tokens was {origin}.")
        if not corpus:
            lines.append("What was dropped of the text as it was read is no longer known.")
    else:
        lines.append(
            "The tokens that it read are gone: how many documents there were, where the text came "
            "from and what of it was dropped is no longer known."
        )
    parent = record.base_model
    while parent:
        if not (workspace / "runs" / parent / "run.json").is_file():
            label = base_label(parent, workspace)
            lines.append(f"What its base `{label}` was trained on is not known here.")
            break
        before = read_run(workspace / "runs" / parent)
        shares = ", ".join(f"{share:.1%} {lang}" for lang, share in before.shares.items())
        lines.append(f"Before, `{parent}` read {show_count(before.tokens)} tokens ({shares}).")
        parent = before.base_model
    return [*blocks, *map(Paragraph, lines)]


def _datasets(record: Run, workspace: Path) -> list[str]:
    """The data sets of the hub that the run's text came from."""
    place = find_tokens(record, workspace)
    hub = read_manifest(place)["inputs"]["text"]["hub"] if place else {}
    names = dict.fromkeys(each["dataset"] for lang, each in hub.items() if lang in record.shares)
    return [name for name in names if without_paths(name) == name]


def _counts(record: Run, place: Path, manifest: Manifest) -> Mapping[str, Counts]:
    """The training text by language, in the run's cluster if it had one."""
    counts = {lang: splits["train"] for lang, splits in manifest["languages"].items()}
    cluster = record.settings.get("cluster")
    if not cluster:
        return counts
    folder, number = (place / "clusters" / cluster).parent, cluster.rpartition("/")[2]
    try:
        return counts | read_json(folder / "counts.json")[number]
    except (OSError, ValueError, KeyError):  # the partition is gone
        return {}


def _row(record: Run, lang: str, counts: Mapping[str, Counts]) -> dict[str, str]:
    share = record.shares[lang]
    row = {
        "language": lang,
        "of its training": f"{share:.1%}",
        "tokens read": show_count(share * record.tokens),
        "epochs": f"{record.epochs.get(lang, 0):.3g}",
    }
    if counts:
        row["documents"] = f"{counts[lang]['documents']:,}"
        row["tokens of them"] = show_count(counts[lang]["tokens"])
        row["bytes"] = show_bytes(counts[lang]["bytes"])
    return row


def _text_of(
    lang: str, record: Run, manifest: Manifest, corpus: Mapping[str, Any]
) -> Iterator[str]:
    """Where the text of a language came from, what was dropped, what was held out."""
    yield f"{' and '.join(_sources(lang, manifest['inputs']['text']))}."
    if lang in corpus:
        counts = corpus[lang]
        reasons = [f"{why} {amount['documents']:,}" for why, amount in counts["dropped"].items()]
        faults = sum(sum(source["faults"].values()) for source in counts["sources"])
        read, kept = counts["read"]["documents"], counts["kept"]["documents"]
        dropped = f"; dropped: {', '.join(reasons)}" if reasons else ""
        unread = f"; could not be read: {faults:,} places" if faults else ""
        yield f"Of {read:,} documents {kept:,} were kept{dropped}{unread}."
    held = manifest["languages"][lang]["valid"]
    yield f"Held out: {held['documents']:,} documents, {show_count(held['tokens'])} tokens."
    foreign = record.foreign.get(lang) or {}
    inside = [f"{share:.0%} {other}" for other, share in foreign.items() if share >= _INSIDE]
    if inside:
        yield f"Also contains: {', '.join(inside)}."


def _sources(lang: str, text: Mapping[str, Any]) -> Iterator[str]:
    made = (text["synthetic"] or {}).get("languages", {}).get(lang)
    if made:
        parent = made["parent"]
        drift = f", {made['divergence']:g} away from {parent}" if parent else ""
        yield f"a synthetic language{drift} (seed {text['synthetic']['seed']})"
    if lang in text["files"]:
        paths = text["files"][lang]["paths"]
        more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
        names = ", ".join(f"`{code_text(Path(path).name)}`" for path in paths[:_PATHS])
        yield f"files {names}{more}"
    if lang in text["hub"]:
        hub = text["hub"][lang]
        subset = f", subset `{hub['subset']}`" if hub["subset"] else ""
        yield f"data set `{without_paths(hub['dataset'])}`{subset}, split `{hub['split']}`"


def _corpus(file: Path, manifest: Manifest) -> Mapping[str, Any]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        corpus = read_json(file)["languages"]
        for lang, splits in manifest["languages"].items():
            count = sum(counts["documents"] for counts in splits.values())
            if corpus[lang]["kept"]["documents"] < count:
                return {}
        return corpus
    return {}
