"""How a token is drawn from the probabilities of all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError

__all__ = ["Sampling", "choose"]

_COLDEST = 1e-6  # a temperature below which the likeliest token is all there is


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn from the mixture's probabilities."""

    temperature: float = 1.0  # 0: the likeliest, always
    top_k: int | None = None  # only the likeliest so many
    top_p: float | None = None  # only the likeliest that together have so much
    seed: int = 0
    presence: float = 0.0  # taken from the log-probability of every token written so far
    frequency: float = 0.0  # the same for each time it was written
    bias: Mapping[int, float] = field(default_factory=dict)  # added to the log-probability of these

    def __post_init__(self) -> None:
        where = "generate"
        if not 0 <= self.temperature < math.inf:
            hint = "0 takes the likeliest token, 1 the probabilities as they are"
            raise UserError("a temperature is not below 0", where=where, hint=hint)
        if not all(map(math.isfinite, (self.presence, self.frequency, *self.bias.values()))):
            raise UserError("penalties and biases are numbers", where=where)
        if self.top_k is not None and self.top_k < 1:
            raise UserError("`top_k` is at least 1", where=where)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UserError("`top_p` lies above 0 and up to 1", where=where)

    @property
    def shape(self) -> tuple[float, int | None, float | None]:
        """Texts of which this is the same are drawn together."""
        cold = self.temperature < _COLDEST
        return 0.0 if cold else self.temperature, self.top_k, self.top_p


def choose(
    mixed: Tensor,
    samplings: Sequence[Sampling],
    written: Sequence[Sequence[int]],
    draws: np.ndarray,
) -> Tensor:
    """A token [texts] by each row of probabilities [texts, V].

    written: of each text, the tokens behind its prompt. draws: [texts], from 0 to 1, each tells the
    place in its row's sum.
    """
    mixed = _changed(mixed, samplings, written)
    shapes = [sampling.shape for sampling in samplings]
    kinds = set(shapes)
    if len(kinds) == 1:
        return _choose(mixed, shapes[0], draws)
    found = torch.empty(len(mixed), dtype=torch.long, device=mixed.device)
    for kind in kinds:
        rows = [row for row, shape in enumerate(shapes) if shape == kind]
        found[rows] = _choose(mixed[rows], kind, draws[rows])
    return found


def _choose(
    odds: Tensor, shape: tuple[float, int | None, float | None], draws: np.ndarray
) -> Tensor:
    """A token of each row, at the place of `draws` in what adds up to 1."""
    temperature, top_k, top_p = shape
    if temperature == 0:
        return odds.argmax(1)
    if temperature != 1:
        likeliest = odds.max(1, keepdim=True).values
        odds = ((odds / likeliest).log() / temperature).softmax(1)
    tokens: Tensor | None = None
    if top_k or top_p:
        width = odds.shape[1]
        odds, tokens = odds.topk(min(top_k or width, width), dim=1)
    if top_p:
        before = odds.cumsum(1) - odds
        odds = torch.where(before < top_p * odds.sum(1, keepdim=True), odds, 0.0)
    sums = odds.double().cumsum(1)
    wanted = torch.from_numpy(draws).to(sums)[:, None] * sums[:, -1:]
    places = torch.searchsorted(sums, wanted, right=True).clamp_(max=odds.shape[1] - 1)
    return (places if tokens is None else tokens.gather(1, places)).squeeze(1)


def _changed(
    mixed: Tensor, samplings: Sequence[Sampling], written: Sequence[Sequence[int]]
) -> Tensor:
    """The probabilities after penalties and biases, in a copy where there are any."""
    asked = [row for row, one in enumerate(samplings) if one.presence or one.frequency or one.bias]
    if not asked:
        return mixed
    mixed = mixed.clone()
    for row in asked:
        sampling, logs = samplings[row], mixed[row].log()
        tokens, counts = np.unique(np.array(written[row], dtype=np.int64), return_counts=True)
        taken = sampling.presence + sampling.frequency * counts
        logs[torch.from_numpy(tokens).to(logs.device)] -= torch.from_numpy(taken).to(logs)
        if sampling.bias:
            ids, values = torch.tensor(list(sampling.bias)), torch.tensor([*sampling.bias.values()])
            logs[ids.to(logs.device)] += values.to(logs)
        mixed[row] = logs.softmax(0)
    return mixed
