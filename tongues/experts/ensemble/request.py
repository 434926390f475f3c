"""A text to generate and what comes of it: a `Request` in, a `Token` at a time out."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tongues.experts.ensemble.routing import Routing
from tongues.experts.ensemble.sampling import Sampling

__all__ = ["Ended", "Request", "Token"]

# stop: by a token that is no part of the text; broken: an expert predicts NaN
Ended = Literal["stop", "length", "broken"]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One text to generate behind a prompt.

    first: the token before the prompt; None: the one that ends documents. stops: tokens that end
    the text; None: the same.
    """

    prompt: np.ndarray  # token ids, without `first`
    routing: Routing
    max_tokens: int  # 0: none, the prompt is only scored
    language: str | None = None  # of the text, for a routing that needs it
    sampling: Sampling = field(default_factory=Sampling)
    first: int | None = None
    stops: frozenset[int] | None = None
    copy: int = 0  # which of several texts behind the same prompt
    alternatives: int = 0  # likeliest tokens reported next to each
    score_prompt: bool = False  # whether the prompt's tokens are reported first
    find_language: bool = False  # whether each token has the text's language so far


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A token of a text, and what is known of it; the one that ends a text is reported too."""

    id: int
    log_prob: float  # under the mixture of experts, before sampling changed it
    weights: np.ndarray  # [k], of each expert
    alternatives: tuple[tuple[int, float], ...] = ()  # ids and log-probabilities, likeliest first
    given: bool = False  # whether it is the prompt's
    ended: Ended | None = None
    language: str | None = None  # that the text up to it is nearest to, where the router knows
    offset: int | None = None  # where it begins in the whole text, in characters
