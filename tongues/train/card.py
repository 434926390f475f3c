"""The card that lies beside a model: what it is and how it was made."""

import json
from itertools import pairwise
from pathlib import Path

from tongues.pages import CARD, card_head
from tongues.quantities import show_count
from tongues.runs import Record, read_record
from tongues.train.card_data import data_section

__all__ = ["add_sections", "base_of", "write_card"]


def write_card(directory: Path, record: Record, workspace: Path) -> None:
    """Write README.md into a model folder, in the form the Hugging Face hub reads.

    workspace: where the run was made; what of its text and parents lies there is told.
    """
    params = record["params"]
    shares = ", ".join(f"{share * 100:.4g}% {lang}" for lang, share in record["shares"].items())
    start = f"the weights of `{record['parent']}`" if record["parent"] else "random weights"
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    head = card_head("transformers", record["shares"], base_of(record["parent"], workspace))
    card = f"""{head}
# {record["run"]}

A decoder of family `{record["family"]}` and shape {record["shape"]}: {params["total"]:,}
parameters, {params["non_embedding"]:,} of them outside the embeddings. Trained with tongues
{record["versions"]["tongues"]} from {start} on {show_count(record["tokens"])} tokens ({shares}),
{record["flops"]:.3g} floating-point operations.

## Recipe

By {versions}:

```json
{json.dumps(record["settings"], indent=1, ensure_ascii=False)}
```

{data_section(record, workspace)}"""
    (directory / CARD).write_text(card, encoding="utf-8")


def add_sections(directory: Path, *sections: str) -> None:
    """Put sections of Markdown, those that say something, at the end of a folder's card."""
    with (directory / CARD).open("a", encoding="utf-8") as file:
        file.writelines(f"\n{section}" for section in sections if section)


def base_of(parent: str | None, workspace: Path) -> str | None:
    """The name on the hub of the model that a chain of runs began with, where that is known.

    Known are models in the hub's own cache, whose folders are named for them.
    """
    while parent and (workspace / "runs" / parent / "run.json").is_file():
        parent = read_record(workspace / "runs" / parent)["parent"]
    if parent is None:
        return None
    folders = pairwise(Path(parent).resolve().parts)
    cached = (folder for folder, below in folders if below == "snapshots")
    named = next((folder for folder in cached if folder.startswith("models--")), "")
    return named.removeprefix("models--").replace("--", "/") or None
