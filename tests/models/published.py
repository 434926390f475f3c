"""Tiny random models in folders laid out as well-known models are published."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMultimodalLM

from tests.models.families import GROUPED, TINY
from tests.models.families import WIDTHS as PLAIN

WIDTHS: dict[str, Any] = PLAIN | GROUPED | {"attention_dropout": 0.1}
ENDS: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
GEMMA: dict[str, Any] = {"sliding_window": 16, "rope_theta": 1e6}
EXPERTS, DEEPSEEK, SCOUT = TINY["experts"], TINY["deepseek"], TINY["scout"]


def _old_names(name: str) -> str:
    """As the first release of each multimodal family names its weights, and the hub still does."""
    if name.startswith("model.language_model."):
        return name.replace("model.language_model.", "language_model.model.", 1)
    if name.startswith("lm_head."):
        return f"language_model.{name}"
    return name.removeprefix("model.")


def _same_name(name: str) -> str:
    return name


# Name → class, settings of the text part, of the vision part, and how stored weights are named.
Described = tuple[str, dict[str, Any], dict[str, Any] | None, Callable[[str], str]]
GEMMA_3 = WIDTHS | GEMMA | {"model_type": "gemma3_text"}
LLAMA_4 = WIDTHS | SCOUT | {"model_type": "llama4_text"}
MISTRAL = WIDTHS | {"model_type": "mistral"}
PUBLISHED: dict[str, Described] = {
    "gemma-3-1b": ("gemma3_text", WIDTHS | GEMMA | {"tie_word_embeddings": True}, None, _same_name),
    "gemma-3-4b": ("gemma3", GEMMA_3, TINY["siglip"], _old_names),
    "Llama-4-Scout": ("llama4", LLAMA_4, TINY["llama4-vision"], _same_name),
    "Mistral-Small-3.1": ("mistral3", MISTRAL, TINY["pixtral"], _old_names),
    "Qwen3-30B-A3B": ("qwen3_moe", WIDTHS | EXPERTS | {"num_experts": 4}, None, _same_name),
    "DeepSeek-V3": ("deepseek_v3", WIDTHS | DEEPSEEK, None, _same_name),
}


def publish(name: str, rows: int, folder: Path, tokenizer: Path | None = None) -> Path:
    """A random bfloat16 model with that many rows, in two files of weights with an index."""
    family, text, vision, rename = PUBLISHED[name]
    text = {"vocab_size": rows} | ENDS | text
    settings: dict[str, Any] = text
    auto: Any = AutoModelForCausalLM
    if vision:
        settings = {"text_config": text, "vision_config": vision}
        auto = AutoModelForMultimodalLM
    config = AutoConfig.for_model(family, **settings)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = auto.from_config(config)
        for parameter in model.parameters():  # buffers and norms too differ from their defaults
            parameter.data = (parameter + 0.02 * torch.randn_like(parameter)).bfloat16()
    model.save_pretrained(folder)
    weights = {rename(key): w for key, w in load_file(folder / "model.safetensors").items()}
    if family == "deepseek_v3":  # its layer for predicting two tokens, which transformers leaves
        weights["model.layers.61.eh_proj.weight"] = torch.randn(32, 64).bfloat16()
        gate = "model.layers.1.mlp.gate.e_score_correction_bias"
        weights[gate] = torch.linspace(-0.1, 0.1, 4)  # float32, as it is published
    _write_in_two(weights, folder)
    written = json.loads((folder / "config.json").read_text())
    written["torch_dtype"] = written.pop("dtype")  # as before transformers 5
    (folder / "config.json").write_text(json.dumps(written, indent=2))
    if vision:
        (folder / "preprocessor_config.json").write_text('{"image_size": 28}\n')
    (folder / "LICENSE").write_text("The terms.\n")
    if tokenizer:
        shutil.copyfile(tokenizer, folder / "tokenizer.json")
    return folder


def stored(folder: Path) -> dict[str, Tensor]:
    """All weights by the names that they are stored by."""
    files = sorted(folder.glob("*.safetensors"))
    return {name: weight for file in files for name, weight in load_file(file).items()}


def _write_in_two(weights: Mapping[str, Tensor], folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    halves = {
        "model-00001-of-00002.safetensors": names[: len(names) // 2],
        "model-00002-of-00002.safetensors": names[len(names) // 2 :],
    }
    for file, part in halves.items():
        save_file({key: weights[key].contiguous() for key in part}, folder / file, {"format": "pt"})
    size = sum(weight.nbytes for weight in weights.values())
    index = {
        "metadata": {"total_size": size},
        "weight_map": {key: file for file, part in halves.items() for key in part},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
