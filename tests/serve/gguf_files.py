"""A Llama of a Hugging Face folder as GGUF, written tensor by tensor."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(folder: Path, file: Path, template: str | None = None) -> Path:
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    heads = config["num_attention_heads"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    if width := config.get("head_dim"):
        writer.add_key_length(width)
        writer.add_value_length(width)
        writer.add_rope_dimension_count(width)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    plain = json.loads((folder / "tokenizer.json").read_text())
    ids = plain["model"]["vocab"] | {one["content"]: one["id"] for one in plain["added_tokens"]}
    special = {one["content"] for one in plain["added_tokens"]}
    names = sorted(ids, key=ids.__getitem__)
    kinds = [gguf.TokenType.CONTROL if name in special else gguf.TokenType.NORMAL for name in names]
    gap = config["vocab_size"] - len(names)  # rows without a token, as converters name them
    names += [f"[PAD{number}]" for number in range(gap)]
    kinds += [gguf.TokenType.UNUSED] * gap
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in plain["model"]["merges"]])
    writer.add_eos_token_id(ids["<|end|>"])
    writer.add_bos_token_id(ids["<|end|>"])
    writer.add_add_bos_token(True)
    if template:
        writer.add_chat_template(template)
    for name, weight in weights.items():
        if name == "lm_head.weight":
            writer.add_tensor("output.weight", weight)
        elif name == "model.embed_tokens.weight":
            writer.add_tensor("token_embd.weight", weight)
        elif name == "model.norm.weight":
            writer.add_tensor("output_norm.weight", weight)
        else:
            _, _, layer, rest = name.removesuffix(".weight").split(".", 3)
            if rest.endswith(("q_proj", "k_proj")):  # llama.cpp turns neighbours, not halves
                count = heads if rest.endswith("q_proj") else config["num_key_value_heads"]
                rows, width = weight.shape
                parted = weight.reshape(count, 2, rows // count // 2, width)
                weight = np.ascontiguousarray(parted.swapaxes(1, 2).reshape(rows, width))
            writer.add_tensor(f"blk.{layer}.{NAMES[rest]}.weight", weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
