"""What is asked of the engine, and what it tells."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tongues.experts.ensemble.routing import Routing
from tongues.experts.ensemble.sampling import Sampling

__all__ = ["Ask", "End", "Full", "Piece", "Ticket"]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One text to write."""

    model: str  # the name of a served model
    tokens: np.ndarray  # the prompt's ids
    most: int  # tokens to write at most; 0: none, the prompt is only scored
    sampling: Sampling = field(default_factory=Sampling)
    routing: Routing | None = None  # None: the model's own
    language: str | None = None  # of the text, for the routing `language`
    alternatives: int = 0  # likeliest tokens told beside each
    scored: bool = False  # whether the prompt's own tokens are told first
    begun: bool = False  # its first token begins the text: the model's own does not stand before it
    explained: bool = False  # whether a language is told with every piece
    copy: int = 0  # which of several texts behind the same prompt


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A token of a text; the one that ends it is told as well."""

    token: int
    log_prob: float  # under the mixture of experts, before sampling changed it
    alternatives: tuple[tuple[int, float], ...]  # tokens and log-probabilities, likeliest first
    weights: np.ndarray  # [k], what each expert counted for it
    language: str | None  # that the text up to it is nearest to, where the router can tell
    prompt: bool  # whether it was given, not written


@dataclass(frozen=True, slots=True)
class End:
    """No piece comes after this."""

    reason: Literal["stop", "length", "cancelled", "failed"]
    problem: str | None = None  # failed: why


class Full(Exception):
    """More texts are waiting than the engine keeps."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A text that was asked for."""

    number: int
