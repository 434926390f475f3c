"""Texts that an ensemble or any model generates, several together, to their ends."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Request, Sampling, TextBuilder, Token
from tongues.experts.ensemble.routing import Routing
from tongues.experts.ensemble.writer import RunningText, Writer, broken

_USUAL = 64  # tokens, where no number is given


@dataclass(slots=True, eq=False)
class Continuation:
    """The text behind a prompt."""

    prompt: str
    text: str = ""
    tokens: list[Token] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)  # the text of each token
    stopped: bool = False  # by the end of a document or a stop string, not by the length

    def stretches(self) -> list[tuple[str, int]]:
        """The text in stretches, each with the number of the expert that counted most for it.

        Characters that two tokens share are with the later one.
        """
        builder, left = TextBuilder(), len(self.text)
        stretches: list[tuple[str, int]] = []
        for piece, token in zip(self.pieces, self.tokens, strict=True):
            text = builder.push(piece, token).text[:left]
            left -= len(text)
            stretches.append((text, int(token.weights.argmax())))
        return [*stretches, (self.text[len(self.text) - left :], -1)]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "prompt": self.prompt,
            "text": self.text,
            "tokens": [token.id for token in self.tokens],
            "nats": [-token.log_prob for token in self.tokens],
            "weights": [token.weights.tolist() for token in self.tokens],
            "ended": self.stopped,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """Texts that a model generated, by which routing, and the names of its experts."""

    model: str
    routing: str
    experts: tuple[str, ...]
    texts: tuple[Continuation, ...]

    def __str__(self) -> str:
        """Each prompt with its text."""
        return "\n".join(one.prompt + one.text for one in self.texts)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        about = {"model": self.model, "routing": self.routing, "experts": list(self.experts)}
        return about | {"texts": [one.to_json() for one in self.texts]}


def generate(
    ensemble: Ensemble,
    prompts: Sequence[np.ndarray],
    routing: Routing,
    *,
    most: int | Sequence[int],
    firsts: Sequence[int] | None = None,
    languages: Sequence[str | None] | None = None,
    sampling: Sampling | None = None,
    stop: Collection[int] | None = None,
) -> list[list[Token]]:
    """The tokens behind prompts of token ids, at most `most`: one number, or one per prompt.

    A prompt gives the same text alone and among others, up to rounding; one that comes several
    times gives several. firsts: the token before each; the frame's if left out. languages: of each
    prompt, for a routing that needs them. stop: tokens that end a text, and come last; the one that
    ends documents if left out.
    """
    writer = Writer(ensemble)
    stops = None if stop is None else frozenset(stop)
    copies = _copies([np.asarray(prompt, dtype=np.int64).tobytes() for prompt in prompts])
    tokens: dict[RunningText, list[Token]] = {}
    for i, (prompt, copy) in enumerate(zip(prompts, copies, strict=True)):
        count = most if isinstance(most, int) else most[i]
        of = (prompt, routing, count, languages[i] if languages else None, sampling or Sampling())
        first = firsts[i] if firsts else None
        tokens[writer.add(Request(*of, first=first, stops=stops, copy=copy))] = []
    for text, token in _tokens(writer):
        tokens[text].append(token)
    return list(tokens.values())


def continue_texts(
    model: Model,
    prompts: Sequence[str],
    routing: Routing | None = None,
    *,
    max_tokens: int | None = None,
    language: str | None = None,
    sampling: Sampling | None = None,
    stop: Sequence[str] = (),
) -> Generation:
    """Continue prompts, each by at most `max_tokens`; None: 64, or what the context leaves.

    A prompt that comes several times gives several texts. routing: the model's own if left out.
    language: of all texts, for a routing that needs it. stop: strings that end a text and are no
    part of it.
    """
    if "" in stop:
        raise UserError("an empty text would stop every answer at once", where="--stop")
    for prompt in prompts:
        try:
            prompt.encode()
        except UnicodeEncodeError:  # as the command gets bytes of other encodings
            hint = "convert it, such as by `iconv -t UTF-8`"
            raise UserError("a prompt is not UTF-8", where="generate", hint=hint) from None
    writer = Writer(model.ensemble)
    running: dict[RunningText, tuple[Continuation, TextBuilder]] = {}
    for prompt, copy in zip(prompts, _copies(prompts), strict=True):
        read = model.read(prompt)
        left = _USUAL if model.context is None else max(1, min(_USUAL, model.context - read.size))
        request = model.request(
            read,
            left if max_tokens is None else max_tokens,
            routing,
            language=language,
            sampling=sampling or Sampling(),
            copy=copy,
        )
        running[writer.add(request)] = Continuation(prompt), TextBuilder(stop)
    for text, token in _tokens(writer):
        one, builder = running[text]
        if token.ended != "stop":
            one.text += builder.push(model.bytes_of(token.id), token).text
            one.tokens.append(token)
            one.pieces.append(model.bytes_of(token.id))
        if builder.stopped:
            writer.drop(text)
        elif token.ended:
            one.text += builder.finish().text
        one.stopped = builder.stopped or token.ended == "stop"
    texts = tuple(one for one, _ in running.values())
    return Generation(model.name, str(routing or model.routing), model.experts, texts)


def _tokens(writer: Writer) -> Iterator[tuple[RunningText, Token]]:
    while writer.running:
        for text, token in writer.step():
            if token.ended == "broken":
                raise broken(writer.ensemble, token.weights)
            yield text, token


def _copies(prompts: Sequence[str | bytes]) -> Iterator[int]:
    """How many before each prompt are the same."""
    met = Counter[str | bytes]()
    for prompt in prompts:
        yield met[prompt]
        met[prompt] += 1
