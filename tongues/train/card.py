"""The card that lies beside a model: what it is and how it was made."""

import json
from pathlib import Path

from tongues.quantities import show_count
from tongues.runs import Record

__all__ = ["add_section", "write_card"]

_CARD = "README.md"


def write_card(directory: Path, record: Record) -> None:
    """Write README.md into a model folder, in the form the Hugging Face hub reads."""
    params = record["params"]
    shares = ", ".join(f"{share * 100:.4g}% {lang}" for lang, share in record["shares"].items())
    start = f"the weights of `{record['parent']}`" if record["parent"] else "random weights"
    languages = "\n".join(f"- {lang}" for lang in record["shares"])
    card = f"""---
library_name: transformers
language:
{languages}
---
# {record["run"]}

A decoder of family `{record["family"]}` and shape {record["shape"]}: {params["total"]:,}
parameters, {params["non_embedding"]:,} of them outside the embeddings. Trained with tongues
{record["versions"]["tongues"]} from {start} on {show_count(record["tokens"])} tokens ({shares}),
{record["flops"]:.3g} floating-point operations.

```json
{json.dumps(record["settings"], indent=1, ensure_ascii=False)}
```
"""
    (directory / _CARD).write_text(card, encoding="utf-8")


def add_section(directory: Path, section: str) -> None:
    """Put a section of Markdown at the end of a model folder's card."""
    with (directory / _CARD).open("a", encoding="utf-8") as file:
        file.write(f"\n{section}")
