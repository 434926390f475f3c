"""A base model with another tokenizer, or with fewer tokens, as a Hugging Face folder."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from tongues.core.files import fingerprint, whole_directory
from tongues.models.anatomy import embedding_matrices
from tongues.models.embeddings import mean_rows
from tongues.models.huggingface import load_model, save_model
from tongues.models.token_map import TokenMap, map_tokens, resize_vocabulary
from tongues.text.tokens import Tokens, load_tokenizer, tokenizer_files
from tongues.text.tokens.frame import prepended_token
from tongues.text.tokens.spelling import token_bytes
from tongues.text.tokens.store import read_manifest
from tongues.train.base import base_fingerprint, model_folder

_SCORED = 8192  # tokens of each language, before and after; chosen: seconds on a processor
_CONTEXT = 512  # tokens of a document that are scored at most; chosen: one pass each
_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")

Say = Callable[[str], None]


def transplanted(base: Path, tokens: Tokens, workspace: Path, tell: Say) -> Path:
    """The base with the tokenizer of these tokens, where they trim or replace another that it has.

    Shared tokens keep their embeddings; others get the mean of the tokens that spell them. The
    folder is made once, in `workspace/bases`, with the loss on held-out text before and after.
    """
    settings = read_manifest(tokens.path)["inputs"]["tokens"]
    folder = model_folder(base)
    file = folder / "tokenizer.json"
    there = file.is_file() and file.read_bytes() == tokens.tokenizer_path.read_bytes()
    if there or not (settings.get("trim") or settings.get("replace")):
        return base
    both = fingerprint([base_fingerprint(base), tokens.fingerprint])
    place = workspace / "bases" / f"{base.name}-{both[:12]}"
    if (place / "config.json").is_file():
        return place
    own = load_tokenizer(tokens.tokenizer_path)
    theirs, model = load_tokenizer(folder), load_model(folder)
    token_map = map_tokens(theirs, own)
    texts = {lang: held_out_texts(tokens, own, lang) for lang in tokens.languages}
    before = {lang: _bits_per_byte(model, theirs, text) for lang, text in texts.items()}
    known = resize_vocabulary(model, token_map)
    if len(token_map.missing):
        rows = mean_rows(token_map, known)
        with torch.no_grad():
            for matrix, content in zip(embedding_matrices(model), rows, strict=True):
                matrix[token_map.missing] = content
    _name_special(model, token_map)
    shared = int((token_map.shared >= 0).sum())
    tell(
        f"{base.name}: {token_map.base_size:,} tokens become {token_map.size:,}, of which "
        f"{shared:,} keep their embeddings; held-out bits per byte before and after:"
    )
    for lang, text in texts.items():
        tell(f"  {lang}: {before[lang]:.3f} → {_bits_per_byte(model, own, text):.3f}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(place) as aside:
        save_model(model, aside)
        for file in tokenizer_files(tokens.path):
            if file.name != "generation_config.json":
                (aside / file.name).write_bytes(file.read_bytes())
    return place


def held_out_texts(tokens: Tokens, tokenizer: Tokenizer, lang: str) -> list[str]:
    """The held-out documents of a language."""
    shard = tokens.shard(lang, "valid")
    bounds = shard.bounds.tolist()
    ids = [shard.tokens[start:end].tolist() for start, end in pairwise(bounds)]
    return tokenizer.decode_batch(ids, skip_special_tokens=True)


@torch.no_grad()
def _bits_per_byte(model: PreTrainedModel, tokenizer: Tokenizer, texts: list[str]) -> float:
    """The loss on the beginnings of texts, the first token of each left out."""
    model.eval()
    lengths, nats, size, scored = token_bytes(tokenizer), 0.0, 0, 0
    most = min(_CONTEXT, getattr(model.config, "max_position_embeddings", None) or _CONTEXT)
    start = prepended_token(tokenizer)
    before = [] if start is None else [start]
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids[: most - len(before)]
        if len(ids) > 1 and scored < _SCORED:
            tokens = torch.tensor([*before, *ids])
            logits = model(input_ids=tokens[None, :-1]).logits[0, len(before) :].float()
            nats += float(cross_entropy(logits, tokens[len(before) + 1 :], reduction="sum"))
            size, scored = size + int(lengths[ids[1:]].sum()), scored + len(ids)
    return nats / math.log(2) / max(size, 1)


def _name_special(model: PreTrainedModel, tokens: TokenMap) -> None:
    """Give the special tokens that the configuration names their new ids."""
    number = {int(old): new for new, old in enumerate(tokens.shared.tolist()) if old >= 0}
    for config in (model.config, model.generation_config):
        for key in _SPECIAL:
            old = getattr(config, key, None)
            if isinstance(old, list):
                setattr(config, key, [number[each] for each in old if each in number])
            elif old is not None:
                setattr(config, key, number.get(old))
