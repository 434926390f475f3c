"""A parent for any tokenizer: the same one without its last pieces."""

import json
from pathlib import Path

from tokenizers import Tokenizer

from tongues.text.tokens import load_tokenizer


def shortened(path: Path, by: int, place: Path) -> Tokenizer:
    """Write the tokenizer at `path` without its last `by` pieces to `place`, and load it."""
    content = json.loads(path.read_text(encoding="utf-8"))
    model = content["model"]
    kept = len(model["vocab"]) - by
    model["vocab"] = {piece: number for piece, number in model["vocab"].items() if number < kept}
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) in model["vocab"]]
    place.write_text(json.dumps(content), encoding="utf-8")
    return load_tokenizer(place)
