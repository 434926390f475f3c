"""Our shapes as Hugging Face models, and any causal model in and out of a folder."""

import os
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from tongues.errors import UserError
from tongues.models.shapes import Shape

__all__ = ["build_model", "load_model", "save_model"]

transformers_logging.disable_progress_bar()


def build_model(
    shape: Shape,
    vocabulary: int,
    context: int,
    *,
    tied_embeddings: bool = False,
    end_id: int = 0,
    seed: int,
) -> PreTrainedModel:
    """A Llama-2 style model of this shape with random weights from `seed`, in float32.

    end_id: the token that ends a document, and so begins the next.
    """
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.head_width,
        max_position_embeddings=context,
        rms_norm_eps=1e-5,
        tie_word_embeddings=tied_embeddings,
        bos_token_id=end_id,
        eos_token_id=end_id,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def save_model(model: PreTrainedModel, directory: Path) -> None:
    """Write config.json and model.safetensors."""
    model.save_pretrained(directory)


def load_model(directory: Path) -> PreTrainedModel:
    """A causal model from a Hugging Face folder, in float32; never runs code from it."""
    if not (directory / "config.json").is_file():
        raise UserError("holds no Hugging Face model (no config.json)", where=str(directory))
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        return AutoModelForCausalLM.from_pretrained(
            directory, dtype=torch.float32, use_safetensors=True, local_files_only=True
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"cannot be loaded as a causal model: {reason}", where=str(directory)
        ) from None
