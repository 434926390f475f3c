"""Mixture-of-experts models: the loss that keeps their experts evenly used, as each has its own."""

import inspect
import sys
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from tongues.train.engine.rows import DocumentRows

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def balance_weight(model: PreTrainedModel) -> float:
    """The weight that config.json gives to the model's own load-balancing loss; 0: it has none.

    Published configurations have `output_router_logits: false`, which is for use, not training.
    """
    config = model.config
    experts = any(getattr(config, name, 0) for name in _EXPERTS)
    reported = "output_router_logits" in inspect.signature(model.forward).parameters
    return float(getattr(config, "router_aux_loss_coef", 0.0) or 0.0) if experts and reported else 0


def balance_note(model: PreTrainedModel) -> str | None:
    """What keeps the experts of this model evenly used, in a line; None of any other model."""
    if not any(getattr(model.config, name, 0) for name in _EXPERTS):
        return None
    if weight := balance_weight(model):
        return f"the model's own load-balancing loss has weight {weight:g}, as in its config.json"
    biases = [name for name, _ in model.named_buffers() if name.endswith("correction_bias")]
    if biases:
        return (
            f"the balance biases of {len(biases)} routers stay as the base has them; they are not "
            "updated, and there is no load-balancing loss"
        )
    return "the experts are trained without a load-balancing loss: config.json gives it no weight"


def balanced_outputs(
    model: PreTrainedModel, inputs: dict[str, Tensor], chunked: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Last hidden states, logits, and the load-balancing loss, all computed by the model itself.

    chunked: the logits are not wanted, and those of the last token are returned.
    """
    hidden, out = _routed(model, inputs, chunked)
    return hidden, out.logits, out.aux_loss


def balanced_rows(
    model: PreTrainedModel, rows: DocumentRows, chunked: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The same of documents in rows: the loss is that of all tokens together, without filling.

    chunked: there are no logits.
    """
    each = [_routed(model, {"input_ids": part}, chunked) for part in rows.parts]
    hidden = rows.join([states for states, _ in each])
    logits = None if chunked else rows.join([out.logits for _, out in each])
    routers = tuple(
        rows.join(
            [
                scores.reshape(*part.shape, -1)
                for part, scores in zip(rows.parts, by_part, strict=True)
            ]
        ).flatten(0, 1)
        for by_part in zip(*(out.router_logits for _, out in each), strict=True)
    )
    family: Any = sys.modules[type(model).__module__]
    own: Any = model
    loss = family.load_balancing_loss_func(routers, own.num_experts, own.num_experts_per_tok)
    return hidden, logits, loss


def _routed(model: PreTrainedModel, inputs: dict[str, Tensor], chunked: bool) -> tuple[Tensor, Any]:
    held: list[Tensor] = []
    body: nn.Module = model.base_model
    kept = {"logits_to_keep": 1} if chunked else {}
    with body.register_forward_hook(lambda *args: held.append(args[2].last_hidden_state)):
        out = model(**inputs, **kept, use_cache=False, output_router_logits=True)
    return held[0], out
