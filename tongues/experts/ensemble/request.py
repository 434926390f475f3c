"""A text to generate and what comes of it: a `Request` in, a `Token` at a time out, then text."""

import codecs
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tongues.core.errors import UserError
from tongues.experts.ensemble.routing import Routing

# stop: by a token that is no part of the text; broken: an expert predicts NaN
Ended = Literal["stop", "length", "broken"]
_COLDEST = 1e-6  # a temperature below which the likeliest token is all there is


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn from the mixture's probabilities."""

    temperature: float = 1.0  # 0: always the likeliest
    top_k: int | None = None  # only so many of the likeliest
    top_p: float | None = None  # only the smallest set of tokens with this probability
    seed: int = 0
    bias: Mapping[int, float] = field(default_factory=dict)  # added to the log-probability of these

    def __post_init__(self) -> None:
        where = "generate"
        if not 0 <= self.temperature < math.inf:
            hint = "0 takes the most probable token, 1 the probabilities as they are"
            raise UserError("a temperature is a number from 0 on", where=where, hint=hint)
        if not all(map(math.isfinite, self.bias.values())):
            raise UserError("biases are numbers", where=where)
        if self.top_k is not None and self.top_k < 1:
            raise UserError("`top_k` is at least 1", where=where)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UserError("`top_p` is above 0 and up to 1", where=where)

    @property
    def shape(self) -> tuple[float, int | None, float | None]:
        """Texts of which this is the same are drawn together."""
        cold = self.temperature < _COLDEST
        return 0.0 if cold else self.temperature, self.top_k, self.top_p


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

    @property
    def longest(self) -> int:
        """Tokens that experts read of it at most; the last that is written is not read."""
        return len(self.prompt) + self.max_tokens


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


@dataclass(frozen=True, slots=True, eq=False)
class TextPiece:
    """Text, and the tokens that are complete with it, with their offsets."""

    text: str = ""
    tokens: tuple[Token, ...] = ()


class TextBuilder:
    """Tokens to text as it becomes certain: whole characters, and no beginning of a stop string.

    A token is reported with the last of the characters that it is part of. What is before a stop
    string does not depend on how the text falls into tokens: the string that is complete first ends
    the text. stops: strings that end the text and are not part of it; none is empty.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stopped = False  # by a stop string: nothing more will come
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # held back, since a stop string may begin with it
        self._sent = 0  # characters
        self._waiting: deque[tuple[int, int, Token | None]] = deque()  # from and to which character

    def push(self, piece: bytes, token: Token | None = None) -> TextPiece:
        """Take the bytes of the next token. A prompt's is never part of a stop string.

        token: None for text that is not reported as a token.
        """
        if self.stopped:
            return TextPiece()
        begin, seen = self._sent + len(self._held), len(self._held)
        begun = self._decoder.getstate()[0]  # bytes of a character of which more is to come
        if begun and not _continues(begun, piece[:1]):
            begin += 1
        self._held += self._decoder.decode(piece)
        rest = 1 if self._decoder.getstate()[0] else 0
        self._waiting.append((begin, self._sent + len(self._held) + rest, token))
        if token is None or token.given:
            return self._take(len(self._held))
        place = self._stop_after(seen)
        if place is None:  # all but what a stop string may begin with
            places = range(len(self._held) if self._stops else 0)
            starts = (place for place in places if self._may_stop(self._held[place:]))
            place = next(starts, len(self._held))
        return self._take(place)

    def finish(self) -> TextPiece:
        """All that was held back: no token comes any more."""
        if self.stopped:
            return TextPiece()
        seen = len(self._held)
        self._held += self._decoder.decode(b"", final=True)
        place = self._stop_after(seen)
        return self._take(len(self._held) if place is None else place)

    def _may_stop(self, text: str) -> bool:
        return any(stop.startswith(text) for stop in self._stops)

    def _stop_after(self, seen: int) -> int | None:
        """Where the stop string begins that is complete first; what was `seen` has none."""
        ends = []
        for stop in self._stops:
            place = self._held.find(stop, max(0, seen + 1 - len(stop)))
            if place >= 0:
                ends.append((place + len(stop), place))
        self.stopped = bool(ends)
        return min(ends)[1] if ends else None

    def _take(self, count: int) -> TextPiece:
        text, self._held = self._held[:count], self._held[count:]
        self._sent += count
        tokens = []
        while self._waiting:
            begin, end, token = self._waiting[0]
            if end > self._sent and not (self.stopped and begin < self._sent):
                break
            if token is not None:
                tokens.append(replace(token, offset=begin))
            self._waiting.popleft()
        return TextPiece(text, tuple(tokens))


def _continues(begun: bytes, byte: bytes) -> bool:
    try:
        codecs.utf_8_decode(begun + byte, "strict", False)
    except UnicodeDecodeError:
        return False
    return True
