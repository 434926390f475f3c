"""Tiny random models of well-known families, as folders a user could have."""

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

WIDTHS: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
GROUPED: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 8}
WINDOWS: dict[str, Any] = {
    "sliding_window": 16,
    "layer_types": ["sliding_attention", "full_attention"],
}
XGLM: dict[str, Any] = {
    "d_model": 32,
    "ffn_dim": 64,
    "num_layers": 2,
    "attention_heads": 4,
    "max_position_embeddings": 64,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", WIDTHS | GROUPED),
    "llama-tied": ("llama", WIDTHS | GROUPED | {"tie_word_embeddings": True}),
    "qwen2": ("qwen2", WIDTHS | {"num_key_value_heads": 2}),
    "qwen3": ("qwen3", WIDTHS | GROUPED | {"tie_word_embeddings": True}),
    "gemma2": ("gemma2", WIDTHS | GROUPED | WINDOWS),
    "gemma3": ("gemma3_text", WIDTHS | GROUPED | WINDOWS),
    "xglm": ("xglm", XGLM),
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
