"""The catalogue of bases against the hub: what differs, and what the table does not know yet.

    python benchmarks/bases.py [NAME …]

Reads config.json, the card and the shapes of the weights of every base, or of those whose name has
one of the words; no weights. Nothing is written: change `tongues/plan/bases.csv` and its date by
hand. Tokens, languages and the tokenizer's family are not on the hub in a form that can be read.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

from tongues.core.errors import UserError
from tongues.core.hub import fetch, hub_model, remote_shapes, why_silent
from tongues.core.pages import text_table
from tongues.models.folders import read_config
from tongues.plan.bases import BaseCheckpoint, known_bases

OTHER = ("vision", "visual", "audio", "projector", "mtp", "embed_vision")  # not of the text part
KEYS = {
    "vocabulary": "vocab_size",
    "context": "max_position_embeddings",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
}


def facts(base: BaseCheckpoint) -> dict[str, Any]:
    """What the hub says of a base."""
    folder = fetch(base.name, weights=False, where=base.name)
    model, config = hub_model(base.name), read_config(folder)
    text = config.get("text_config", config)
    found = {name: text.get(key) for name, key in KEYS.items()}
    found["tied"] = config.get("tie_word_embeddings", text.get("tie_word_embeddings"))
    found["params"] = sum(
        math.prod(shape)
        for name, shape in remote_shapes(folder).items()
        if not any(part in name for part in OTHER)
    )
    if model:
        found |= {"licence": model.licence, "gated": model.gated}
    return {name: value for name, value in found.items() if value is not None}


def differences(base: BaseCheckpoint) -> Iterator[dict[str, str]]:
    """Rows of the table: a base, what differs, what the catalogue and the hub say."""
    try:
        found = facts(base)
    except UserError as error:
        if error.code != "gated" or not base.gated:
            yield {"base": base.name, "what": error.code or "error", "hub": error.what}
        return
    for name, value in found.items():
        if (known := getattr(base, name)) != value:
            yield {"base": base.name, "what": name, "catalogue": f"{known}", "hub": f"{value}"}


def main(words: list[str]) -> None:
    """Compare, and print the table."""
    if silent := why_silent():
        sys.exit(f"the hub cannot be reached: {silent}\n  run it where huggingface.co answers")
    bases = [
        base
        for base in known_bases().values()
        if not words or any(word.lower() in base.name.lower() for word in words)
    ]
    rows = [row for base in bases for row in differences(base)]
    print(text_table(rows) if rows else f"{len(bases)} bases, and no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
