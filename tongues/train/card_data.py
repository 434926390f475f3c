"""What a model's card says of the text that it was trained on, as far as that is still known."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tongues.errors import UserError
from tongues.files import read_json
from tongues.pages import Table, as_markdown
from tongues.quantities import show_bytes, show_count
from tongues.runs import Run, read_run
from tongues.tokens.store import Counts, Manifest, read_manifest

__all__ = ["DATA", "data_section", "find_tokens"]

DATA = "## Data"
_PATHS = 5  # of a language's files, named
_INSIDE = 0.01  # share of another language in a language's text that is worth a word


def data_section(record: Run, workspace: Path, title: str = DATA) -> str:
    """Languages, amounts, where the text came from and what was dropped, as Markdown."""
    place = find_tokens(record, workspace)
    manifest = read_manifest(place) if place else None
    counts = _counts(record, place, manifest) if place and manifest else {}
    lines = [
        title,
        "",
        as_markdown([Table.of([_row(record, lang, counts) for lang in record.shares])]),
        "",
    ]
    if place and manifest:
        about = _corpus(workspace / "corpus" / place.name / "corpus.json", manifest)
        for lang in record.shares:
            told = " ".join(_told(lang, record, manifest, about))
            lines.append(f"- {lang}: {told}")
        lines += ["", _tokenizer(manifest)]
        if not about:
            lines.append("What was dropped of the text as it was read is no longer known.")
    else:
        lines += [
            "The tokens that it read are gone: how many documents there were, where the text came "
            "from and what of it was dropped is no longer known."
        ]
    lines += _before(record, workspace)
    return "\n".join(lines) + "\n"


def find_tokens(record: Run, workspace: Path) -> Path | None:
    """The folder of the tokens that a run read; None where they are gone."""
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        with suppress(UserError):  # others' damage is not this run's business
            if read_manifest(place.parent)["fingerprint"] == record.tokens_fingerprint:
                return place.parent
    return None


def _counts(record: Run, place: Path, manifest: Manifest) -> Mapping[str, Counts]:
    """What of each language there is to train on, in the run's part of the text if it had one."""
    counts = {lang: splits["train"] for lang, splits in manifest["languages"].items()}
    part = record.settings.get("part")
    if not part:
        return counts
    folder, number = (place / "parts" / part).parent, part.rpartition("/")[2]
    try:
        return counts | read_json(folder / "counts.json")[number]
    except (OSError, ValueError, KeyError):  # the division is gone
        return {}


def _row(record: Run, lang: str, counts: Mapping[str, Counts]) -> dict[str, str]:
    share = record.shares[lang]
    row = {
        "language": lang,
        "of its training": f"{share:.1%}",
        "tokens read": show_count(share * record.tokens),
        "times over": f"{record.epochs.get(lang, 0):.3g}",
    }
    if not counts:
        return row
    there = counts[lang]
    return row | {
        "documents": f"{there['documents']:,}",
        "tokens of them": show_count(there["tokens"]),
        "bytes": show_bytes(there["bytes"]),
    }


def _told(lang: str, record: Run, manifest: Manifest, about: Mapping[str, Any]) -> Iterator[str]:
    """Where the text of a language came from, what was dropped, what was held out."""
    yield f"{' and '.join(_sources(lang, manifest['made_from']['text']))}."
    if lang in about:
        yield _dropped(about[lang])
    held = manifest["languages"][lang]["valid"]
    yield f"Held out: {held['documents']:,} documents, {show_count(held['tokens'])} tokens."
    foreign = record.foreign.get(lang) or {}
    inside = [f"{share:.0%} {other}" for other, share in foreign.items() if share >= _INSIDE]
    if inside:
        yield f"Found inside: {', '.join(inside)}."


def _sources(lang: str, text: Mapping[str, Any]) -> Iterator[str]:
    """As the recipe named them."""
    made = (text["made"] or {}).get("languages", {}).get(lang)
    if made:
        mother = made["mother"]
        drift = f", {made['distance']:g} away from {mother}" if mother else ""
        yield f"a made-up language{drift} (seed {text['made']['seed']})"
    if lang in text["files"]:
        paths = text["files"][lang]["paths"]
        more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
        yield f"files {', '.join(f'`{path}`' for path in paths[:_PATHS])}{more}"
    if lang in text["hub"]:
        hub = text["hub"][lang]
        subset = f", subset `{hub['subset']}`" if hub["subset"] else ""
        yield f"data set `{hub['dataset']}`{subset}, split `{hub['split']}`"


def _dropped(about: Mapping[str, Any]) -> str:
    reasons = [f"{why} {amount['documents']:,}" for why, amount in about["dropped"].items()]
    faults = sum(sum(piece["faults"].values()) for piece in about["pieces"])
    said = f"Of {about['read']['documents']:,} documents {about['kept']['documents']:,} were kept"
    said += f"; dropped: {', '.join(reasons)}" if reasons else ""
    return said + (f"; could not be read: {faults:,} places." if faults else ".")


def _corpus(file: Path, manifest: Manifest) -> Mapping[str, Any]:
    """What was decided about each language's documents; nothing if it is not of these tokens."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        about = read_json(file)["languages"]
        held = {
            lang: sum(counts["documents"] for counts in splits.values())
            for lang, splits in manifest["languages"].items()
        }
        if all(about[lang]["kept"]["documents"] >= count for lang, count in held.items()):
            return about
    return {}


def _tokenizer(manifest: Manifest) -> str:
    settings, size = manifest["made_from"]["tokens"], f"{manifest['vocabulary_size']:,}"
    if settings["base"] is None:
        return f"Its tokenizer of {size} pieces was trained on this text."
    extended = ", extended for this text" if settings["extend"] else ""
    return f"Its tokenizer of {size} pieces was taken from `{settings['base']}`{extended}."


def _before(record: Run, workspace: Path) -> Iterator[str]:
    """What the runs read that it was continued from."""
    parent = record.base_model
    while parent:
        if not (workspace / "runs" / parent / "run.json").is_file():
            yield f"What `{parent}`, which it began with, was trained on is not known here."
            return
        before = read_run(workspace / "runs" / parent)
        shares = ", ".join(f"{share:.1%} {lang}" for lang, share in before.shares.items())
        yield f"Before, `{parent}` read {show_count(before.tokens)} tokens ({shares})."
        parent = before.base_model
