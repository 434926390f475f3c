"""An optimizer with a setting of its own: Lion (arXiv 2302.06675), which keeps one moment."""

from typing import Any, ClassVar

from tongues.recipe import Optimizer, States


class Lion(Optimizer):
    """Moves every weight by the rate, in the direction of its mean gradient."""

    name: ClassVar[str] = "lion"
    summary: ClassVar[str] = "the sign of one moment"

    memory: float = 0.99  # of the mean

    def moments(self, states: States) -> int:
        """One, in float32."""
        if states != "float32":
            raise ValueError("Lion keeps its moment in float32")
        return 4

    def make(self, groups: list[dict[str, Any]], rate: float, states: States) -> Any:
        """PyTorch is imported only where a run is trained."""
        import torch

        class Steps(torch.optim.Optimizer):
            @torch.no_grad()
            def step(self, closure: Any = None) -> Any:
                for group in self.param_groups:
                    for weight in (one for one in group["params"] if one.grad is not None):
                        state = self.state[weight]
                        mean = state.setdefault("mean", torch.zeros_like(weight))
                        weight.mul_(1 - group["lr"] * group["weight_decay"])
                        way = (0.9 * mean + 0.1 * weight.grad).sign()
                        weight.sub_(way * group["lr"])
                        mean.lerp_(weight.grad, 1 - self.defaults["memory"])

        return Steps(groups, {"lr": rate, "memory": self.memory})
