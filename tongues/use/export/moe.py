"""Experts of one base as one mixture-of-experts model, of an architecture that transformers has.

Each expert keeps its feed-forward layers; what else it has is averaged. Where experts were trained
in their feed-forward layers alone, nothing is lost by that: the model is exact for each expert.
"""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights

from tongues.core.errors import UserError
from tongues.models.folders import weight_files
from tongues.models.huggingface import configure

# The architecture that is a family's own but for several feed-forward layers and a router.
_SPARSE = {"llama": "mixtral", "mistral": "mixtral", "qwen3": "qwen3_moe"}
_OTHERWISE = ("attention_bias", "mlp_bias", "use_sliding_window")  # that Mixtral cannot hold
_UNLIKE = ("model_type", "architectures", "transformers_version")
_BALANCE = 0.01  # weight of the load-balancing loss where it is trained (2403.07816)


def moe_config(config: PreTrainedConfig, experts: int, per_token: int) -> PreTrainedConfig:
    """The configuration of several experts that each have `config`; a UserError where none can.

    per_token: experts that are evaluated for a token.
    """
    family, plain = _SPARSE.get(config.model_type), config.to_dict()
    odd = [key for key in _OTHERWISE if plain.get(key)]
    if family is None or (odd and (family, odd) != ("qwen3_moe", ["attention_bias"])):
        has = f"of kind `{config.model_type}`" + (f" with `{odd[0]}`" if odd and family else "")
        what = f"experts {has} fit no mixture of experts that transformers has"
        hint = "Llama, Mistral and Qwen3 do; or export the ensemble as it is"
        raise UserError(what, where="--moe", hint=hint)
    if not 1 <= per_token <= experts:
        raise ValueError(f"{per_token} of {experts} experts for a token")
    known = AutoConfig.for_model(family).to_dict().keys() - set(_UNLIKE)
    settings = {key: value for key, value in plain.items() if key in known or key == "head_dim"}
    settings |= {"num_experts_per_tok": per_token, "router_aux_loss_coef": _BALANCE}
    if family == "mixtral":
        own = {"num_local_experts": experts, "sliding_window": plain.get("sliding_window")}
    else:
        own = {"num_experts": experts, "moe_intermediate_size": plain["intermediate_size"]}
        own |= {"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
    return AutoConfig.for_model(family, **settings | own)


@torch.no_grad()
def merge_to_moe(experts: Sequence[Path], per_token: int = 2) -> tuple[PreTrainedModel, float]:
    """The experts of these folders in one model whose router is zero, and what averaging changes.

    The second result is the experts' root mean square distance from the average, relative to its
    norm; 0: all are equal there, bit for bit.
    """
    stored = _same_tensors(experts)
    config = moe_config(configure(experts[0]), len(experts), per_token)
    with no_init_weights():
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.tie_weights()
    left, apart, norm = set(stored[0]), 0.0, 0.0
    for name, weight in model.named_parameters():
        stem, _, kind = name.partition("mlp.")
        if kind == "gate.weight":
            weight.zero_()
        elif kind in _PARTS:
            parts = [f"{stem}mlp.{part}.weight" for part in _PARTS[kind]]
            for own, tensors in zip(weight, stored, strict=True):
                own.copy_(torch.cat([tensors[part] for part in parts]))
            left.difference_update(parts)
        else:
            each = [tensors[name] for tensors in stored]
            weight.copy_(_mean(each))
            left.discard(name)
            norm += float(weight.double().square().sum())
            apart += sum(_square(own, weight) for own in each) / len(each)
    if left - {"lm_head.weight"}:  # that of tied embeddings is stored twice by some
        what = f"`{min(left)}` has no place in `{config.model_type}`"
        raise UserError(what, where=str(experts[0]), hint="export the ensemble as it is")
    return model.eval(), sqrt(apart / norm)


_PARTS: dict[str, Any] = {
    "experts.gate_up_proj": ("gate_proj", "up_proj"),
    "experts.down_proj": ("down_proj",),
}


def _same_tensors(experts: Sequence[Path]) -> list[dict[str, Tensor]]:
    """The tensors of each expert by name, mapped; a UserError where experts differ in shape."""
    stored: list[dict[str, Tensor]] = []
    for expert in experts:
        files = map(load_file, weight_files(expert))
        stored.append({name: tensor for file in files for name, tensor in file.items()})
    kinds = [{name: (w.shape, w.dtype) for name, w in tensors.items()} for tensors in stored]
    for expert, own in zip(experts, kinds, strict=True):
        odd = {name for name, _ in kinds[0].items() ^ own.items()}
        if odd:
            what = f"`{min(odd)}` is another one than in {experts[0]}"
            hint = "only experts of one shape can become one model"
            raise UserError(what, where=str(expert), hint=hint)
    return stored


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    """The mean, rounded once; of whole numbers the first."""
    if not tensors[0].is_floating_point():
        return tensors[0].clone()
    total = torch.zeros(tensors[0].shape, dtype=torch.float64)
    for tensor in tensors:
        total += tensor.double() * (1 / len(tensors))
    return total.to(tensors[0].dtype)


def _square(one: Tensor, other: Tensor) -> float:
    return float((one.double() - other.double()).square().sum())
