"""Tokenizers as others make them, small: what a recipe may name as its base."""

import json
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

__all__ = ["gpt", "llama", "parts_of", "rebuilt", "unigram"]


def gpt(texts: Iterable[str], size: int) -> Tokenizer:
    """As GPT-2's, Llama 3's and Qwen's: byte-level BPE, special tokens after the pieces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
    tokenizer.encode_special_tokens = True
    return tokenizer


def llama(texts: Iterable[str], size: int) -> Tokenizer:
    """As Llama 2's: BPE over characters, ▁ for a space, no words, unknown ones as bytes."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(vocab_size=size - 259, show_progress=False)
    trained.train_from_iterator(texts, trainer)
    model = json.loads(trained.to_str())["model"]
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces = [*first, *sorted(model["vocab"], key=model["vocab"].get)]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={piece: number for number, piece in enumerate(pieces)},
            merges=[tuple(merge) for merge in model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(first[:3])
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.encode_special_tokens = True
    return tokenizer


def unigram(texts: Iterable[str], size: int) -> Tokenizer:
    """As XGLM's: the likeliest pieces, ▁ for a space."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.encode_special_tokens = True
    return tokenizer


def parts_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """What its tokenizer.json says."""
    return json.loads(tokenizer.to_str())


def rebuilt(parts: dict[str, Any]) -> Tokenizer:
    """The tokenizer that a tokenizer.json describes."""
    tokenizer = Tokenizer.from_str(json.dumps(parts))
    tokenizer.encode_special_tokens = True
    return tokenizer
