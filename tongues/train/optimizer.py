"""The optimizers: how gradients move weights. `engine/optimizer.py` says which weights decay."""

from typing import Any, ClassVar

from tongues.core.registry import Registry
from tongues.recipe import Optimizer, States

OPTIMIZERS: Registry[type[Optimizer]] = Registry("optimizer", "tongues.optimizers")

# Means over about 10 and 20 gradients, as Llama has (arXiv 2302.13971) and most models after it.
BETAS = (0.9, 0.95)
EPSILON = 1e-8  # as published (arXiv 1412.6980), and PyTorch's own


@OPTIMIZERS.add
class AdamW(Optimizer):
    """Adam with decoupled weight decay (arXiv 1711.05101)."""

    name: ClassVar[str] = "adamw"
    summary: ClassVar[str] = "two moments a weight, decoupled decay"

    def moments(self, states: States) -> int:
        """Of the mean of gradients and that of their squares."""
        return 2 * {"float32": 4, "bfloat16": 2}[states]

    def make(self, groups: list[dict[str, Any]], rate: float, states: States) -> Any:
        """PyTorch's fused one, or ours with moments in bfloat16."""
        import torch

        if states == "bfloat16":
            from tongues.train.engine.optimizer import NarrowAdamW

            return NarrowAdamW(groups, {"lr": rate, "betas": BETAS, "eps": EPSILON})
        return torch.optim.AdamW(groups, lr=rate, betas=BETAS, eps=EPSILON, fused=True)
