"""How weights are moved: which decay, and by which rule."""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from tongues.recipe import Train

__all__ = ["make_optimizer", "set_rate"]

_BETAS = (0.9, 0.95)


def make_optimizer(model: PreTrainedModel, settings: Train, rate: float) -> torch.optim.Optimizer:
    """AdamW, or Muon for the layers' matrices with it.

    Weights without a gradient are in no group. Matrices decay. Norms and biases do not, nor do
    embeddings: most rows get no gradient in a step, and those of tokens that the run's text does
    not have, such as the base's other languages, never do: decay alone would move them. An output
    matrix of its own has a gradient in every row.
    """
    ends = [model.get_input_embeddings(), model.get_output_embeddings()]
    vocabulary = {id(module.weight) for module in ends if isinstance(module, nn.Module)}
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    groups: dict[tuple[bool, bool, bool], dict[str, Any]] = {}
    for weight in (weight for weight in model.parameters() if weight.requires_grad):
        decays, of_pieces = weight.ndim >= 2 and id(weight) not in tables, id(weight) in vocabulary
        muon = settings.optimizer == "muon" and decays and weight.ndim == 2 and not of_pieces
        decay = settings.weight_decay if decays else 0.0
        group = {"params": [], "weight_decay": decay, "muon": muon}
        groups.setdefault((muon, decays, of_pieces), group)["params"].append(weight)
    plain = [group for group in groups.values() if not group["muon"]]
    adamw = torch.optim.AdamW(plain, lr=rate, betas=_BETAS, fused=True)
    if settings.optimizer == "adamw":
        return adamw
    matrices = [group for group in groups.values() if group["muon"]]
    # Updates as large as AdamW's, so that a rate means the same to both.
    return _Both(torch.optim.Muon(matrices, lr=rate, adjust_lr_fn="match_rms_adamw"), adamw)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class _Both(torch.optim.Optimizer):
    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        super().__init__([group for part in parts for group in part.param_groups], {})
        self._parts = parts
        for part in parts:
            part.state = self.state

    def step(self, closure: Any = None) -> Any:
        for part in self._parts:
            part.step()
