"""Which weights are moved and which of them decay; AdamW with narrow moments."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel

from tongues.recipe import Train

_AT_A_TIME = 2**20  # weights, so that a step in float32 takes little memory


def make_optimizer(model: PreTrainedModel, settings: Train, rate: float) -> torch.optim.Optimizer:
    """The recipe's optimizer over the weights that are trained.

    Weights without a gradient are in no group. Matrices decay. Norms and biases do not, nor do
    embeddings: most rows get no gradient in a step, and those of tokens that the run's text does
    not have, such as the base's other languages, never do: decay alone would move them. An output
    matrix of its own has a gradient in every row.
    """
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    groups: dict[float, dict[str, Any]] = {}
    for weight in (weight for weight in model.parameters() if weight.requires_grad):
        decay = settings.weight_decay if weight.ndim >= 2 and id(weight) not in tables else 0.0
        groups.setdefault(decay, {"params": [], "weight_decay": decay})["params"].append(weight)
    return settings.optimizer.make([*groups.values()], rate, settings.optimizer_states)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class NarrowAdamW(torch.optim.Optimizer):
    """AdamW whose moments are kept in bfloat16; each step is computed in float32.

    Moments change by a twentieth of a gradient or more in a step, which bfloat16, exact to a
    512th, does not round away.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Move the weights by their gradients."""
        for group, weight in ((g, w) for g in self.param_groups for w in g["params"]):
            if weight.grad is None:
                continue
            state, (fast, slow) = self.state[weight], group["betas"]
            if not state:
                state["step"] = torch.zeros(())
                for kind in ("exp_avg", "exp_avg_sq"):
                    state[kind] = torch.zeros_like(weight, dtype=torch.bfloat16)
            state["step"] = state["step"].cpu() + 1  # a GPU would be waited for, weight by weight
            steps = state["step"].item()
            first, second = 1 - fast**steps, 1 - slow**steps
            whole = (weight, weight.grad, state["exp_avg"], state["exp_avg_sq"])
            parts = (_local(tensor).view(-1).split(_AT_A_TIME) for tensor in whole)
            for moved, grad, mean, square in zip(*parts, strict=True):
                means = mean.float().lerp_(grad, 1 - fast)
                squares = square.float().mul_(slow).addcmul_(grad, grad, value=1 - slow)
                mean.copy_(means)
                square.copy_(squares)
                spread = squares.div_(second).sqrt_().add_(group["eps"])
                moved.mul_(1 - group["lr"] * group["weight_decay"])
                moved.addcdiv_(means, spread, value=-group["lr"] / first)


def _local(tensor: Tensor) -> Tensor:
    """What a process has of it."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
