"""Experts of one ensemble whose tokenizers were extended at different times.

An extension appends ids, so an id means the same to every expert that has it, and the ensemble has
the longest tokenizer. An expert from before an extension reads a new token as those of its own that
spell it, which is how its own tokenizer cuts the same text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from tongues.core.errors import UserError
from tongues.models.token_map import map_tokens
from tongues.text.tokens.tokenizer import vocabulary_size


@dataclass(frozen=True, slots=True, eq=False)
class OwnTokens:
    """The tokens of an expert that does not have the ensemble's last ones."""

    size: int  # ids that it has
    parts: Mapping[int, Sequence[int]]  # of each id that is new to it: its own that spell it
    most: int  # of them for one token

    def spelt(self, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A text in its own ids, and of each token how many of them there are up to its end."""
        if not (tokens >= self.size).any():
            return tokens, np.arange(1, len(tokens) + 1)
        split = [self.parts.get(token, (token,)) for token in tokens.tolist()]
        return np.array(list(chain(*split))), np.cumsum([len(parts) for parts in split])


def own_tokens(tokenizer: Tokenizer, extended: Tokenizer, where: str) -> OwnTokens:
    """The tokens of a tokenizer by those of its extension; where: of the expert, for errors."""
    parts = map_tokens(tokenizer, extended).parts
    if mute := next((number for number, own in parts.items() if not own), None):
        what = f"cannot spell `{extended.id_to_token(mute)}` of the ensemble's tokenizer"
        raise UserError(what, where=where, hint="take a base that falls back to bytes")
    most = max(map(len, parts.values()), default=1)
    return OwnTokens(vocabulary_size(tokenizer), parts, most)


def sum_parts(log_probs: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The log-probability of each token by those of the own tokens that spell it."""
    return np.add.reduceat(log_probs, np.append(0, ends[:-1])) if len(ends) else log_probs


def widened(logits: Tensor, size: int, vocabulary: int) -> Tensor:
    """Logits [n, vocabulary + 1] of the same probabilities by those [n, rows] of one expert.

    size: ids that it has; the others have none. The last column has what its rows that mean nothing
    had together.
    """
    wide = logits.new_full((len(logits), vocabulary + 1), -torch.inf)
    wide[:, :size] = logits[:, :size]
    wide[:, -1] = logits[:, size:].logsumexp(1).clamp_min(torch.finfo(logits.dtype).min)
    return wide
