"""What is thought of a pilot's laws before any run: their forms, and a spread for each parameter.

A run of a pilot leaves up to three losses, each of its own role: `source` (what a base model ends
at on its own language), `scratch` or `cpt` (what a run ends at on the language it learns) and
`forgetting` (what a continued run ends at on its base's language). Laws that share parameters
make a block.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.laws import FORMS

__all__ = ["BLOCKS", "Frame", "LawBlock", "Point", "Scale", "log_losses", "params_of"]

_STEEPEST = 4.0  # an exponent beyond which a term is gone at once
_BETA = FORMS.find("forgetting").given["beta"]
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Point:
    """A loss that is measured or foretold.

    N: parameters. D: tokens of the role's law: of the target language alone for `cpt`, all tokens
    of the run for the others. flops: of the run itself, its parent's left out. r: share of replay.
    S: loss on the source before the first step, nats per token, or one for every draw.
    """

    role: str
    N: float
    D: float
    flops: float
    r: float = 0.0
    S: float | Array = 1.0


@dataclass(frozen=True, slots=True)
class Scale:
    """The middle that the spreads are stated about: parameters, tokens, nats per token."""

    N: float
    D: float
    loss: float


@dataclass(frozen=True, slots=True)
class Frame:
    """What all beliefs of a pilot have in common.

    start: log10 of the FLOPs of the smallest run there may be, where drifts begin. seed: of all
    draws.
    """

    scale: Scale
    start: float
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class LawBlock:
    """Laws that share parameters, and what is thought of them beforehand.

    roles: those of its losses, with the form of each. spread: of every coordinate, its middle and
    standard deviation; all but `gamma` are logarithms, of losses in units of the scale's.
    params: from coordinates to the parameters of a role's form.
    scatter: how far a final loss lies from its law, in log loss, until runs tell.
    drift: the same of how far it strays from its law over a tenfold of compute, in units of the
    scatter; the last coordinate.
    """

    name: str
    roles: Mapping[str, str]
    spread: Mapping[str, tuple[float, float]]
    params: Callable[[str, Mapping[str, Array], Scale], dict[str, Array]]
    scatter: float
    drift: tuple[float, float] = (math.log(2.0), 0.8)

    @property
    def middle(self) -> Array:
        """The coordinates thought the likeliest, the drift's last."""
        return np.array([*self.spread.values(), self.drift])[:, 0]

    @property
    def deviation(self) -> Array:
        """The standard deviation of each coordinate."""
        return np.array([*self.spread.values(), self.drift])[:, 1]


def _of_size_and_tokens(role: str, z: Mapping[str, Array], scale: Scale) -> dict[str, Array]:
    """Terms of size and tokens as they are at the middle, in nats per token."""
    size, tokens = scale.loss * np.exp(z["size"]), scale.loss * np.exp(z["tokens"])
    alpha, beta = _exponent(z["alpha"]), _exponent(z["beta"])
    params = {"E": scale.loss * np.exp(z["floor"]), "A": size * scale.N**alpha, "alpha": alpha}
    if role != "cpt":
        return params | {"B": tokens * scale.D**beta, "beta": beta}
    beta, gamma = _exponent(z["beta_cpt"]), z["gamma"]
    B = tokens * np.exp(z["less"]) * scale.D**beta * scale.N**gamma
    return params | {"B": B, "beta": beta, "gamma": gamma}


def _exponent(logarithm: Array) -> Array:
    return np.exp(np.minimum(logarithm, math.log(_STEEPEST)))


def _of_forgetting(role: str, z: Mapping[str, Array], scale: Scale) -> dict[str, Array]:
    logs = {"F": np.log(scale.D), "B": np.log(scale.D)}
    params = {name: np.exp(value + logs.get(name, 0.0)) for name, value in z.items()}
    return params | {"beta": np.full_like(z["F"], _BETA)}


_ALONE = {
    "floor": (math.log(0.2), 1.5),
    "size": (math.log(0.15), 1.5),
    "tokens": (math.log(0.4), 0.8),
    "alpha": (math.log(0.35), 0.7),
    "beta": (math.log(0.25), 0.7),
}
_CONTINUED = {"less": (-0.4, 0.5), "beta_cpt": (math.log(0.2), 0.7), "gamma": (0.05, 0.1)}
_FORGOTTEN = {
    "F": (math.log(3e-3), 2.0),
    "A": (math.log(0.3), 0.6),
    "kappa": (math.log(0.12), 0.7),
    "W": (math.log(0.2), 0.8),
    "B": (math.log(0.5), 1.5),
}
_TARGET, _SOURCE = {"scratch": "chinchilla", "cpt": "cpt"}, {"source": "chinchilla"}
_FORGETTING = {"forgetting": "forgetting"}
BLOCKS = {
    block.name: block
    for block in (
        LawBlock("target", _TARGET, _ALONE | _CONTINUED, _of_size_and_tokens, scatter=0.008),
        LawBlock("source", _SOURCE, _ALONE, _of_size_and_tokens, scatter=0.008),
        LawBlock("forgetting", _FORGETTING, _FORGOTTEN, _of_forgetting, scatter=0.015),
    )
}


def params_of(block: LawBlock, role: str, z: Array, scale: Scale) -> dict[str, Array]:
    """The parameters of a role's form at coordinates along the last axis."""
    named = {name: z[..., i] for i, name in enumerate(block.spread)}
    return block.params(role, named, scale)


def log_losses(block: LawBlock, z: Array, points: Sequence[Point], scale: Scale) -> Array:
    """The log loss of every point of the block at every row of coordinates, (rows, points)."""
    losses = np.empty((len(z), len(points)))
    for role, name in block.roles.items():
        form = FORMS.find(name)
        at = [i for i, point in enumerate(points) if point.role == role]
        params = params_of(block, role, z[:, None], scale)
        variables = {
            name: np.array([getattr(points[i], name) for i in at], dtype=float).T
            for name in form.variables
        }
        losses[:, at] = np.log(form.loss(params, variables))
    return losses
