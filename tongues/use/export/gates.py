"""Routers of a mixture of experts without training: linear discriminants of the experts' text.

Each layer's router is a matrix without a bias that reads the hidden states before the feed-forward
layers. Of states with one covariance S and an expert's mean m, the log-probability of the expert
is h·S⁻¹m − m·S⁻¹m / 2 and what all experts share. The constants are put into the direction whose
product with a state is nearest to 1 over all states (RMS norms leave one).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from tongues.text.tokens.frame import TextFrame

_SHRUNK = 0.05  # of the mean variance, added to each: few tokens for many dimensions
_SURE = 0.9  # median weight of the first of two experts; one text then changes experts smoothly
_KEPT = 8  # of this many states one is kept, by which that is scaled


@torch.no_grad()
def fit_gates(
    model: PreTrainedModel,
    texts: Sequence[Sequence[np.ndarray]],
    frame: TextFrame,
    *,
    tokens: int = 4096,
) -> None:
    """Set every router of a model by some text of each expert, read through that expert alone.

    texts: documents of token ids of each expert. tokens: that are read of each.
    """
    gates = _gates(model)
    counts = np.zeros(len(texts))
    first: list[Any] = [0.0] * len(gates)  # sums of states by expert, [k, H]
    second: list[Any] = [0.0] * len(gates)  # of their products, [H, H]
    kept: list[list[Tensor]] = [[] for _ in gates]
    for expert, documents in enumerate(texts):
        chosen = torch.zeros(len(texts), 1, dtype=torch.float64)
        chosen[expert] = 1.0
        for row in _rows(documents, frame, model.config.max_position_embeddings, tokens):
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


def _gates(model: PreTrainedModel) -> list[Any]:
    return [module.gate for module in model.modules() if hasattr(module, "experts")]


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
