"""The card that lies beside a model: what it is and how it was made."""

import json
from itertools import pairwise
from pathlib import Path

from tongues.pages import CARD, card_head
from tongues.quantities import show_count
from tongues.roles import list_languages
from tongues.runs import Run, read_run
from tongues.train.card_data import data_section

__all__ = ["add_sections", "base_of", "write_card"]


def write_card(directory: Path, record: Run, workspace: Path) -> None:
    """Write README.md into a model folder, in the form the Hugging Face hub reads.

    workspace: where the run was made; what of its text and parents lies there is told.
    """
    params = record.params
    shares = ", ".join(f"{share * 100:.4g}% {lang}" for lang, share in record.shares.items())
    start = f"the weights of `{record.base_model}`" if record.base_model else "random weights"
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    head = card_head("transformers", record.shares, base_of(record.base_model, workspace))
    card = f"""{head}
# {record.run}

A decoder of family `{record.family}` and shape {record.shape}: {params["total"]:,}
parameters, {params["non_embedding"]:,} of them outside the embeddings. Trained with tongues
{record.versions["tongues"]} from {start} on {show_count(record.tokens)} tokens ({shares}),
{record.flops:.3g} floating-point operations.

{_roles(record)}

## Recipe

By {versions}:

```json
{json.dumps(record.settings, indent=1, ensure_ascii=False)}
```

{data_section(record, workspace)}"""
    (directory / CARD).write_text(card, encoding="utf-8")


def _roles(record: Run) -> str:
    """What the run learned, what its base knew, and how much of that was replayed."""
    learned = f"- target languages: {list_languages(record.targets)}"
    if not record.base:
        return learned
    known = f"- base languages: {list_languages(record.base.languages)}"
    each = [f"{share * 100:.4g}% {lang}" for lang, share in record.replay.items()]
    replay = f"- replay of base languages: {', '.join(each) if each else 'none'}"
    return "\n".join((learned, known, replay))


def add_sections(directory: Path, *sections: str) -> None:
    """Put sections of Markdown, those that say something, at the end of a folder's card."""
    with (directory / CARD).open("a", encoding="utf-8") as file:
        file.writelines(f"\n{section}" for section in sections if section)


def base_of(model: str | None, workspace: Path) -> str | None:
    """The name on the hub of the model that a chain of runs began with, where that is known.

    Known are models in the hub's own cache, whose folders are named for them.
    """
    while model and (workspace / "runs" / model / "run.json").is_file():
        model = read_run(workspace / "runs" / model).base_model
    if model is None:
        return None
    folders = pairwise(Path(model).resolve().parts)
    cached = (folder for folder, below in folders if below == "snapshots")
    named = next((folder for folder in cached if folder.startswith("models--")), "")
    return named.removeprefix("models--").replace("--", "/") or None
