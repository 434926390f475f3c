"""Experts of one base as one mixture-of-experts model, of an architecture that transformers has.

Each expert keeps its feed-forward layers; what else it has is averaged. Where experts were trained
in their feed-forward layers alone, nothing is lost by that: the model is exact for each expert.

Routers of a mixture of experts without training: linear discriminants of the experts' text.

Each layer's router is a matrix without a bias that reads the hidden states before the feed-forward
layers. Of states with one covariance S and an expert's mean m, the log-probability of the expert
is h·S⁻¹m − m·S⁻¹m / 2 and what all experts share. The constants are put into the direction whose
product with a state is nearest to 1 over all states (RMS norms leave one).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights

from tongues.core.errors import UserError
from tongues.models.folders import weight_files
from tongues.models.huggingface import configure
from tongues.text.tokens.frame import TextFrame

# The architecture that is a family's own but for several feed-forward layers and a router.
_SPARSE = {"llama": "mixtral", "mistral": "mixtral", "qwen3": "qwen3_moe"}
_OTHERWISE = ("attention_bias", "mlp_bias", "use_sliding_window")  # that Mixtral cannot hold
_UNLIKE = ("model_type", "architectures", "transformers_version")
_BALANCE = 0.01  # weight of the load-balancing loss where it is trained (2403.07816)
_SHRUNK = 0.05  # of the mean variance, added to each: few tokens for many dimensions
_SURE = 0.9  # median weight of the first of two experts; one text then changes experts smoothly
_KEPT = 8  # of this many states one is kept, by which that is scaled
_TOKENS = 4096  # of each expert that routers are set by


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
            apart += sum(float((x - weight.double()).square().sum()) for x in each) / len(each)
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


@torch.no_grad()
def fit_gates(
    model: PreTrainedModel,
    texts: Sequence[Sequence[np.ndarray]],
    frame: TextFrame,
) -> None:
    """Set every router of a model by some text of each expert, read through that expert alone.

    texts: documents of token ids of each expert.
    """
    gates: list[Any] = [module.gate for module in model.modules() if hasattr(module, "experts")]
    counts = np.zeros(len(texts))
    first: list[Any] = [0.0] * len(gates)  # sums of states by expert, [k, H]
    second: list[Any] = [0.0] * len(gates)  # of their products, [H, H]
    kept: list[list[Tensor]] = [[] for _ in gates]
    for expert, documents in enumerate(texts):
        chosen = torch.zeros(len(texts), 1, dtype=torch.float64)
        chosen[expert] = 1.0
        for row in _rows(documents, frame, model.config.max_position_embeddings, _TOKENS):
            with _forced(gates, expert) as states:
                model(input_ids=torch.from_numpy(row))
            counts[expert] += row.size
            for layer, state in enumerate(states):
                state = state.double()
                first[layer] = first[layer] + chosen * state.sum(0)
                second[layer] = second[layer] + state.T @ state
                kept[layer].append(state[::_KEPT])
    for layer, gate in enumerate(gates):
        rows = _discriminants(first[layer], second[layer], torch.from_numpy(counts))
        two = (torch.cat(kept[layer]) @ rows.T).topk(2).values
        gap = float((two[:, 0] - two[:, 1]).median())
        gate.weight.copy_(rows * (log(_SURE / (1 - _SURE)) / max(gap, 1e-9)))


def _discriminants(first: Tensor, second: Tensor, counts: Tensor) -> Tensor:
    """A row for each expert, by sums of states, of their products, and numbers of states."""
    total = counts.sum()
    means, mean, outer = first / counts[:, None], first.sum(0) / total, second / total
    within = outer - (counts / total * means.T) @ means
    room = torch.eye(len(mean), dtype=torch.float64)
    within += _SHRUNK * within.diagonal().mean() * room
    rows = torch.linalg.solve(within, means.T).T
    outer += 1e-6 * outer.diagonal().mean() * room
    constant = torch.linalg.solve(outer, mean)  # least squares of 1 on the states
    rows -= (means * rows).sum(1, keepdim=True) / 2 * constant
    return rows - rows.mean(0)


def _rows(
    documents: Sequence[np.ndarray], frame: TextFrame, context: int, tokens: int
) -> Iterator[np.ndarray]:
    """Beginnings of documents as the model sees them, up to a number of tokens."""
    for document in documents:
        row = np.concatenate([[frame.first], document[: min(context - 1, tokens)]]).astype(np.int64)
        yield frame.begin(row[None])
        tokens -= row.size
        if tokens <= 0:
            return


@contextmanager
def _forced(gates: Sequence[Any], expert: int) -> Iterator[list[Tensor]]:
    """Every token through one expert; hands out the states [T, H] that each router reads."""
    states: list[Tensor] = []

    def force(module: Any, given: Any, made: Any) -> Any:
        states.append(given[0].reshape(-1, module.hidden_dim))
        logits, weights, numbers = made
        weights, numbers = torch.zeros_like(weights), numbers.clone()
        weights[:, 0] = 1.0
        numbers[:] = (torch.arange(numbers.shape[1]) + expert) % module.num_experts
        return logits, weights, numbers

    with ExitStack() as hooks:
        for gate in gates:
            hooks.enter_context(gate.register_forward_hook(force))
        yield states
