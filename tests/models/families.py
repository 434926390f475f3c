"""Tiny random models of well-known families, as folders a user could have."""

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.golden import inputs

TINY: dict[str, dict[str, Any]] = inputs("tiny-models")
WIDTHS, GROUPED, WINDOWS = TINY["widths"], TINY["grouped"], TINY["windows"]
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", WIDTHS | GROUPED),
    "llama-tied": ("llama", WIDTHS | GROUPED | {"tie_word_embeddings": True}),
    "qwen2": ("qwen2", WIDTHS | {"num_key_value_heads": 2}),
    "qwen3": ("qwen3", WIDTHS | GROUPED | {"tie_word_embeddings": True}),
    "gemma2": ("gemma2", WIDTHS | GROUPED | WINDOWS),
    "gemma3": ("gemma3_text", WIDTHS | GROUPED | WINDOWS),
    "xglm": ("xglm", TINY["xglm"]),
    "gpt-neox": ("gpt_neox", WIDTHS),
    "gpt2": ("gpt2", WIDTHS),
    "phi": ("phi", WIDTHS),
}


def tiny(name: str, rows: int, **settings: Any) -> PreTrainedModel:
    """A random model of a family with `rows` rows of embedding."""
    family, widths = FAMILIES[name]
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    config = AutoConfig.for_model(family, **{"vocab_size": rows} | widths | ends | settings)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return AutoModelForCausalLM.from_config(config).eval()


def save_tiny(model: PreTrainedModel, folder: Path, tokenizer: Path) -> Path:
    """Write a model and a tokenizer.json as the hub has them."""
    model.save_pretrained(folder)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    return folder
