"""Texts written here and now, as the terminal asks for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.routing import Routing
from tongues.experts.ensemble.sampling import Sampling
from tongues.experts.ensemble.writer import Text, Writer, broken
from tongues.serve.served import Served
from tongues.serve.wording import Wording

__all__ = ["Generation", "Written", "write"]

_USUAL = 64  # tokens, where nobody says how many


@dataclass(slots=True, eq=False)
class Written:
    """What was written behind a prompt."""

    prompt: str
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)  # what each token stands for
    nats: list[float] = field(default_factory=list)  # -log p under the mixture
    weights: list[np.ndarray] = field(default_factory=list)  # [k] for each token
    stopped: bool = False  # by the end of a document or a stop string, not by the length

    def stretches(self) -> list[tuple[str, int]]:
        """The text in stretches, each with the number of the expert that counted most for it.

        Characters that two tokens share are with the later one.
        """
        wording, left = Wording(), len(self.text)
        found: list[tuple[str, int]] = []
        for piece, weights in zip(self.pieces, self.weights, strict=True):
            text = wording.push(piece).text[:left]
            left -= len(text)
            found.append((text, int(weights.argmax())))
        return [*found, (self.text[len(self.text) - left :], -1)]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "prompt": self.prompt,
            "text": self.text,
            "tokens": self.tokens,
            "nats": self.nats,
            "weights": [weights.tolist() for weights in self.weights],
            "ended": self.stopped,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """Texts that a model wrote, by which routing, and the names of its experts."""

    model: str
    routing: str
    experts: tuple[str, ...]
    texts: tuple[Written, ...]

    def __str__(self) -> str:
        """Each prompt with its text."""
        return "\n".join(one.prompt + one.text for one in self.texts)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        texts = [one.to_json() for one in self.texts]
        about = {"model": self.model, "routing": self.routing, "experts": list(self.experts)}
        return about | {"texts": texts}


def write(
    served: Served,
    prompts: Sequence[str],
    routing: Routing,
    *,
    most: int | None,
    language: str | None,
    sampling: Sampling,
    stop: Sequence[str] = (),
) -> list[Written]:
    """Continue prompts, each by at most `most` tokens; None: 64, or what the context leaves.

    A prompt that comes several times gives several texts. language: of all texts, for the routing
    `language`. stop: strings that end a text and are no part of it.
    """
    if "" in stop:
        raise UserError("an empty text would stop every answer at once", where="--stop")
    writer = Writer(served.ensemble)
    found: dict[Text, Written] = {}
    wordings: dict[Text, Wording] = {}
    times: dict[str, int] = {}
    for prompt in prompts:
        read = served.read(prompt)
        times[prompt] = times.get(prompt, -1) + 1
        text = writer.add(
            read.tokens[read.begun :],
            routing,
            most=_left(served, read.size) if most is None else most,
            language=language,
            sampling=sampling,
            first=int(read.tokens[0]) if read.begun else served.first,
            stop=served.stops,
            copy=times[prompt],
        )
        found[text], wordings[text] = Written(prompt), Wording(stop)
    while writer.running:
        for told in writer.step():
            one, wording = found[told.text], wordings[told.text]
            if wording.stopped:
                continue
            if told.ended == "broken":
                raise broken(served.ensemble, told.weights)
            if told.ended == "stop":
                one.stopped = True
            else:
                piece = served.bytes_of(told.token)
                one.text += wording.push(piece).text
                one.tokens.append(told.token)
                one.pieces.append(piece)
                one.nats.append(-told.log_prob)
                one.weights.append(told.weights)
            if wording.stopped:
                one.stopped = True
                writer.drop(told.text)
            elif told.ended:
                one.text += wording.finish().text
    return list(found.values())


def _left(served: Served, prompt: int) -> int:
    """As many tokens as are usual, or as there is room for."""
    if served.context is None:
        return _USUAL
    return max(1, min(_USUAL, served.context - prompt))
