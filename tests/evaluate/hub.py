"""Folders as the hub has them, with tokenizers that are not ours."""

import json
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from tests.models.families import tiny
from tongues.core.files import write_json


def hub_model(
    folder: Path, house: Path, settings: dict[str, object] | None, template: bool
) -> Path:
    """A folder whose tokenizer has `<s>` and `</s>` and may put the first before a text."""
    content = json.loads((house / "hub/tokenizer.json").read_text(encoding="utf-8"))
    content |= {"added_tokens": [], "post_processor": None}
    content["model"]["vocab"] = {
        {"<|end|>": "</s>"}.get(piece, piece): number
        for piece, number in content["model"]["vocab"].items()
    }
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_special_tokens(["</s>", "<s>"])
    number = tokenizer.token_to_id("<s>")
    if template:
        tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", number)]
        )
    place = folder / "tokenizer.json"
    folder.mkdir(parents=True)
    tokenizer.save(str(place))
    tiny("llama", 310).save_pretrained(folder)
    if settings is not None:
        write_json(folder / "tokenizer_config.json", {"eos_token": "</s>", **settings})
    return folder
